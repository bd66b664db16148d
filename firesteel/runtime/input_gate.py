"""The watermark of an operator's inputs, made of the watermarks and the idleness of all channels that lead to it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from firesteel.common.time import MIN_WATERMARK
from firesteel.runtime.layout import EdgeName

Channel = tuple[int, int]
"""An edge of the plan, and the subtask that sends."""


@dataclass(slots=True)
class _ChannelState:
    watermark: int = MIN_WATERMARK
    idle: bool = False
    aligned: bool = True
    """Whether the channel counts: it does not while it is idle, nor after that until it has caught up."""


def combine(parts: Iterable[tuple[int, bool]]) -> int:
    """The watermark of several streams, each given as (watermark, idle).

    That is the lowest of those that are not idle. If all are, none is waited for, and the highest counts.
    """
    known = list(parts)
    active = [watermark for watermark, idle in known if not idle]
    if active:
        return min(active)
    return max((watermark for watermark, _ in known), default=MIN_WATERMARK)


class Valve:
    """Combines the channels of one input as Flink's valve does.

    A channel that wakes up behind event time is left out until it has caught up: it does not hold up the others.
    """

    def __init__(self, channels: Iterable[Channel]) -> None:
        self.channels = {channel: _ChannelState() for channel in channels}
        self.watermark = MIN_WATERMARK

    @property
    def idle(self) -> bool:
        """Whether all channels are idle."""
        return all(state.idle for state in self.channels.values())

    def advance(self, channel: Channel, watermark: int) -> None:
        """A channel has advanced. An idle one says that it is active before it does."""
        state = self.channels[channel]
        if state.idle or watermark <= state.watermark:
            return
        state.watermark = watermark
        state.aligned = state.aligned or watermark >= self.watermark
        self._advance_to_lowest()

    def set_idle(self, channel: Channel, idle: bool) -> None:
        """A channel has become idle, or active again."""
        state = self.channels[channel]
        if state.idle is idle:
            return
        state.idle = idle
        state.aligned = not idle and state.watermark >= self.watermark
        if not idle:
            return
        if self.idle:
            self.watermark = max(self.watermark, *(each.watermark for each in self.channels.values()))
        elif state.watermark == self.watermark:  # it was the one that the others were waiting for
            self._advance_to_lowest()

    def _advance_to_lowest(self) -> None:
        aligned = [state.watermark for state in self.channels.values() if state.aligned]
        if aligned:
            self.watermark = max(self.watermark, min(aligned))


class InputGate:
    """All channels that lead to an operator: a valve for each input, and the watermark of all inputs together.

    Watermarks are kept from epoch to epoch, and from run to run.

    :param channels: The channels of each input.
    :param names: The name of each edge.
    """

    def __init__(self, channels: list[list[Channel]], names: Mapping[int, EdgeName]) -> None:
        self._valves = [Valve(each) for each in channels]
        self._input_of = {channel: index for index, each in enumerate(channels) for channel in each}
        self._names = names
        self._ended: set[Channel] = set()
        self.watermark = MIN_WATERMARK

    @property
    def idle(self) -> bool:
        """Whether all channels are idle."""
        return bool(self._input_of) and all(valve.idle for valve in self._valves)

    def advance(self, channel: Channel, watermark: int) -> int | None:
        """A channel has advanced; the combined watermark if it advances too."""
        self._valves[self._input_of[channel]].advance(channel, watermark)
        return self._combine()

    def set_idle(self, channel: Channel, idle: bool) -> int | None:
        """A channel has become idle or active; the combined watermark if it advances."""
        self._valves[self._input_of[channel]].set_idle(channel, idle)
        return self._combine()

    def _combine(self) -> int | None:
        combined = combine((valve.watermark, valve.idle) for valve in self._valves)
        if combined <= self.watermark:
            return None
        self.watermark = combined
        return combined

    def end(self, channel: Channel) -> None:
        """Nothing more will come on a channel."""
        self._ended.add(channel)

    def has_ended(self, input_index: int) -> bool:
        """Whether nothing more will come on an input."""
        return self._ended.issuperset(self._valves[input_index].channels)

    @property
    def all_ended(self) -> bool:
        """Whether nothing more will come at all."""
        return len(self._ended) == len(self._input_of)

    # ---- snapshots ---------------------------------------------------------------------------------------------

    def _channel_states(self) -> dict[tuple[EdgeName, int], _ChannelState]:
        """The channels under the names that they are stored under."""
        return {
            (self._names[edge], sender): state
            for valve in self._valves
            for (edge, sender), state in valve.channels.items()
        }

    def snapshot(self) -> dict[str, Any]:
        """Everything about the channels and the inputs, in plain data. Ends are told again after a restart."""
        return {
            "channels": {
                (*edge, sender): (state.watermark, state.idle, state.aligned)
                for (edge, sender), state in self._channel_states().items()
            },
            "inputs": [valve.watermark for valve in self._valves],
            "combined": self.watermark,
        }

    def restore(self, states: list[dict[str, Any]], rescaled: bool) -> bool:
        """Go on from what this subtask stored, or from what all subtasks stored if there are other subtasks now.

        In the latter case event time stands where it stood in the slowest of them. Of an edge that has other senders
        than before nothing is known until they speak, which they do in the first epoch. With an edge that is new, event
        time begins anew: the stream may begin at any time.

        :returns: Whether event time goes on where it stood.
        """
        current = self._channel_states()
        stored = _stored_channels(states)
        if not rescaled and states:
            for edge, senders in _by_edge(stored).items():
                if senders == _by_edge(current).get(edge):
                    for sender in senders:
                        state = current[edge, sender]
                        state.watermark, state.idle, state.aligned = stored[edge, sender]
        if not states or not _by_edge(stored).keys() >= _by_edge(current).keys():
            self._begin_anew(current.values())
            return False
        self.watermark = min(state["combined"] for state in states)
        for index, valve in enumerate(self._valves):
            marks = [state["inputs"][index] for state in states if index < len(state["inputs"])]
            valve.watermark = min(marks, default=MIN_WATERMARK)
        return True

    @staticmethod
    def _begin_anew(states: Iterable[_ChannelState]) -> None:
        """Wait for all channels that are not idle: none is behind an event time that has not begun."""
        for state in states:
            state.aligned = not state.idle


def _stored_channels(states: list[dict[str, Any]]) -> dict[tuple[EdgeName, int], tuple[int, bool, bool]]:
    return {
        ((name[0], name[1], name[2], name[3]), name[4]): value
        for state in states
        for name, value in state["channels"].items()
    }


def _by_edge(channels: Iterable[tuple[EdgeName, int]]) -> dict[EdgeName, set[int]]:
    """The senders of each edge."""
    senders: dict[EdgeName, set[int]] = {}
    for edge, sender in channels:
        senders.setdefault(edge, set()).add(sender)
    return senders
