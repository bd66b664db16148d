from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firesteel.common import ConfigOptions, Configuration, Duration, FiresteelWarning, Time, options
from firesteel.common import warnings as firesteel_warnings
from firesteel.common.config_file import parse_config_text
from firesteel.common.config_options import ListValue, MapValue
from firesteel.common.options import engine
from firesteel.common.options.flink import PREFIX_RULES
from firesteel.common.options.page import render_page
from firesteel.errors import ConfigurationError, UnknownOptionError

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(autouse=True)
def nothing_warned_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(firesteel_warnings, "_given", set())


def of(key: str, value: Any) -> Configuration:
    return Configuration.from_dict({key: value})


@pytest.mark.parametrize(
    ("option", "given", "value"),
    [
        (options.PARALLELISM, "4", 4),
        (options.PARALLELISM, 4, 4),
        (options.OPERATOR_CHAINING, "False", False),
        (options.OPERATOR_CHAINING, True, True),
        (options.EXPONENTIAL_MULTIPLIER, "2", 2.0),
        (options.CHECKPOINT_INTERVAL, "10 s", 10_000),
        (options.CHECKPOINT_INTERVAL, "1min", 60_000),
        (options.CHECKPOINT_INTERVAL, "250", 250),
        (options.CHECKPOINT_INTERVAL, 250, 250),
        (options.CHECKPOINT_INTERVAL, Duration.of_seconds(2), 2_000),
        (options.CHECKPOINT_INTERVAL, Time.seconds(2), 2_000),
        (options.ROCKSDB_MEMORY, "64 mb", 64 * 2**20),
        (options.ROCKSDB_MEMORY, "1g", 2**30),
        (options.RUNTIME_MODE, "batch", "BATCH"),
        (options.CHECKPOINT_MODE, "exactly-once", "EXACTLY_ONCE"),
        (options.EXECUTION_TARGET, "in-process", "in-process"),
        (options.PYTHON_FILES, "a.py,b.py", ["a.py", "b.py"]),
        (options.PYTHON_FILES, ["a.py", "b.py"], ["a.py", "b.py"]),
        (options.GLOBAL_JOB_PARAMETERS, "a:1,b:'x,y'", {"a": "1", "b": "x,y"}),
        (options.GLOBAL_JOB_PARAMETERS, {"path": "file:///x,y"}, {"path": "file:///x,y"}),
    ],
    ids=str,
)
def test_values_are_read_by_their_type(option: Any, given: Any, value: Any) -> None:
    configuration = of(option.key, given)
    assert configuration.get(option) == value
    assert Configuration.from_dict(configuration.to_dict()) == configuration


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("parallelism.default", "0", "a whole number of at least 1"),
        ("parallelism.default", "four", "a whole number"),
        ("parallelism.default", True, "a whole number"),
        ("execution.checkpointing.interval", "10 parsecs", "'10 s'"),
        ("execution.checkpointing.interval", -1, "a duration"),
        ("firesteel.progress", "yes", "true or false"),
        ("state.backend.rocksdb.memory.fixed-per-slot", "lots", "'64 mb'"),
        ("execution.target", "local", "one of spark, in-process"),
        ("pipeline.global-job-parameters", "nocolon", "key1:value1"),
    ],
)
def test_a_bad_value_names_key_value_and_form(key: str, value: Any, expected: str) -> None:
    with pytest.raises(ConfigurationError) as error:
        of(key, value)
    assert key in str(error.value) and repr(value) in str(error.value) and expected in str(error.value)


def test_an_unknown_key_suggests_the_nearest() -> None:
    with pytest.raises(UnknownOptionError, match=r"Did you mean execution\.checkpointing\.interval\?"):
        of("execution.checkpoint.interval", "1 s")
    with pytest.raises(UnknownOptionError, match="lists all options"):
        of("zzz", "1")


