"""CheckpointConfig, checkpoint storages, state backends, slot sharing groups and memory sizes."""

from __future__ import annotations

from typing import Any

import pytest

from firesteel.common import Configuration, Duration, FiresteelWarning, Time, options
from firesteel.datastream import (
    CheckpointConfig,
    CheckpointingMode,
    EmbeddedRocksDBStateBackend,
    ExternalizedCheckpointRetention,
    FileSystemCheckpointStorage,
    HashMapStateBackend,
    JobManagerCheckpointStorage,
    MemorySize,
    PredefinedOptions,
    SlotSharingGroup,
    StreamExecutionEnvironment,
)
from firesteel.datastream.checkpoint_storage import CustomCheckpointStorage
from firesteel.errors import ConfigurationError, UnsupportedError


@pytest.fixture
def config(env: StreamExecutionEnvironment) -> CheckpointConfig:
    return env.get_checkpoint_config()


def settings(env: StreamExecutionEnvironment) -> dict[str, str]:
    return env.get_configuration().to_dict()


# ---- checkpoints -------------------------------------------------------------------------------------------


def test_checkpointing_is_off_until_an_interval_is_set(env: StreamExecutionEnvironment) -> None:
    config = env.get_checkpoint_config()
    assert not config.is_checkpointing_enabled()
    assert config.get_checkpoint_interval() == env.get_checkpoint_interval() == -1
    assert env.enable_checkpointing(5000, CheckpointingMode.AT_LEAST_ONCE) is env
    assert config.is_checkpointing_enabled()
    assert env.get_checkpoint_interval() == 5000
    assert env.get_checkpointing_mode() is CheckpointingMode.AT_LEAST_ONCE
    assert env.get_checkpointing_consistency_mode() is CheckpointingMode.AT_LEAST_ONCE
    assert settings(env)["execution.checkpointing.interval"] == "5 s"
    assert settings(env)["execution.checkpointing.mode"] == "AT_LEAST_ONCE"


def test_the_configuration_is_read_back(env: StreamExecutionEnvironment, config: CheckpointConfig) -> None:
    env.get_configuration().set_string("execution.checkpointing.interval", "1 min")
    env.get_configuration().set_string("execution.checkpointing.timeout", "30 s")
    assert config.get_checkpoint_interval() == 60_000
    assert config.get_checkpoint_timeout() == 30_000


@pytest.mark.parametrize(
    ("name", "default", "value", "key"),
    [
        ("checkpoint_timeout", 600_000, 1234, "timeout"),
        ("min_pause_between_checkpoints", 0, 500, "min-pause"),
        ("max_concurrent_checkpoints", 1, 2, "max-concurrent-checkpoints"),
        ("tolerable_checkpoint_failure_number", 0, 3, "tolerable-failed-checkpoints"),
        ("checkpointing_mode", CheckpointingMode.EXACTLY_ONCE, CheckpointingMode.AT_LEAST_ONCE, "mode"),
        (
            "externalized_checkpoint_retention",
            ExternalizedCheckpointRetention.NO_EXTERNALIZED_CHECKPOINTS,
            ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION,
            "externalized-checkpoint-retention",
        ),
    ],
)
def test_settings_go_to_the_configuration_and_back(
    env: StreamExecutionEnvironment, config: CheckpointConfig, name: str, default: Any, value: Any, key: str
) -> None:
    assert getattr(config, f"get_{name}")() == default
    assert getattr(config, f"set_{name}")(value) is config
    assert getattr(config, f"get_{name}")() == value
    assert f"execution.checkpointing.{key}" in settings(env)


@pytest.mark.parametrize(
    ("method", "value"),
    [
        ("set_checkpoint_interval", 9),
        ("set_checkpoint_interval", "1 s"),
        ("set_checkpoint_timeout", 5),
        ("set_min_pause_between_checkpoints", -1),
        ("set_max_concurrent_checkpoints", 0),
        ("set_tolerable_checkpoint_failure_number", -1),
        ("set_checkpointing_mode", "EXACTLY_ONCE"),
        ("set_externalized_checkpoint_retention", "RETAIN"),
        ("set_fail_on_checkpointing_errors", 1),
        ("enable_unaligned_checkpoints", "yes"),
        ("set_force_unaligned_checkpoints", None),
        ("set_aligned_checkpoint_timeout", -1),
        ("set_checkpoint_storage", "file:///x"),
    ],
)
def test_wrong_values_name_the_method(config: CheckpointConfig, method: str, value: Any) -> None:
    with pytest.raises(ConfigurationError, match=f"^{method}: "):
        getattr(config, method)(value)


def test_a_pause_and_several_checkpoints_at_once_contradict(config: CheckpointConfig) -> None:
    config.set_min_pause_between_checkpoints(100)
    assert config.set_max_concurrent_checkpoints(1) is config
    with pytest.raises(ConfigurationError, match="2 checkpoints at once contradict the pause of 100 ms"):
        config.set_max_concurrent_checkpoints(2)


