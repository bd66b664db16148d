"""Savepoints: taken by hand, kept for good, and started from by changed programs."""

from __future__ import annotations

import dataclasses
import shutil
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from firesteel.common import JobStatus, TypeInformation, Types
from firesteel.datastream import DataStream, KeyedProcessFunction, RuntimeContext
from firesteel.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from firesteel.errors import JobFailedError, StateMigrationError
from firesteel.state.archive import dispose_savepoint, list_snapshots
from firesteel.state.store import CheckpointStore, find_manifest
from firesteel.state_processor import SavepointReader
from firesteel.testing import use_clock
from tests.features.executors import MakeEnv, collect, on_both
from tests.features.saving import (
    WAIT,
    Counts,
    Handed,
    checkpointing,
    counts,
    files_below,
    from_savepoint,
    save,
)
from tests.features.scripts import checkpoint_each_epoch


@pytest.mark.feature("SV-01")
@on_both
def test_a_savepoint_is_taken_while_the_job_goes_on(make_env: MakeEnv, tmp_path: Path) -> None:
    source = Handed("a", "b")
    with counts(source.stream(make_env(2))).execute_and_collect() as results:
        client = results.get_job_client()
        path = client.trigger_savepoint(str(tmp_path)).result(WAIT)
        assert (Path(path) / "_metadata").exists()
        assert client.get_job_status().result() is JobStatus.RUNNING
        source.give("a")
        source.end()
        assert sorted(results) == [("a", 1), ("a", 2), ("b", 1)]
    assert client.get_job_status().result() is JobStatus.FINISHED
    assert dict(SavepointReader.read(path).keyed_state("counts", "count")) == {"a": 1, "b": 1}


@pytest.mark.feature("SV-01")
def test_the_directory_of_savepoints_can_be_a_setting(make_env: MakeEnv, tmp_path: Path) -> None:
    env = make_env(1, {"execution.checkpointing.savepoint-dir": str(tmp_path)})
    with counts(Handed("a").stream(env)).execute_and_collect() as results:
        path = results.get_job_client().trigger_savepoint().result(WAIT)
    assert Path(path).parent == tmp_path


