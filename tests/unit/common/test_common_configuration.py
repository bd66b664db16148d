from __future__ import annotations

import copy
import pickle
import re
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
from firesteel.common.options import engine, table
from firesteel.common.options.flink import PREFIX_RULES
from firesteel.common.options.flink_table import flink_keys
from firesteel.common.options.page import render_page
from firesteel.errors import ConfigurationError

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
    ids=lambda value: getattr(value, "key", str(value)),
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
        ("execution.target", "nowhere", "one of spark, in-process"),
        ("state.backend.rocksdb.localdir", "relative/path", "local directories"),
        ("state.backend.rocksdb.localdir", "hdfs://host/x", "local directories"),
        ("pipeline.global-job-parameters", "nocolon", "key1:value1"),
    ],
)
def test_a_bad_value_names_key_value_and_form(key: str, value: Any, expected: str) -> None:
    with pytest.raises(ConfigurationError) as error:
        of(key, value)
    assert key in str(error.value) and repr(value) in str(error.value) and expected in str(error.value)


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("execution.checkpoint.interval", "execution.checkpointing.interval"),
        ("EXECUTION.CHECKPOINTING_INTERVAL", "execution.checkpointing.interval"),
        ("paralellism.default", "parallelism.default"),
        ("state.backend.rocksdb.memory.fixed-per-slots", "state.backend.rocksdb.memory.fixed-per-slot"),
        ("taskmanager.numberOfTaskSlot", "taskmanager.numberOfTaskSlots"),
        ("table.exec.mini-batch.enable", "table.exec.mini-batch.enabled"),
        ("state.backends", "state.backend"),
    ],
)
def test_a_key_that_is_nearly_an_option_is_kept_and_warned_about(key: str, meant: str) -> None:
    with pytest.warns(
        FiresteelWarning, match=rf"{re.escape(key)} is not known.*did you mean {re.escape(meant)}\?"
    ) as given:
        configuration = of(key, "1")
    assert given[0].filename == __file__
    assert configuration.to_dict() == {key: "1"}


@pytest.mark.parametrize(
    "key", ["k1", "my.retries", "app.parallelism", "kafka.bootstrap.servers", "a b", "input.path", ""]
)
def test_keys_of_users_own_are_kept_without_a_word(key: str) -> None:
    assert of(key, "x").get_string(key, "") == "x"


def test_an_unknown_key_of_firesteels_own_is_warned_about() -> None:
    with pytest.warns(FiresteelWarning, match=r"firesteel\.speed is not known"):
        of("firesteel.speed", "fast")


def test_keys_without_meaning_share_one_warning_per_reason() -> None:
    with pytest.warns(FiresteelWarning) as given:
        Configuration.from_dict({"taskmanager.numberOfTaskSlots": 4, "jobmanager.rpc.address": "", "web.log.path": ""})
    texts = [str(warning.message) for warning in given]
    assert len(texts) == 2
    assert texts[0].startswith("options taskmanager.numberOfTaskSlots, jobmanager.rpc.address have no effect here: ")
    assert texts[1].startswith("option web.log.path has no effect here: ")


def test_every_key_of_flink_has_a_meaning_or_a_reason() -> None:
    for known in flink_keys().values():
        for key in (known.key, *known.older):
            found = options.resolve_key(key)
            assert (found.option is None) != (found.no_meaning is None) or found.option.no_meaning, key  # type: ignore[union-attr]
            assert found.warning is None, key


def test_no_older_key_of_flink_is_missing_from_an_option() -> None:
    for known in flink_keys().values():
        option = options.find_option(known.key)
        if option is not None:
            assert set(known.older) <= set(option.aliases), known.key


DEFAULTS_OF_OUR_OWN = {
    "execution.target",  # Spark
    "parallelism.default",  # as many as Spark has cores
    "python.executable",  # the driver's
    "restart-strategy.exponential-delay.attempts-before-reset-backoff",  # None says what the largest int says
    "state.backend.rocksdb.memory.fixed-per-slot",  # Flink shares managed memory instead
    "execution.attached",
    "rest.port",  # None: there is no REST API unless it is asked for
    "web.submit.enable",  # nobody runs code over the REST API unless that is asked for
}


def test_defaults_and_types_are_those_of_flink() -> None:
    for known in flink_keys().values():
        option = options.find_option(known.key)
        if option is None or known.key in DEFAULTS_OF_OUR_OWN:
            continue
        assert known.type_name in (option.value_type.name, "string", "enum"), known.key
        assert option.default == (option.parse(known.default) if known.default else None), known.key


