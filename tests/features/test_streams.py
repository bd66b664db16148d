"""Streams end to end: the environment, the lazy graph, record functions, parallelism, order, dependencies."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import venv
import zipfile
from collections import Counter
from importlib import import_module
from importlib.util import find_spec
from operator import itemgetter
from pathlib import Path

import pytest

from firesteel.common import WatermarkStrategy
from firesteel.common.warnings import FiresteelWarning
from firesteel.datastream import (
    FilterFunction,
    FlatMapFunction,
    KeyedProcessFunction,
    KeySelector,
    MapFunction,
    ReduceFunction,
    SinkFunction,
    StreamExecutionEnvironment,
)
from firesteel.state.store import CheckpointStore
from tests.features.connectors import CommittedFile, TaggedNumbers, append_lines, read_lines
from tests.features.executors import MakeEnv, collect, on_both

ROOT = Path(__file__).resolve().parents[2]

PROGRAM = """
    import sys
    from firesteel.common import Configuration
    from firesteel.datastream import StreamExecutionEnvironment

    configuration = Configuration.from_dict({"firesteel.master": "local[2]"})
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(1)
    env.from_collection([1, 2, 3]).map(lambda n: n * 10).print()
    env.execute()
    extra = {"pyarrow", "pandas", "numpy", "pytest"} & set(sys.modules)
    print("extra modules:", sorted(extra))