@pytest.mark.feature("SV-01")
def test_whoever_waits_for_a_savepoint_learns_of_any_failure(
    make_env: MakeEnv, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not only of those that are about storage; and the job goes on."""
    failures = iter([RuntimeError("something else")])

    def fails(store: CheckpointStore, manifest: Any) -> str:
        for failure in failures:
            raise failure
        return write(store, manifest)

    write = CheckpointStore.write_manifest
    monkeypatch.setattr(CheckpointStore, "write_manifest", fails)
    env = make_env(1, {"restart-strategy.type": "fixed-delay", "restart-strategy.fixed-delay.delay": "0 s"})
    with counts(Handed("a").stream(env)).execute_and_collect() as results:
        client = results.get_job_client()
        with pytest.raises(RuntimeError, match="something else"):
            client.trigger_savepoint(str(tmp_path)).result(WAIT)
        path = client.stop_with_savepoint(False, str(tmp_path)).result(WAIT)
    assert dict(SavepointReader.read(path).keyed_state("counts", "count")) == {"a": 1}


@pytest.mark.feature("SV-02")
def test_later_checkpoints_leave_a_savepoint_alone(make_env: MakeEnv, tmp_path: Path) -> None:
    source = Handed("a", "b")
    env = make_env(2, checkpointing(tmp_path / "chk"))
    with use_clock(checkpoint_each_epoch()), counts(source.stream(env)).execute_and_collect() as results:
        client = results.get_job_client()
        path = client.trigger_savepoint(str(tmp_path / "savepoints")).result(WAIT)
        before = files_below(Path(path))
        for number in range(20):
            source.give("a")
            while len(client.get_checkpoints()) <= number:  # type: ignore[attr-defined]
                next(results)
        source.end()
        list(results)
        assert len(client.get_checkpoints()) >= 20  # type: ignore[attr-defined]
    assert files_below(Path(path)) == before
    manifest = find_manifest(path)
    assert {f"state/{name}" for name in manifest.all_files()} | {"_metadata"} == set(before)
    assert str(tmp_path / "chk").encode() not in b"".join(before.values())
    shutil.rmtree(tmp_path / "chk")
    assert dict(SavepointReader.read(path).keyed_state("counts", "count")) == {"a": 1, "b": 1}


def with_totals(stream: DataStream) -> DataStream:
    """Counts and, beside them, the length of all words."""
    lengths = stream.key_by(lambda word: word).map(len).uid("lengths")
    return counts(stream).union(lengths.key_by(lambda n: 0).sum().uid("totals").map(lambda n: ("total", n)))


@pytest.mark.feature("SV-03")
def test_a_changed_program_starts_from_a_savepoint(make_env: MakeEnv, tmp_path: Path) -> None:
    source = Handed("a", "a")
    path, _ = save(with_totals(source.stream(make_env())), tmp_path)
    source.give("a")
    source.end()

    with pytest.raises(JobFailedError, match=r"does not fit this program.\n  state without an operator: totals\n") as e:
        collect(counts(source.stream(make_env(1, from_savepoint(path))).map(str.lower).uid("new")))
    assert isinstance(e.value.__cause__, StateMigrationError)
    assert "operators without state:   " in str(e.value)
    assert "ignore-unclaimed-state: true" in str(e.value)

    options = from_savepoint(path, **{"execution.state-recovery.ignore-unclaimed-state": True})
    changed = counts(source.stream(make_env(1, options)).map(str.lower).uid("new"))
    assert collect(changed) == [("a", 3)]


@pytest.mark.feature("SV-03")
def test_a_source_that_is_gone_is_noticed(make_env: MakeEnv, tmp_path: Path) -> None:
    """Its position would be lost, and its records come twice if it comes back."""
    source = Handed("a")
    path, _ = save(counts(source.stream(make_env(), "first")), tmp_path)
    source.end()
    with pytest.raises(JobFailedError, match="state without an operator: first\n"):
        collect(counts(source.stream(make_env(1, from_savepoint(path)), "second")))


@pytest.mark.feature("SV-03")
def test_a_savepoint_of_another_job(make_env: MakeEnv, tmp_path: Path) -> None:
    path, _ = save(counts(Handed("a").stream(make_env())), tmp_path)
    before = files_below(tmp_path)
    env = make_env(1, from_savepoint(path))
    other = env.from_collection([1, 2]).uid("numbers").key_by(lambda n: n).sum().uid("sums")
    with pytest.raises(JobFailedError, match="state without an operator: counts, handed\n"):
        collect(other)
    assert files_below(tmp_path) == before


@pytest.mark.feature("SV-03")
def test_inputs_change_places_when_one_of_them_has_ended(make_env: MakeEnv, tmp_path: Path) -> None:
    ended, goes_on = Handed("a", ended=True), Handed("a")
    env = make_env()
    path, _ = save(counts(ended.stream(env, "ended").union(goes_on.stream(env, "goes on"))), tmp_path)
    env = make_env(1, from_savepoint(path, **{"firesteel.epoch.max-records": 1}))
    goes_on.give("a", "a", "a")
    goes_on.end()
    assert collect(counts(goes_on.stream(env, "goes on").union(ended.stream(env, "ended")))) == [
        ("a", 3),
        ("a", 4),
        ("a", 5),
    ]


@pytest.mark.feature("SV-04")
@pytest.mark.parametrize(("before", "after"), [(1, 2), (2, 1), (2, 3)])
def test_the_parallelism_is_changed(make_env: MakeEnv, tmp_path: Path, before: int, after: int) -> None:
    words = [f"w{n % 20}" for n in range(100)]
    source = Handed(*words[:50])
    path, first = save(counts(source.stream(make_env(before))), tmp_path)
    source.give(*words[50:])
    source.end()
    second = collect(counts(source.stream(make_env(after, from_savepoint(path)))))
    assert sorted(first + second) == sorted((f"w{n}", count) for n in range(20) for count in range(1, 6))


@pytest.mark.feature("SV-04")
@pytest.mark.parametrize("executor", ["spark"], indirect=True)
def test_the_parallelism_is_changed_on_spark(make_env: MakeEnv, tmp_path: Path) -> None:
    test_the_parallelism_is_changed(make_env, tmp_path, 1, 2)


@pytest.mark.feature("SV-04")
def test_the_number_of_key_groups_is_changed(make_env: MakeEnv, tmp_path: Path) -> None:
    """Keys belong to other subtasks then, though there are as many as before."""

    def job(max_parallelism: int, **options: Any) -> DataStream:
        env = make_env(3, options)
        env.set_max_parallelism(max_parallelism)
        return counts(source.stream(env))

    words = [f"w{n}" for n in range(40)]
    source = Handed(*words)
    path, _ = save(job(128), tmp_path)
    source.give(*words)
    source.end()
    assert sorted(collect(job(7, **from_savepoint(path)))) == sorted((word, 2) for word in words)


@pytest.mark.feature("SV-05")
def test_a_savepoint_is_moved(make_env: MakeEnv, tmp_path: Path) -> None:
    source = Handed("a", "b")
    path, _ = save(counts(source.stream(make_env(2))), tmp_path / "here")
    shutil.copytree(path, tmp_path / "there" / "copy")
    shutil.rmtree(tmp_path / "here")
    source.give("a", "b", "c")
    source.end()
    moved = from_savepoint(str(tmp_path / "there" / "copy"))
    assert sorted(collect(counts(source.stream(make_env(2, moved))))) == [("a", 2), ("b", 2), ("c", 1)]


@pytest.mark.feature("SV-06")
def test_two_versions_run_from_one_savepoint(make_env: MakeEnv, tmp_path: Path) -> None:
    first = Handed("a", "a")
    path, _ = save(counts(first.stream(make_env())), tmp_path / "savepoints")
    before = files_below(tmp_path / "savepoints")
    sources = [Handed("a", "a") for _ in range(2)]
    jobs = []
    for name, source in zip("AB", sources):
        env = make_env(1, {**checkpointing(tmp_path / name), **from_savepoint(path)})
        jobs.append(counts(source.stream(env)).map(lambda each, name=name: (name, *each)).execute_and_collect())
    sources[0].give("a", "b")
    sources[1].give("a", "a")
    assert [next(jobs[0]) for _ in range(2)] == [("A", "a", 3), ("A", "b", 1)]
    assert [next(jobs[1]) for _ in range(2)] == [("B", "a", 3), ("B", "a", 4)]
    for source in sources:
        source.give("a")
        source.end()
    assert [list(job) for job in jobs] == [[("A", "a", 4)], [("B", "a", 5)]]
    assert files_below(tmp_path / "savepoints") == before


class Reminder(KeyedProcessFunction):
    """Repeats each word when event time has come 10 further."""

    def process_element(self, value: tuple[str, int], ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        ctx.timer_service().register_event_time_timer(value[1] + 10)
        yield value[0]

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield f"{ctx.get_current_key()} at {timestamp}"


@pytest.mark.feature("SV-07")
@pytest.mark.parametrize("backends", [("hashmap", "hashmap"), ("hashmap", "rocksdb"), ("rocksdb", "hashmap")])
def test_a_job_is_paused_and_resumed(make_env: MakeEnv, tmp_path: Path, backends: tuple[str, str]) -> None:
    words = list("abcabcaab")

    def job(source: Handed, backend: str, **options: Any) -> DataStream:
        return counts(source.stream(make_env(2, {"state.backend.type": backend, **options})))

    unbroken = collect(job(Handed(*words, ended=True), backends[0]))
    source = Handed(*words[:4])
    path, first = save(job(source, backends[0]), tmp_path)
    source.give(*words[4:])
    source.end()
    second = collect(job(source, backends[1], **from_savepoint(path)))
    assert sorted(first + second) == sorted(unbroken)


@pytest.mark.feature("SV-07")
@pytest.mark.parametrize("drain", [True, False])
def test_draining_lets_everything_fire_first(make_env: MakeEnv, tmp_path: Path, drain: bool) -> None:
    source = Handed(("a", 1), ("b", 5))
    path, output = save(
        source.stream(make_env()).key_by(lambda each: each[0]).process(Reminder()).uid("reminder"), tmp_path, drain
    )
    fired = ["a at 11", "b at 15"]
    assert output == ["a", "b", *(fired if drain else [])]
    source.end()
    env = make_env(1, from_savepoint(path))
    rest = collect(source.stream(env).key_by(lambda each: each[0]).process(Reminder()).uid("reminder"))
    assert rest == ([] if drain else fired)


@pytest.mark.feature("SV-08")
def test_an_archive_of_savepoints(make_env: MakeEnv, tmp_path: Path) -> None:
    source = Handed("a")
    paths = []
    with counts(source.stream(make_env())).execute_and_collect() as results:
        for _ in range(3):
            paths.append(results.get_job_client().trigger_savepoint(str(tmp_path)).result(WAIT))
            source.give("a")
    archive = list_snapshots(str(tmp_path))
    assert {each.path for each in archive} == set(paths)
    for each in archive:
        assert (each.id, each.kind, each.format) == (Path(each.path).name, "savepoint", 2)
        assert each.size == sum(file.stat().st_size for file in (Path(each.path) / "state").iterdir())
        assert each.job_name
        assert each.missing == ()
    assert [each.timestamp for each in archive] == sorted(each.timestamp for each in archive)

    for older, path in enumerate(paths, 1):  # each of them can be started from
        again = Handed(*["a"] * 5, ended=True)
        results_of_one = collect(counts(again.stream(make_env(1, from_savepoint(path)))))
        assert results_of_one == [("a", n) for n in range(older + 1, 6)]

    dispose_savepoint(paths[0])
    assert {each.path for each in list_snapshots(str(tmp_path))} == set(paths[1:])
    with pytest.raises(JobFailedError, match="neither a savepoint nor a completed checkpoint at"):
        collect(counts(Handed(ended=True).stream(make_env(1, from_savepoint(paths[0])))))


# --- state and types that have changed ----------------------------------------------------------------------


class Stores(KeyedProcessFunction):
    """Keeps a value, a list and a map of the types it is given; emits what it finds."""

    def __init__(self, value: Any, element: Any = None, entry: Any = None) -> None:
        self.types = (value, element or value, entry or value)

    def open(self, runtime_context: RuntimeContext) -> None:
        value, element, entry = self.types
        self.value = runtime_context.get_state(ValueStateDescriptor("the value", value))
        self.list = runtime_context.get_list_state(ListStateDescriptor("the list", element))
        self.map = runtime_context.get_map_state(MapStateDescriptor("the map", Types.STRING(), entry))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        if value == "tell":
            yield self.value.value(), list(self.list.get()), dict(self.map.items())
        else:
            self.value.update(value)
            self.list.add(value)
            self.map.put("it", value)


def storing(source: Handed, env: Any, function: Stores) -> DataStream:
    return source.stream(env).key_by(lambda _: "key").process(function).name("the store").uid("store")


@pytest.mark.feature("SV-09")
@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
@pytest.mark.parametrize(
    ("changed", "state", "before", "after"),
    [
        (Stores(Types.STRING(), Types.LONG(), Types.LONG()), "the value", "Long", "String"),
        (Stores(Types.LONG(), Types.STRING(), Types.LONG()), "the list", "List<Long>", "List<String>"),
        (Stores(Types.LONG(), Types.LONG(), Types.STRING()), "the map", "Map<String, Long>", "Map<String, String>"),
    ],
    ids=["value", "list", "map"],
)
def test_another_type_is_refused(
    make_env: MakeEnv, tmp_path: Path, backend: str, changed: Stores, state: str, before: str, after: str
) -> None:
    source = Handed(7)
    path, _ = save(storing(source, make_env(1, {"state.backend.type": backend}), Stores(Types.LONG())), tmp_path)
    source.end()
    # A restart cannot help, so it is not tried, whatever the strategy says.
    options = from_savepoint(path, **{"state.backend.type": backend, "restart-strategy.type": "fixed-delay"})
    with pytest.raises(JobFailedError) as failure:
        collect(storing(source, make_env(1, options), changed))
    assert isinstance(failure.value.__cause__, StateMigrationError)
    message = str(failure.value)
    assert f"state {state!r} was stored with the type {before} and is now declared with the type {after}" in message
    assert "operator: the store (uid store)" in message


@pytest.mark.feature("SV-09")
@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
def test_keys_of_another_type_are_refused(make_env: MakeEnv, tmp_path: Path, backend: str) -> None:
    def keyed(options: dict[str, Any], select: Any, key_type: TypeInformation | None) -> DataStream:
        stream = source.stream(make_env(1, {"state.backend.type": backend, **options}))
        return stream.key_by(select, key_type).process(Counts()).name("the counts").uid("counts")

    source = Handed(7)
    path, _ = save(keyed({}, int, Types.INT()), tmp_path)
    source.give(7)
    source.end()
    with pytest.raises(JobFailedError) as failure:
        collect(keyed(from_savepoint(path), str, Types.STRING()))
    assert isinstance(failure.value.__cause__, StateMigrationError)
    message = str(failure.value)
    assert "the keys of the stored state have the type Integer and are now declared with the type String" in message
    assert "operator: the counts (uid counts)" in message
    assert collect(keyed(from_savepoint(path), int, Types.INT())) == [(7, 2)]
    # What is not declared cannot be noticed: the state is there, but no key finds it.
    assert collect(keyed(from_savepoint(path), str, None)) == [("7", 1)]


@pytest.mark.feature("SV-09")
def test_a_type_may_be_declared_later_or_no_more(make_env: MakeEnv, tmp_path: Path) -> None:
    source = Handed(7)
    path, _ = save(storing(source, make_env(), Stores(Types.LONG())), tmp_path)
    source.give("tell")
    source.end()
    for types_now in (None, Types.LONG()):
        told = collect(storing(source, make_env(1, from_savepoint(path)), Stores(types_now)))
        assert told == [(7, [7], {"it": 7})]


@pytest.mark.feature("SV-09")
def test_another_kind_of_state_is_refused(make_env: MakeEnv, tmp_path: Path) -> None:
    class Swapped(Stores):
        def open(self, runtime_context: RuntimeContext) -> None:
            self.value = runtime_context.get_state(ValueStateDescriptor("the list"))

    source = Handed(7)
    path, _ = save(storing(source, make_env(), Stores(None)), tmp_path)
    source.end()
    with pytest.raises(JobFailedError, match="state 'the list' is list state and cannot be used as value state"):
        collect(storing(source, make_env(1, from_savepoint(path)), Swapped(None)))


def program(monkeypatch: pytest.MonkeyPatch, source: str) -> types.ModuleType:
    """A version of a user's module."""
    module = types.ModuleType("user_program")
    monkeypatch.setitem(sys.modules, "user_program", module)
    exec(source, module.__dict__)
    return module


HEAD = "from __future__ import annotations\nimport dataclasses\nfrom typing import NamedTuple\n"
ORDER = HEAD + "@dataclasses.dataclass\nclass Order:\n    number: int\n"
GROWN = ORDER + "    note: str = 'none'\n    tags: list = dataclasses.field(default_factory=list)\n"


@pytest.mark.feature("SV-09")
@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
def test_a_dataclass_gets_fields_with_defaults(
    make_env: MakeEnv, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, backend: str
) -> None:
    options = {"state.backend.type": backend}
    before = program(monkeypatch, ORDER)
    source = Handed(before.Order(1))
    path, _ = save(storing(source, make_env(1, options), Stores(None)), tmp_path)

    after = program(monkeypatch, GROWN)
    source.records = [None, "tell"]
    source.end()
    [told] = collect(storing(source, make_env(1, from_savepoint(path, **options)), Stores(None)))
    order = after.Order(1, "none", [])
    assert told == (order, [order], {"it": order})
    assert [field.name for field in dataclasses.fields(told[0])] == ["number", "note", "tags"]


@pytest.mark.feature("SV-09")
@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            ORDER + "    note: str\n",
            "state 'the (value|list|map)' of operator 'store' holds a user_program.Order that "
            "was stored without the field 'note', which has no default",
        ),
        (HEAD, "the state of operator 'store' holds objects of user_program.Order, which cannot be found"),
        (HEAD + "class Order(NamedTuple):\n    number: int\n    note: str\n", "operator 'store' cannot be made"),
    ],
    ids=["no default", "gone", "another kind of class"],
)
def test_a_class_that_does_not_fit_is_refused(
    make_env: MakeEnv, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: str, message: str
) -> None:
    module = program(monkeypatch, ORDER)
    source = Handed(module.Order(1))
    path, _ = save(storing(source, make_env(), Stores(None)), tmp_path)
    program(monkeypatch, changed)
    source.records = [None]
    source.end()
    with pytest.raises(JobFailedError, match=message) as failure:
        collect(storing(source, make_env(1, from_savepoint(path)), Stores(None)))
    assert isinstance(failure.value.__cause__, StateMigrationError)