@pytest.mark.parametrize(
    ("text", "millis"),
    [("PT10S", 10_000), ("pt1.5s", 1_500), ("P1DT2H3M4S", 93_784_000), ("PT0S", 0)],
)
def test_durations_may_be_written_as_iso_does(text: str, millis: int) -> None:
    assert of("execution.checkpointing.interval", text).get(options.CHECKPOINT_INTERVAL) == millis
    with pytest.raises(ConfigurationError):
        of("execution.checkpointing.interval", "PT")


@pytest.mark.parametrize(
    ("key", "given", "value", "note"),
    [
        ("execution.target", "yarn-application", "spark", "deployment of Flink"),
        ("execution.target", "local", "spark", "deployment of Flink"),
        ("state.backend.type", "forst", "rocksdb", "no ForSt backend"),
        ("execution.state-recovery.claim-mode", "LEGACY", "NO_CLAIM", None),
        ("restart-strategy.type", "fixeddelay", "fixed-delay", None),
        ("state.backend.type", "org.apache.flink.runtime.state.hashmap.HashMapStateBackendFactory", "hashmap", None),
        ("state.backend.type", "org.x.EmbeddedRocksDBStateBackendFactory", "rocksdb", None),
        ("state.backend", "jobmanager", "hashmap", None),
    ],
)
def test_values_of_flink_stand_for_the_nearest_here(key: str, given: str, value: str, note: str | None) -> None:
    if note is None:
        configuration = of(key, given)
    else:
        with pytest.warns(FiresteelWarning, match=note):
            configuration = of(key, given)
    assert configuration.get(options.find_option(key)) == value  # type: ignore[arg-type]
    assert configuration.get_string(key, "") == given


@pytest.mark.parametrize(
    "text",
    ["/a/x,/b", "/a/x:/b", "file:///a/x:file:///b", "file:/a/x/ , file:/b/", "[/a/x, file:///b]", "/a/x;/b/"],
)
def test_local_directories_are_written_in_many_ways(text: str) -> None:
    assert of("state.backend.rocksdb.localdir", text).get(options.ROCKSDB_LOCAL_DIRS) == ["/a/x", "/b"]


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
    assert configuration.key_set() == {"state.backend"}
    assert configuration.get_string("state.backend.type", "") == "rocksdb"
    configuration.set_string("state.backend.type", "hashmap")
    assert configuration.get(options.STATE_BACKEND) == "hashmap"  # the current name counts, whatever the order
    assert configuration.remove_config("state.backend")
    assert not configuration.remove_config("state.backend")
    assert configuration.key_set() == set()


def test_older_names_of_keys_without_meaning_are_names_too() -> None:
    with pytest.warns(FiresteelWarning, match="no changelog"):
        configuration = of("state.backend.changelog.enabled", "true")
    assert configuration.get_boolean("state.changelog.enabled", False)


def test_what_is_added_counts_under_any_name() -> None:
    configuration = of("state.backend.type", "rocksdb").add_all(of("state.backend", "jobmanager"))
    assert configuration.get(options.STATE_BACKEND) == "hashmap"


def test_pairs_of_a_map_may_be_keys_of_their_own() -> None:
    configuration = of("pipeline.global-job-parameters.city", "Bergen").set_integer(
        "pipeline.global-job-parameters.n", 2
    )
    assert configuration.get(options.GLOBAL_JOB_PARAMETERS) == {"city": "Bergen", "n": "2"}


def test_settings_keep_their_type_and_are_texts_on_demand() -> None:
    configuration = Configuration().set_string("s", "v").set_integer("i", 1).set_float("f", 1e10).set_boolean("b", True)
    configuration.set_bytearray("y", bytearray([1, 2]))
    target: dict[str, Any] = {}
    configuration.add_all_to_dict(target)
    assert target == {"s": "v", "i": 1, "f": 1e10, "b": True, "y": bytearray([1, 2])}
    assert configuration.to_dict() == {"s": "v", "i": "1", "f": "1.0E10", "b": "true", "y": "\x01\x02"}
    assert configuration.get_float("f", 0) == 1e10 and configuration.get_integer("i", 0) == 1
    raw = of("execution.checkpointing.interval", "10000 ms")
    assert raw.get_string("execution.checkpointing.interval", "") == "10000 ms"
    assert configuration.get_string("none", None) is None  # type: ignore[arg-type]


def test_configurations_hash_print_and_compare_by_their_settings() -> None:
    one = Configuration().set_string("k1", "v1").set_integer("k2", 1)
    other = Configuration().set_string("k1", "v1")
    assert one != other and hash(one) != hash(other)
    other.set_integer("k2", 1)
    assert one == other and hash(one) == hash(other)
    assert str(one) == "{k1=v1, k2=1}"
    assert copy.copy(one) == copy.deepcopy(one) == one