def test_failing_on_checkpoint_errors_is_a_number_of_failures(config: CheckpointConfig) -> None:
    assert config.is_fail_on_checkpointing_errors()
    config.set_fail_on_checkpointing_errors(False)
    assert not config.is_fail_on_checkpointing_errors()
    assert config.get_tolerable_checkpoint_failure_number() > 1_000_000
    config.set_fail_on_checkpointing_errors(True)
    assert config.get_tolerable_checkpoint_failure_number() == 0


def test_externalized_checkpoints(config: CheckpointConfig) -> None:
    assert not config.is_externalized_checkpoints_enabled()
    config.set_externalized_checkpoint_retention(ExternalizedCheckpointRetention.DELETE_ON_CANCELLATION)
    assert config.is_externalized_checkpoints_enabled()


def test_alignment_has_no_meaning_here(env: StreamExecutionEnvironment, config: CheckpointConfig) -> None:
    assert config.enable_unaligned_checkpoints().is_unaligned_checkpoints_enabled()
    assert env.is_unaligned_checkpoints_enabled()
    assert not config.disable_unaligned_checkpoints().is_unaligned_checkpoints_enabled()
    with pytest.warns(FiresteelWarning, match="alignment"):
        config.set_force_unaligned_checkpoints()
    assert env.is_force_unaligned_checkpoints()
    assert config.get_aligned_checkpoint_timeout() == Duration.of_millis(0)
    with pytest.warns(FiresteelWarning, match="alignment"):
        config.set_aligned_checkpoint_timeout(Duration.of_seconds(2))
    assert config.get_alignment_timeout() == Duration.of_seconds(2)
    config.set_alignment_timeout(Time.seconds(3))
    assert config.get_aligned_checkpoint_timeout() == Duration.of_millis(3000)


@pytest.mark.filterwarnings("ignore::firesteel.common.FiresteelWarning")
@pytest.mark.parametrize(
    ("key", "value", "getter", "expected"),
    [
        ("execution.checkpointing.alignment-timeout", "5 s", "get_alignment_timeout", Duration.of_seconds(5)),
        ("execution.checkpointing.unaligned", "true", "is_unaligned_checkpoints_enabled", True),
        ("execution.checkpointing.unaligned.forced", "true", "is_force_unaligned_checkpoints", True),
    ],
)
def test_keys_of_all_ages_reach_the_getters(
    config: CheckpointConfig, key: str, value: str, getter: str, expected: Any
) -> None:
    config._configuration.set_string(key, value)
    assert getattr(config, getter)() == expected


@pytest.mark.filterwarnings("ignore::firesteel.common.FiresteelWarning")
@pytest.mark.parametrize(
    ("key", "value", "getter", "expected"),
    [
        ("pipeline.operator-chaining", "false", "is_chaining_enabled", False),
        ("execution.buffer-timeout", "1 min", "get_buffer_timeout", 60_000),
        ("execution.buffer-timeout.enabled", "false", "get_buffer_timeout", -1),
        ("state.changelog.enabled", "true", "is_changelog_state_backend_enabled", True),
        ("state.backend.changelog.enabled", "false", "is_changelog_state_backend_enabled", False),
        ("state.savepoints.dir", "file:///s", "get_default_savepoint_directory", "file:///s"),
        ("savepoints.state.backend.fs.dir", "file:///s", "get_default_savepoint_directory", "file:///s"),
    ],
)
def test_keys_of_all_ages_reach_the_getters_of_the_environment(
    env: StreamExecutionEnvironment, key: str, value: str, getter: str, expected: Any
) -> None:
    env.configure(Configuration.from_dict({key: value}))
    assert getattr(env, getter)() == expected


@pytest.mark.filterwarnings("ignore::firesteel.common.FiresteelWarning")
def test_the_changelog_is_neither_on_nor_off_until_it_is_set(env: StreamExecutionEnvironment) -> None:
    assert env.is_changelog_state_backend_enabled() is None
    assert env.enable_changelog_state_backend(True).is_changelog_state_backend_enabled() is True
    assert env.enable_changelog_state_backend(False).is_changelog_state_backend_enabled() is False


@pytest.mark.filterwarnings("ignore::firesteel.common.FiresteelWarning")
def test_jars_and_classpaths_are_added_to_those_before(env: StreamExecutionEnvironment) -> None:
    env.get_configuration().set_string("pipeline.jars", "[file:///a.jar]")
    env.add_jars("file:///b.jar", "file:///c.jar")
    env.add_classpaths("file:///d")
    env.add_classpaths("file:///e")
    parse = Configuration.parse_list_value
    assert parse(settings(env)["pipeline.jars"]) == ["file:///a.jar", "file:///b.jar", "file:///c.jar"]
    assert parse(settings(env)["pipeline.classpaths"]) == ["file:///d", "file:///e"]