"""


@pytest.mark.feature("DS-01")
def test_a_job_runs_in_a_venv_that_holds_only_the_package_and_pyspark(tmp_path: Path) -> None:
    venv.create(tmp_path / "venv", with_pip=False)
    [site_packages] = (tmp_path / "venv" / "lib").glob("python*/site-packages")
    for name in ("firesteel", "pyspark", "py4j", "cloudpickle"):
        spec = find_spec(name)
        assert spec is not None and spec.origin is not None
        (site_packages / name).symlink_to(Path(spec.origin).parent)
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(PROGRAM))
    python = tmp_path / "venv" / "bin" / "python"
    kept = {name: os.environ[name] for name in ("PATH", "JAVA_HOME") if name in os.environ}
    environment = {**kept, "HOME": str(tmp_path)}

    run = subprocess.run([python, program], env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=120)

    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines() == ["10", "20", "30", "extra modules: []"]


@on_both
@pytest.mark.feature("DS-02")
def test_nothing_runs_before_execute(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    env.from_collection([1]).map(lambda _: mark.touch()).print()
    env.get_execution_plan()
    assert not mark.exists()

    env.execute()

    assert mark.exists()


@on_both
@pytest.mark.feature("DS-03")
@pytest.mark.usefixtures("keep_checkpoints")
def test_one_job_has_several_sources_and_sinks_under_one_checkpoint(make_env: MakeEnv, tmp_path: Path) -> None:
    options = {
        "execution.checkpointing.interval": "1 ms",
        "execution.checkpointing.dir": str(tmp_path / "checkpoints"),
        "execution.checkpointing.num-retained": 100,
        "firesteel.epoch.max-records": 5,
    }
    env = make_env(1, options)
    streams = []
    for name in ("a", "b"):
        log = tmp_path / name
        log.mkdir()
        numbers = env.from_source(TaggedNumbers(15, log), WatermarkStrategy.no_watermarks(), name)
        streams.append(numbers.map(lambda pair, name=name: f"{name}{pair[1]}"))
    a, b = streams
    sinks = {"sink-a": a, "sink-b": b, "sink-all": a.union(b)}
    for uid, stream in sinks.items():
        stream.sink_to(CommittedFile(tmp_path / uid)).uid(uid)

    env.execute()

    expected = {name: [f"{name}{n}" for n in range(15)] for name in "ab"}
    for name in "ab":
        assert [n for _, n in read_lines(tmp_path / name / "read-0")] == list(range(15))
    rows = {uid: [row for commit in read_lines(tmp_path / uid) for row in commit] for uid in sinks}
    assert rows["sink-a"] == expected["a"]
    assert rows["sink-b"] == expected["b"]
    assert sorted(rows["sink-all"]) == sorted(expected["a"] + expected["b"])
    store = CheckpointStore(str(tmp_path / "checkpoints"))
    checkpoints = [store.read_checkpoint(number) for number in store.checkpoint_ids()]
    assert checkpoints
    for checkpoint in checkpoints:
        prepared = checkpoint.driver.get("sinks", {})
        of = {uid: prepared.get(uid, {}).get(checkpoint.checkpoint_id, []) for uid in sinks}
        assert sorted(of["sink-all"]) == sorted(of["sink-a"] + of["sink-b"])


@pytest.mark.feature("DS-04")
def test_the_execution_plan_names_every_node_its_parallelism_and_its_edges(make_env: MakeEnv) -> None:
    env = make_env(2)
    numbers = env.from_sequence(1, 10).map(lambda n: n + 1).name("increment")
    windowed = numbers.key_by(lambda n: n % 3).process(lambda n, ctx: [n]).name("window")
    windowed.print().set_parallelism(1).name("out")

    plan = json.loads(env.get_execution_plan())

    nodes = {node["contents"]: node for node in plan["nodes"]}
    assert {name: node["parallelism"] for name, node in nodes.items()} == {
        "Source: Sequence Source": 2,
        "increment": 2,
        "window": 2,
        "out": 1,
    }
    ids = {node["id"]: name for name, node in nodes.items()}
    edges = {
        (ids[edge["id"]], name): edge["ship_strategy"]
        for name, node in nodes.items()
        for edge in node.get("predecessors", [])
    }
    assert edges == {
        ("Source: Sequence Source", "increment"): "FORWARD",
        ("increment", "window"): "HASH",
        ("window", "out"): "REBALANCE",
    }
    assert [nodes[name]["pact"] for name in nodes] == ["Data Source", "Operator", "Operator", "Data Sink"]


@on_both
@pytest.mark.feature("DS-05")
def test_map_emits_exactly_one_record_for_each(env: StreamExecutionEnvironment) -> None:
    numbers = env.from_collection([1, 2, 3])
    mapped = numbers.map(lambda n: n * 10).union(numbers.map(lambda n: None if n == 2 else -n))
    assert collect(mapped) == [10, 20, 30, -1, None, -3]


class SplitWithYield(FlatMapFunction):
    def flat_map(self, value):
        yield from value.split()


class SplitWithCollector(FlatMapFunction):
    def flat_map(self, value, out):
        for word in value.split():
            out.collect(word)


def split_with_yield(line):
    yield from line.split()


def split_with_collector(line, out):
    for word in line.split():
        out.collect(word)


@on_both
@pytest.mark.feature("DS-06")
@pytest.mark.parametrize("split", [split_with_yield, SplitWithCollector()], ids=["yield", "collector"])
def test_flat_map_emits_any_number_of_records(env: StreamExecutionEnvironment, split) -> None:
    assert collect(env.from_collection(["a b", ""]).flat_map(split)) == ["a", "b"]


@pytest.mark.feature("DS-06")
@pytest.mark.parametrize("split", [SplitWithYield(), split_with_collector, str.split])
def test_flat_map_takes_every_style(env: StreamExecutionEnvironment, split) -> None:
    assert collect(env.from_collection(["a b", "", "c"]).flat_map(split)) == ["a", "b", "c"]


@pytest.mark.feature("DS-06")
def test_flat_map_that_returns_none_emits_nothing(env: StreamExecutionEnvironment) -> None:
    assert collect(env.from_collection([1, 2, 3]).flat_map(lambda n: None if n == 2 else [n])) == [1, 3]


@on_both
@pytest.mark.feature("DS-07")
def test_filter_keeps_what_the_function_says(env: StreamExecutionEnvironment) -> None:
    people = [("Fred", 35), ("Wilma", 35), ("Pebbles", 2)]
    adults = env.from_collection(people).filter(lambda person: person[1] >= 18)
    assert collect(adults) == [("Fred", 35), ("Wilma", 35)]


class Tenfold(MapFunction):
    def map(self, value):
        return value * 10


class Big(FilterFunction):
    def filter(self, value):
        return value > 10


class Parity(KeySelector):
    def get_key(self, value):
        return value // 10 % 2


class Add(ReduceFunction):
    def reduce(self, value1, value2):
        return value1 + value2


@on_both
@pytest.mark.feature("DS-08")
def test_lambdas_and_function_classes_give_the_same(make_env: MakeEnv) -> None:
    def run(to_tens, big, parity, add):
        numbers = make_env(2).from_sequence(1, 20)
        return collect(numbers.map(to_tens).filter(big).key_by(parity).reduce(add))

    with_lambdas = run(lambda n: n * 10, lambda n: n > 10, lambda n: n // 10 % 2, lambda a, b: a + b)
    with_classes = run(Tenfold(), Big(), Parity(), Add())

    assert with_lambdas == with_classes
    assert max(with_lambdas) == sum(range(20, 201, 20))


class WhereMapped(MapFunction):
    def open(self, runtime_context):
        self.where = [runtime_context.get_index_of_this_subtask(), runtime_context.get_number_of_parallel_subtasks()]

    def map(self, value):
        return self.where


class WhereWritten(SinkFunction):
    def __init__(self, path):
        self.path = path

    def open(self, runtime_context):
        self.where = [runtime_context.get_index_of_this_subtask(), runtime_context.get_number_of_parallel_subtasks()]

    def invoke(self, value, context):
        append_lines(self.path, [{"map": value, "sink": self.where}])


@on_both
@pytest.mark.feature("DS-09")
def test_each_operator_has_its_own_parallelism(make_env: MakeEnv, tmp_path: Path) -> None:
    env = make_env(4)
    mapped = env.from_sequence(1, 10).map(WhereMapped()).set_parallelism(2)
    mapped.add_sink(WhereWritten(tmp_path / "out")).set_parallelism(1)

    env.execute()

    lines = read_lines(tmp_path / "out")
    assert len(lines) == 10
    assert {tuple(line["map"]) for line in lines} == {(0, 2), (1, 2)}
    assert {tuple(line["sink"]) for line in lines} == {(0, 1)}


class AddSubtask(MapFunction):
    def open(self, runtime_context):
        self.index = runtime_context.get_index_of_this_subtask()

    def map(self, value):
        return (*value, self.index)


@on_both
@pytest.mark.feature("DS-10")
def test_one_to_one_edges_keep_subtask_and_order(make_env: MakeEnv) -> None:
    env = make_env(2, {"firesteel.chunk.max-records": 7})
    tagged = env.from_source(TaggedNumbers(50), WatermarkStrategy.no_watermarks(), "tagged")
    mapped = collect(tagged.map(AddSubtask()).disable_chaining().map(AddSubtask()))

    assert len(mapped) == 100
    assert all(source == first == second for source, _, first, second in mapped)
    for subtask in (0, 1):
        assert [n for source, n, _, _ in mapped if source == subtask] == list(range(50))


@on_both
@pytest.mark.feature("DS-11")
def test_a_shuffle_keeps_the_order_between_a_sender_and_a_key(make_env: MakeEnv) -> None:
    env = make_env(2, {"firesteel.epoch.max-records": 300, "firesteel.chunk.max-records": 64})
    tagged = env.from_source(TaggedNumbers(1000), WatermarkStrategy.no_watermarks(), "tagged")
    received = collect(tagged.key_by(lambda record: record[1] % 7).map(lambda record: record))

    assert len(received) == 2000
    for sender in (0, 1):
        for key in range(7):
            numbers = [n for source, n in received if source == sender and n % 7 == key]
            assert numbers == list(range(key, 1000, 7))


def import_and_greet(name):
    """A function whose module is only found if the job brings it along."""

    def greet(value):
        return import_module(name).greeting(value)

    return greet


@pytest.fixture
def outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, executor: str) -> Path:
    """A folder with a module and a package that are not on Python's path, under names of this test's own."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    suffix = executor.replace("-", "_")
    (tmp_path / f"module_{suffix}.py").write_text("def greeting(name):\n    return f'hello {name}'\n")
    package = tmp_path / f"package_{suffix}"
    package.mkdir()
    (package / "__init__.py").write_text("from .words import greeting\n")
    (package / "words.py").write_text("def greeting(name):\n    return f'welcome {name}'\n")
    return tmp_path


