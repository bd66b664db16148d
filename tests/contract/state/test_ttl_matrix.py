"""Every kind of state with every kind of time-to-live does the same on every backend, before and after a restore."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from firesteel.common.time import Time
from firesteel.errors import StateMigrationError
from firesteel.model.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from firesteel.state.handles import StateHandles
from tests.contract.state.backends import Kind, stored_form

LENGTH = 100
UPDATES = tuple(StateTtlConfig.UpdateType)
VISIBILITIES = tuple(StateTtlConfig.StateVisibility)


def _add(first: int, second: int) -> int:
    return first + second


STATES: dict[str, tuple[Callable[[], StateDescriptor], Callable[[Any], Any], Callable[[Any], Any], Any, Any]] = {
    # name: descriptor, write, read, what is read when it lives, what is read when it is gone
    "value": (lambda: ValueStateDescriptor("s"), lambda s: s.update(7), lambda s: s.value(), 7, None),
    "reducing": (lambda: ReducingStateDescriptor("s", _add), lambda s: s.add(7), lambda s: s.get(), 7, None),
    "aggregating": (
        lambda: AggregatingStateDescriptor("s", (lambda: 0, _add, lambda acc: -acc)),
        lambda s: s.add(7),
        lambda s: s.get(),
        -7,
        None,
    ),
    "list": (lambda: ListStateDescriptor("s"), lambda s: s.add(7), lambda s: s.get(), [7], []),
    "map": (lambda: MapStateDescriptor("s"), lambda s: s.put("a", 7), lambda s: dict(s.items()), {"a": 7}, {}),
    "map entry": (lambda: MapStateDescriptor("s"), lambda s: s.put("a", 7), lambda s: s.get("a"), 7, None),
}


class Program:
    """One state on a backend that can be stopped and restored."""

    def __init__(self, kind: Kind, new_backend: Callable[[], Any], descriptor: StateDescriptor) -> None:
        self.kind = kind
        self.new_backend = new_backend
        self.descriptor = descriptor
        self.start([], 0)

    def start(self, stored: list[Any], now: int) -> None:
        self.backend = self.new_backend()
        self.backend.clock.now = now
        for changes in stored:
            self.backend.apply(stored_form(changes), None)
        self.state = StateHandles(self.backend).get(self.descriptor)
        self.backend.scope.key = "k"

    def at(self, now: int) -> None:
        self.kind.pause(self.backend)
        self.backend.clock.now = now

    def restart(self) -> None:
        now = self.backend.clock.now
        self.start(list(self.backend.full_parts()), now)


@pytest.mark.feature("TT-01", "TT-03", "TT-04", "TT-05", "TT-06", "SB-08")
@pytest.mark.parametrize("restarted", [False, True], ids=["running", "restored"])
@pytest.mark.parametrize("visibility", VISIBILITIES, ids=lambda each: each.name)
@pytest.mark.parametrize("update", UPDATES, ids=lambda each: each.name)
@pytest.mark.parametrize("state", STATES)
def test_what_a_read_gives(
    kind: Kind, new_backend: Callable[[], Any], state: str, update: Any, visibility: Any, restarted: bool
) -> None:
    make, write, read, alive, gone = STATES[state]
    descriptor = make()
    builder = StateTtlConfig.new_builder(Time.milliseconds(LENGTH)).disable_cleanup_in_background()
    descriptor.enable_time_to_live(builder.set_update_type(update).set_state_visibility(visibility).build())
    program = Program(kind, new_backend, descriptor)
    write(program.state)
    program.at(60)
    assert read(program.state) == alive
    if restarted:
        program.restart()
    read_prolongs = update is StateTtlConfig.UpdateType.OnReadAndWrite
    expires = update is not StateTtlConfig.UpdateType.Disabled
    program.at(60 + LENGTH if read_prolongs else LENGTH)
    returned_once = visibility is StateTtlConfig.StateVisibility.ReturnExpiredIfNotCleanedUp
    assert read(program.state) == (alive if returned_once or not expires else gone)
    assert read(program.state) == (gone if expires else alive)
    assert program.backend.entry_count() == (0 if expires else 1)
    write(program.state)
    assert read(program.state) == alive or not expires


@pytest.mark.feature("TT-09", "SB-08")
@pytest.mark.parametrize("state", ["value", "list", "map"])
def test_switching_a_time_to_live_on_or_off_is_refused(kind: Kind, new_backend: Callable[[], Any], state: str) -> None:
    plain, expiring = STATES[state][0](), STATES[state][0]()
    expiring.enable_time_to_live(StateTtlConfig.new_builder(Time.milliseconds(LENGTH)).build())
    for before, after in ((plain, expiring), (expiring, plain)):
        program = Program(kind, new_backend, before)
        STATES[state][1](program.state)
        program.descriptor = after
        with pytest.raises(StateMigrationError, match="'s'"):
            program.restart()