def test_secrets_are_not_printed() -> None:
    configuration = of("s3.secret-key", "hush").set_string("my.password", "hush").set_string("plain", "seen")
    for text in (str(configuration), repr(configuration)):
        assert "hush" not in text and "seen" in text
    assert configuration.to_dict()["s3.secret-key"] == "hush"


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
    assert target == {"x": 1, "pipeline.name": "a", "parallelism.default": 2}
    prefixed = Configuration().add_all(of("spark.a", "1"), prefix="spark.")
    assert prefixed.to_dict() == {"spark.spark.a": "1"}
    assert Configuration().add_all(of("pipeline.name", "a"), "other_").to_dict() == {"other_pipeline.name": "a"}


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
    [
        (None, []),
        ("", []),
        ("a", ["a"]),
        ("a;b", ["a", "b"]),
        ("a,b", ["a,b"]),
        ("[a, 'b, c']", ["a", "b, c"]),
        ("- a\n- b", ["a", "b"]),
        ("'x;y';z", ["x;y", "z"]),
    ],
)
def test_lists_are_parsed(text: str | None, parts: list[str]) -> None:
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
    with pytest.raises(ConfigurationError, match="conf, line 3: this is not YAML"):
        parse_config_text("a.b: 1\nnonsense\n", "conf")
    with pytest.raises(ConfigurationError, match="conf, line 1: expected 'key: value', got 'nonsense'"):
        parse_config_text("nonsense", "conf")


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        ("", {}),
        ("# nothing\n---\n", {}),
        ("a: {b: 1, c: {d: x}}", {"a.b": "1", "a.c.d": "x"}),
        ("a: >\n  two\n  lines\n", {"a": "two lines\n"}),
        (
            "a: yes\nb: 1.10\nc: 012\nd: 12:30:45\ne: 2020-01-01\nf: 0x10",
            dict(zip("abcdef", ["yes", "1.10", "012", "12:30:45", "2020-01-01", "0x10"])),
        ),
        ("a: ''", {"a": ""}),
        ("\"a.b\": 'x'", {"a.b": "x"}),
        ("a: &anchor x\nb: *anchor", {"a": "x", "b": "x"}),
        ("a: [{name: x, path: y}]", {"a": "'name:x,path:y'"}),
    ],
)
def test_files_are_yaml_whose_values_are_text(text: str, settings: dict[str, str]) -> None:
    assert parse_config_text(text) == settings


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\na: 2", "line 2: a is set twice"),
        ("a.b: 1\na:\n  b: 2", "line 3: a.b is set twice"),
        ("a: 1\nb:\n", "line 2: b has no value"),
        ("a: b: c", "line 1: this is not YAML"),
        ("- a", "expected 'key: value', got 'a list'"),
        ("? [a]\n: b", "a key must be text"),
        ("a: [x", "this is not YAML"),
    ],
)
def test_a_wrong_file_is_refused_with_the_line(text: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(message)):
        parse_config_text(text)


def test_a_file_that_is_not_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigurationError, match="not written in UTF-8"):
        Configuration.from_file(tmp_path / "config.yaml")


def test_a_file_keeps_all_keys_and_warns_of_odd_ones(tmp_path: Path) -> None:
    path = tmp_path / "flink-conf.yaml"
    path.write_text("state.backend: rocksdb\nstate.bakend.type: hashmap\nmine: 1\n")
    with pytest.warns(FiresteelWarning, match=r"did you mean state\.backend\.type\?"):
        configuration = Configuration.from_file(path)
    assert configuration.to_dict() == {"state.backend": "rocksdb", "state.bakend.type": "hashmap", "mine": "1"}


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"absent\.yaml cannot be read"):
        Configuration.from_file(tmp_path / "absent.yaml")


# --- the table ---------------------------------------------------------------------------------------


def test_every_option_is_described_and_has_a_default_of_its_type() -> None:
    for option in options.OPTIONS.values():
        assert bool(option.description) != bool(option.no_meaning), option.key
        assert option.default is None or option.parse(option.default) == option.default, option.key


def test_all_options_in_use_are_exported() -> None:
    exported = {getattr(module, name).key for module in (engine, table) for name in module.__all__}
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


def test_a_slip_in_the_environment_variable_is_warned_about(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FIRESTEEL_PROPERTIES", "execution.tarket: in-process")
    with pytest.warns(FiresteelWarning, match=r"did you mean execution\.target\?"):
        Configuration.from_environment()