@on_both
@pytest.mark.feature("DS-12")
def test_modules_given_by_add_python_file_import_in_the_functions(
    env: StreamExecutionEnvironment, outside: Path, executor: str
) -> None:
    suffix = executor.replace("-", "_")
    module, package = f"module_{suffix}", f"package_{suffix}"
    assert find_spec(module) is None
    env.add_python_file(str(outside / f"{module}.py"))
    env.add_python_file(str(outside / package))
    people = env.from_collection(["you"])
    greeted = people.map(import_and_greet(module)).union(people.map(import_and_greet(package)))
    assert collect(greeted) == ["hello you", "welcome you"]


@on_both
@pytest.mark.feature("DS-12")
def test_modules_of_the_lib_folder_import_too_with_a_warning(
    make_env: MakeEnv, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, executor: str
) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    module = f"in_lib_{executor.replace('-', '_')}"
    (tmp_path / f"{module}.py").write_text("def greeting(name):\n    return f'good day {name}'\n")
    greeted = make_env(1, {"firesteel.lib-dir": str(tmp_path)}).from_collection(["you"]).map(import_and_greet(module))
    with pytest.warns(FiresteelWarning, match="shared by all jobs"):
        assert collect(greeted) == ["good day you"]


@on_both
@pytest.mark.feature("DS-12")
def test_requirements_are_installed_for_the_functions(
    env: StreamExecutionEnvironment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, executor: str
) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    name = f"required_{executor.replace('-', '_')}"
    packages = tmp_path / "packages"
    packages.mkdir()
    make_wheel(packages, name, "def greeting(name):\n    return f'good evening {name}'\n")
    requirements = tmp_path / "requirements.txt"
    requirements.write_text(f"{name}==1.0\n")
    env.set_python_requirements(str(requirements), str(packages))
    assert collect(env.from_collection(["you"]).map(import_and_greet(name))) == ["good evening you"]