def test_a_key_without_meaning_warns_once_saying_why() -> None:
    with pytest.warns(FiresteelWarning, match=r"taskmanager\.numberOfTaskSlots has no effect here: .*Spark") as given:
        of("taskmanager.numberOfTaskSlots", 4)
    assert given[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        of("taskmanager.numberOfTaskSlots", 8)


def test_the_warning_points_at_the_users_line() -> None:
    configuration = Configuration()
    with pytest.warns(FiresteelWarning) as given:
        configuration.set_string("pipeline.jars", "file:///x.jar")
    assert given[0].filename == __file__


def test_sparks_own_keys_pass_through() -> None:
    configuration = of("spark.executor.memory", "2g").set_integer("parallelism.default", 2)
    assert configuration.spark_options() == {"spark.executor.memory": "2g"}


def test_defaults_hold_until_a_value_is_set() -> None:
    configuration = Configuration()
    assert configuration.get(options.PARALLELISM) is None
    assert configuration.get(options.PARALLELISM, 3) == 3
    assert configuration.get(options.MASTER) is None
    assert configuration.get(options.EPOCH_MAX_RECORDS) == 2_000_000
    configuration.set(options.MASTER, "yarn")
    assert configuration.get(options.MASTER) == "yarn"


def test_older_names_mean_the_same_option() -> None:
    configuration = of("state.backend", "rocksdb")
    assert configuration.get(options.STATE_BACKEND) == "rocksdb"
    assert configuration.contains_key("state.backend.type") and configuration.contains_key("state.backend")
    assert configuration.key_set() == {"state.backend.type"}
    assert configuration.remove_config("state.backend")
    assert not configuration.remove_config("state.backend")


def test_typed_getters_and_setters() -> None:
    configuration = Configuration()
    configuration.set_integer("parallelism.default", 4).set_boolean("firesteel.progress", False)
    configuration.set_float("restart-strategy.exponential-delay.jitter-factor", 0.5)
    configuration.set_string("pipeline.name", "job")
    configuration.set_bytearray("spark.secret", bytearray(b"ab"))
    assert configuration.get_integer("parallelism.default", 0) == 4
    assert configuration.get_boolean("firesteel.progress", True) is False
    assert configuration.get_float("restart-strategy.exponential-delay.jitter-factor", 0) == 0.5
    assert configuration.get_string("pipeline.name", "") == "job"
    assert configuration.get_bytearray("spark.secret", bytearray()) == b"ab"
    assert configuration.get_string("firesteel.master", "none") == "none"
    assert configuration.get_integer("firesteel.chunk.max-records", 7) == 7
    with pytest.raises(ConfigurationError, match=r"pipeline\.name cannot be 'job'"):
        configuration.get_integer("pipeline.name", 0)


def test_copies_are_independent() -> None:
    configuration = of("pipeline.name", "a")
    for twin in (configuration.clone(), copy.deepcopy(configuration), Configuration(configuration)):
        twin.set_string("pipeline.name", "b")
        assert configuration.get_string("pipeline.name", "") == "a" and twin != configuration
    assert pickle.loads(pickle.dumps(configuration)) == configuration


def test_configurations_are_put_together() -> None:
    configuration = of("pipeline.name", "a").add_all(of("parallelism.default", 2))
    target: dict[str, Any] = {"x": 1}
    configuration.add_all_to_dict(target)
    assert target == {"x": 1, "pipeline.name": "a", "parallelism.default": "2"}
    prefixed = Configuration().add_all(of("spark.a", "1"), prefix="spark.")
    assert prefixed.to_dict() == {"spark.spark.a": "1"}
    with pytest.raises(UnknownOptionError):
        Configuration().add_all(of("pipeline.name", "a"), prefix="other.")


def test_programs_declare_options_of_their_own() -> None:
    retries = ConfigOptions.key("my.retries").int_type().default_value(3)
    label = ConfigOptions.key("my.label").string_type().no_default_value()
    configuration = Configuration()
    assert configuration.get(retries) == 3 and configuration.get(label) is None
    configuration.set(retries, 5).set(label, "x")
    assert configuration.get(retries) == 5 and configuration.get(label) == "x"
    many: Any = "many"
    with pytest.raises(ConfigurationError, match=r"my\.retries"):
        configuration.set(retries, many)
    assert ConfigOptions.key("a").boolean_type().default_value(True).default is True
    assert ConfigOptions.key("a").double_type().default_value(0.5).default == 0.5


@pytest.mark.parametrize(
    ("text", "parts"),
    [("a;b", ["a", "b"]), ("[a, 'b, c']", ["a", "b, c"]), ("a", ["a"]), ("", []), ("'x;y';z", ["x;y", "z"])],
)
def test_lists_are_parsed(text: str, parts: list[str]) -> None:
    assert Configuration.parse_list_value(text) == parts


TEXT = st.text(st.characters(blacklist_categories=("Cs", "Cc")), min_size=1)


@given(st.lists(TEXT))
def test_lists_survive_being_written_as_text(items: list[str]) -> None:
    assert ListValue().parse(ListValue().render(items)) == items


@given(st.dictionaries(TEXT, TEXT))
def test_maps_survive_being_written_as_text(pairs: dict[str, str]) -> None:
    assert MapValue().parse(MapValue().render(pairs)) == pairs


# --- files -----------------------------------------------------------------------------------------


def test_flat_and_nested_files_say_the_same() -> None:
    flat = """
# a comment
state.backend: rocksdb   # another
parallelism.default: 4
pipeline.name: "a # b"
"""
    nested = """
state:
  backend: rocksdb
parallelism:
  default: 4
pipeline:
  name: 'a # b'
"""
    expected = {"state.backend": "rocksdb", "parallelism.default": "4", "pipeline.name": "a # b"}
    assert parse_config_text(flat) == parse_config_text(nested) == expected


def test_lists_in_files() -> None:
    text = "python.files:\n  - a.py\n  - b.py\npython:\n  archives: [x.zip, y.zip]\npipeline.name: z\n"
    settings = parse_config_text(text)
    assert options.PYTHON_FILES.parse(settings["python.files"]) == ["a.py", "b.py"]
    assert options.PYTHON_ARCHIVES.parse(settings["python.archives"]) == ["x.zip", "y.zip"]
    assert settings["pipeline.name"] == "z"


def test_values_keep_their_colons() -> None:
    assert parse_config_text("state.checkpoints.dir: file:///tmp/x")["state.checkpoints.dir"] == "file:///tmp/x"


def test_a_line_that_is_no_setting_is_named() -> None:
    with pytest.raises(ConfigurationError, match="conf, line 2: expected 'key: value', got 'nonsense'"):
        parse_config_text("a.b: 1\nnonsense\n", "conf")


def test_a_file_warns_of_unknown_keys_and_leaves_them_out(tmp_path: Path) -> None:
    path = tmp_path / "flink-conf.yaml"
    path.write_text("state.backend: rocksdb\nstate.bakend.type: hashmap\n")
    with pytest.warns(FiresteelWarning, match=r"Did you mean state\.backend\.type\?"):
        configuration = Configuration.from_file(path)
    assert configuration.to_dict() == {"state.backend.type": "rocksdb"}


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"absent\.yaml cannot be read"):
        Configuration.from_file(tmp_path / "absent.yaml")