@pytest.mark.filterwarnings("ignore::firesteel.common.FiresteelWarning")
def test_a_buffer_timeout_of_minus_one_says_that_there_is_none(env: StreamExecutionEnvironment) -> None:
    assert env.get_buffer_timeout() == 100
    assert [env.set_buffer_timeout(millis).get_buffer_timeout() for millis in (0, -1, 5)] == [0, -1, 5]


# ---- storages ----------------------------------------------------------------------------------------------


def test_checkpoint_storages_set_the_directory(env: StreamExecutionEnvironment, config: CheckpointConfig) -> None:
    storage = FileSystemCheckpointStorage("file:///checkpoints")
    assert storage.get_checkpoint_path() == "file:///checkpoints"
    assert FileSystemCheckpointStorage("file://var/checkpoints/").get_checkpoint_path() == "file://var/checkpoints"
    assert JobManagerCheckpointStorage("s3://b/c//").get_checkpoint_path() == "s3://b/c"
    assert FileSystemCheckpointStorage("/").get_checkpoint_path() == "/"
    assert (storage.get_min_file_size_threshold(), storage.get_write_buffer_size()) == (20480, 4096)
    config.set_checkpoint_storage(storage)
    assert settings(env)["execution.checkpointing.dir"] == "file:///checkpoints"
    config.set_checkpoint_storage(JobManagerCheckpointStorage())
    assert "execution.checkpointing.dir" not in settings(env)
    config.set_checkpoint_storage(JobManagerCheckpointStorage("file:///jm"))
    assert settings(env)["execution.checkpointing.dir"] == "file:///jm"
    assert config.set_checkpoint_storage_dir("file:///other") is config
    assert settings(env)["execution.checkpointing.dir"] == "file:///other"


def test_sizes_of_storages_have_no_effect() -> None:
    with pytest.warns(FiresteelWarning, match="file_state_size_threshold"):
        storage = FileSystemCheckpointStorage("file:///x", file_state_size_threshold=100)
    with pytest.warns(FiresteelWarning, match="write_buffer_size"):
        buffered = FileSystemCheckpointStorage("file:///x", write_buffer_size=4096)
    in_memory = JobManagerCheckpointStorage(max_state_size=100)
    assert storage.get_min_file_size_threshold() == 100
    assert storage.get_savepoint_path() is None
    assert buffered.get_write_buffer_size() == 4096
    assert in_memory.get_max_state_size() == 100
    assert in_memory.get_checkpoint_path() is None
    assert in_memory.get_savepoint_path() is None
    assert JobManagerCheckpointStorage().get_max_state_size() == JobManagerCheckpointStorage.DEFAULT_MAX_STATE_SIZE


@pytest.mark.parametrize(
    "make",
    [
        lambda: FileSystemCheckpointStorage(),
        lambda: FileSystemCheckpointStorage(""),
        lambda: FileSystemCheckpointStorage("x", FileSystemCheckpointStorage.MAX_FILE_STATE_THRESHOLD + 1),
        lambda: JobManagerCheckpointStorage(""),
        lambda: JobManagerCheckpointStorage(None, 0),
    ],
)
def test_wrong_storages(make: Any) -> None:
    with pytest.raises(ConfigurationError, match="CheckpointStorage: "):
        make()


# ---- state backends ----------------------------------------------------------------------------------------


def test_state_backends_set_the_option(env: StreamExecutionEnvironment) -> None:
    env.set_state_backend(HashMapStateBackend())
    assert settings(env)["state.backend.type"] == "hashmap"
    backend = EmbeddedRocksDBStateBackend(enable_incremental_checkpointing=True)
    backend.set_db_storage_paths("/fast/disk")
    assert backend.get_db_storage_paths() == ["/fast/disk"]
    assert backend.is_incremental_checkpoints_enabled()
    env.set_state_backend(backend)
    assert settings(env)["state.backend.type"] == "rocksdb"
    assert settings(env)["execution.checkpointing.incremental"] == "true"
    assert settings(env)["state.backend.rocksdb.localdir"] == "/fast/disk"
    backend.set_db_storage_paths("file:///disk1/db/", "/disk2/db", "file:/disk3")
    assert backend.get_db_storage_paths() == ["/disk1/db", "/disk2/db", "/disk3"]
    env.set_state_backend(backend)
    assert env.get_configuration().get(options.ROCKSDB_LOCAL_DIRS) == ["/disk1/db", "/disk2/db", "/disk3"]
    backend.set_db_storage_paths()
    assert backend.get_db_storage_paths() is None