def make_wheel(folder: Path, name: str, code: str) -> None:
    information = f"{name}-1.0.dist-info"
    with zipfile.ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"{name}.py", code)
        wheel.writestr(f"{information}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        wheel.writestr(f"{information}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{information}/RECORD", "")


@pytest.mark.parametrize("executor", ["in-process", "spark"], indirect=True)
def test_archives_are_unpacked_below_the_working_directory_of_the_functions(
    env: StreamExecutionEnvironment, tmp_path: Path
) -> None:
    with zipfile.ZipFile(tmp_path / "rates.zip", "w") as archive:
        archive.writestr("eur.txt", "1.25")
    env.add_python_archive(str(tmp_path / "rates.zip"), "rates")
    priced = env.from_collection([4]).map(lambda price: price * float(Path("rates/eur.txt").read_text()))
    assert collect(priced) == [5.0]
    assert not Path("rates").exists()


class EndToEnd(KeyedProcessFunction):
    def process_element(self, value, ctx):
        yield ctx.get_current_key(), value


@on_both
def test_one_stream_can_be_used_twice_and_joined_again(make_env: MakeEnv) -> None:
    numbers = make_env(2).from_sequence(1, 100)
    even, odd = numbers.filter(lambda n: n % 2 == 0), numbers.filter(lambda n: n % 2 == 1)
    joined = even.union(odd, odd).key_by(lambda n: n % 2).process(EndToEnd())

    counts = Counter(collect(joined))

    assert counts == {(n % 2, n): 1 + n % 2 for n in range(1, 101)}
    assert sorted(counts, key=itemgetter(1))[0] == (1, 1)