@pytest.mark.feature("SV-09")
@pytest.mark.parametrize("field", ["int", "str"])
def test_types_of_fields_are_stored_too(
    make_env: MakeEnv, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, field: str
) -> None:
    module = program(monkeypatch, ORDER.replace("number: int", "number: int = 0"))
    source = Handed(module.Order(1))
    path, _ = save(storing(source, make_env(), Stores(TypeInformation.of(module.Order))), tmp_path)

    module = program(monkeypatch, GROWN.replace("number: int", f"number: {field} = None"))
    source.records = [None, "tell"]
    source.end()
    again = storing(source, make_env(1, from_savepoint(path)), Stores(TypeInformation.of(module.Order)))
    if field == "int":
        assert collect(again)[0][0] == module.Order(1)
    else:
        with pytest.raises(JobFailedError, match=r"state 'the value' .*: field 'number': Long cannot become String"):
            collect(again)


class FailsOnce:
    """Raises at the first record it sees, once."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __call__(self, value: Any) -> Any:
        if not self.mark.exists():
            self.mark.touch()
            raise ValueError("fails once")
        return value


def test_a_failure_before_the_first_checkpoint_goes_back_to_the_savepoint(make_env: MakeEnv, tmp_path: Path) -> None:
    source = Handed("a", "a")
    path, _ = save(counts(source.stream(make_env())), tmp_path)
    source.give("a")
    source.end()

    restarts = {"restart-strategy.type": "fixed-delay", "restart-strategy.fixed-delay.delay": "0 ms"}
    stream = source.stream(make_env(1, from_savepoint(path, **restarts)))

    assert collect(counts(stream.map(FailsOnce(tmp_path / "failed")).uid("fails"))) == [("a", 3)]


@pytest.mark.parametrize("mode", ["CLAIM", "NO_CLAIM"])
def test_a_claimed_savepoint_is_deleted_once_the_job_has_a_checkpoint(
    make_env: MakeEnv, tmp_path: Path, mode: str
) -> None:
    source = Handed("a", "a")
    path, _ = save(counts(source.stream(make_env())), tmp_path / "saved")
    source.give("a")
    source.end()
    options = checkpointing(tmp_path / "checkpoints", **{"execution.state-recovery.claim-mode": mode})

    assert collect(counts(source.stream(make_env(1, from_savepoint(path, **options))))) == [("a", 3)]

    assert Path(path).exists() is (mode == "NO_CLAIM")