def test_rocksdb_settings_without_meaning() -> None:
    backend = EmbeddedRocksDBStateBackend()
    assert backend.get_db_storage_paths() is None
    assert not backend.is_incremental_checkpoints_enabled()
    backend.set_predefined_options(PredefinedOptions.DEFAULT)
    with pytest.warns(FiresteelWarning, match="set_predefined_options"):
        backend.set_predefined_options(PredefinedOptions.FLASH_SSD_OPTIMIZED)
    assert backend.get_predefined_options() is PredefinedOptions.FLASH_SSD_OPTIMIZED
    with pytest.warns(FiresteelWarning, match="set_number_of_transfer_threads"):
        backend.set_number_of_transfer_threads(8)
    assert backend.get_number_of_transfer_threads() == 8
    with pytest.raises(UnsupportedError, match="Java"):
        backend.set_options("org.example.Factory")
    assert backend.get_options() is None
    with pytest.raises(ConfigurationError, match="must be"):
        EmbeddedRocksDBStateBackend(1)  # type: ignore[arg-type]
    for path in ("relative", "hdfs://host/x"):
        with pytest.raises(ConfigurationError, match="local directories"):
            backend.set_db_storage_paths("/fine", path)


def test_a_storage_of_ones_own_says_where(env: StreamExecutionEnvironment, config: CheckpointConfig) -> None:
    class Mine(CustomCheckpointStorage):
        def apply_to(self, configuration: Configuration) -> None:
            configuration.set(options.CHECKPOINT_DIR, "file:///mine")

    config.set_checkpoint_storage(Mine())
    assert settings(env)["execution.checkpointing.dir"] == "file:///mine"
    with pytest.raises(UnsupportedError, match="Override apply_to"):
        config.set_checkpoint_storage(CustomCheckpointStorage())
    with pytest.raises(UnsupportedError, match="Java"):
        CustomCheckpointStorage(object())


# ---- slot sharing groups and memory sizes ------------------------------------------------------------------


def test_memory_sizes() -> None:
    size = MemorySize.of_mebi_bytes(2048)
    assert size.get_bytes() == 2**31
    assert (size.get_kibi_bytes(), size.get_mebi_bytes(), size.get_gibi_bytes(), size.get_tebi_bytes()) == (
        2**21,
        2048,
        2,
        0,
    )
    assert MemorySize(bytes_size=5) == MemorySize(5)
    assert MemorySize(5) < MemorySize(6) <= MemorySize(6)
    assert hash(MemorySize(5)) == hash(MemorySize(5))
    assert str(MemorySize(5)) == "5 bytes"
    assert [str(MemorySize(size)) for size in (1000, 2048, 3 * 2**20, 2**30, 2**40)] == [
        "1000 bytes",
        "2 kb",
        "3 mb",
        "1 gb",
        "1 tb",
    ]
    assert MemorySize.of_mebi_bytes(0).get_bytes() == 0
    for wrong in (0, -1):
        with pytest.raises(ConfigurationError, match="MemorySize: bytes_size"):
            MemorySize(wrong)


def test_a_group_keeps_what_it_was_given() -> None:
    with pytest.warns(FiresteelWarning, match="resources of a slot sharing group have no effect"):
        group = (
            SlotSharingGroup.builder("heavy")
            .set_cpu_cores(2)
            .set_task_heap_memory_mb(100)
            .set_task_off_heap_memory_mb(50)
            .set_managed_memory(MemorySize.of_mebi_bytes(7))
            .set_external_resource("gpu", 1)
            .build()
        )
    assert group.get_name() == "heavy"
    assert group.get_cpu_cores() == 2
    assert group.get_task_heap_memory() == MemorySize.of_mebi_bytes(100)
    assert group.get_task_off_heap_memory() == MemorySize.of_mebi_bytes(50)
    assert group.get_managed_memory() == MemorySize.of_mebi_bytes(7)
    assert group.get_external_resources() == {"gpu": 1.0}
    assert group != SlotSharingGroup.builder("heavy").build()
    assert SlotSharingGroup.builder("light").build() == SlotSharingGroup("light")


@pytest.mark.parametrize(
    "make",
    [
        lambda: SlotSharingGroup.builder(""),
        lambda: SlotSharingGroup.builder("g").set_cpu_cores(0),
        lambda: SlotSharingGroup.builder("g").set_task_heap_memory(MemorySize.of_mebi_bytes(0)),
        lambda: SlotSharingGroup.builder("g").set_task_heap_memory(5),  # type: ignore[arg-type]
        lambda: SlotSharingGroup.builder("g").set_cpu_cores(1).build(),
        lambda: SlotSharingGroup.builder("g").set_managed_memory_mb(1).build(),
        lambda: SlotSharingGroup.builder("g").set_external_resource("", 1),
    ],
)
def test_wrong_groups(make: Any) -> None:
    with pytest.raises(ConfigurationError):
        make()