# --- the table ---------------------------------------------------------------------------------------


def test_every_option_is_described_and_has_a_default_of_its_type() -> None:
    for option in options.OPTIONS.values():
        assert bool(option.description) != bool(option.no_meaning), option.key
        assert option.default is None or option.parse(option.default) == option.default, option.key


def test_all_options_in_use_are_exported() -> None:
    exported = {getattr(options, name).key for name in engine.__all__}
    assert exported == {key for key, option in options.OPTIONS.items() if option.no_meaning is None}


def test_no_prefix_hides_another_or_an_option() -> None:
    prefixes = [rule.prefix for rule in PREFIX_RULES]
    assert len(set(prefixes)) == len(prefixes)
    for option in options.OPTIONS.values():
        for key in (option.key, *option.aliases):
            assert options.resolve_key(key).option is option


def test_the_documentation_page_is_current() -> None:
    page = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    assert page == render_page(), "run: python -m firesteel.common.options > docs/configuration.md"


def test_the_page_is_printed_by_the_module() -> None:
    command = [sys.executable, "-W", "error", "-m", "firesteel.common.options"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True, encoding="utf-8")
    assert done.stdout == render_page()


def test_settings_in_the_environment_variable_are_written_like_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FIRESTEEL_PROPERTIES", "execution.target: in-process\nparallelism.default: 3")
    configuration = Configuration.from_environment()
    assert configuration.to_dict() == {"execution.target": "in-process", "parallelism.default": "3"}
    monkeypatch.delenv("FIRESTEEL_PROPERTIES")
    assert Configuration.from_environment().key_set() == set()


def test_an_unknown_key_in_the_environment_variable_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FIRESTEEL_PROPERTIES", "execution.tarket: in-process")
    with pytest.raises(UnknownOptionError, match=r"execution\.target"):
        Configuration.from_environment()
