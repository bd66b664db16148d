"""Keys of Flink that have no meaning on this engine, each with the reason.

The single options at the top can be read back (ExecutionConfig does); of the others only the prefix is known.
"""

from __future__ import annotations

from dataclasses import dataclass

from firesteel.common.config_options import BooleanValue, ConfigOption, DurationValue

__all__ = ["PREFIX_RULES", "PrefixRule"]

_BOOLEAN = BooleanValue()
_DURATION = DurationValue()

CLOSURE_CLEANER = ConfigOption(
    "pipeline.closure-cleaner.enabled",
    _BOOLEAN,
    True,
    no_meaning="cloudpickle ships only what a function refers to, so there is nothing to clean",
)
FORCE_AVRO = ConfigOption(
    "pipeline.force-avro",
    _BOOLEAN,
    False,
    no_meaning="records travel as pickled Python objects; Avro is a file format here",
)
FORCE_KRYO = ConfigOption(
    "pipeline.force-kryo",
    _BOOLEAN,
    False,
    no_meaning="records travel as pickled Python objects; there is no Kryo",
)
GENERIC_TYPES = ConfigOption(
    "pipeline.generic-types",
    _BOOLEAN,
    True,
    no_meaning="all records are pickled, so generic types are no slower path that one could forbid",
)
ATTACHED = ConfigOption(
    "execution.attached",
    _BOOLEAN,
    True,
    no_meaning="the driver is part of the job: execute() waits for its end, execute_async() does not",
)
LATENCY_INTERVAL = ConfigOption(
    "metrics.latency.interval",
    _DURATION,
    0,
    no_meaning="there are no latency markers; the duration of each epoch is measured instead",
)
SNAPSHOT_COMPRESSION = ConfigOption(
    "execution.checkpointing.snapshot-compression",
    _BOOLEAN,
    False,
    no_meaning="state files are written as they are; use a compressing file system where space matters",
)


@dataclass(frozen=True)
class PrefixRule:
    """All keys that begin with `prefix` have no meaning here, for one reason."""

    prefix: str
    reason: str


_NO_CLUSTER = "there is no Flink cluster; Spark runs the processes (use its own spark.* options)"
_NO_JARS = "user code is Python; there are no JARs to load"
_NO_BRIDGE = "user functions run in the worker itself; there is no bridge between Java and Python to tune"
_NO_BUFFERS = "records move between tasks in chunks, once per epoch; there are no network buffers to flush"
_SPARK_STORAGE = "Spark and fsspec open files, with settings of their own"

PREFIX_RULES: tuple[PrefixRule, ...] = (
    PrefixRule("taskmanager.", _NO_CLUSTER),
    PrefixRule("jobmanager.", _NO_CLUSTER),
    PrefixRule("resourcemanager.", _NO_CLUSTER),
    PrefixRule("slotmanager.", _NO_CLUSTER),
    PrefixRule("slot.", _NO_CLUSTER),
    PrefixRule("cluster.", _NO_CLUSTER),
    PrefixRule("heartbeat.", _NO_CLUSTER),
    PrefixRule("akka.", _NO_CLUSTER),
    PrefixRule("pekko.", _NO_CLUSTER),
    PrefixRule("blob.", _NO_CLUSTER),
    PrefixRule("jobstore.", _NO_CLUSTER),
    PrefixRule("process.", _NO_CLUSTER),
    PrefixRule("env.", _NO_CLUSTER),
    PrefixRule("kubernetes.", _NO_CLUSTER),
    PrefixRule("kubernetes-", _NO_CLUSTER),
    PrefixRule("yarn.", _NO_CLUSTER),
    PrefixRule("scheduler-mode", _NO_CLUSTER),
    PrefixRule("high-availability", "a job that died is started again from its checkpoint directory"),
    PrefixRule("zookeeper.", "nothing here elects a leader"),
    PrefixRule("security.", "Spark authenticates and encrypts (spark.authenticate and others)"),
    PrefixRule("rest.", "there is no JobManager whose REST server this would set up"),
    PrefixRule("web.", "there is no JobManager whose web server this would set up"),
    PrefixRule("historyserver.", "finished jobs stay visible in Spark's own history server"),
    PrefixRule("client.", "the driver is the program itself; there is no client that submits to a cluster"),
    PrefixRule("classloader.", _NO_JARS),
    PrefixRule("pipeline.jars", _NO_JARS),
    PrefixRule("pipeline.classpaths", _NO_JARS),
    PrefixRule("pipeline.cached-files", "ship files with python.archives or python.files"),
    PrefixRule("pipeline.closure-cleaner-level", str(CLOSURE_CLEANER.no_meaning)),
    PrefixRule("pipeline.serialization-config", "register serializers with ExecutionConfig.register_serializer()"),
    PrefixRule("pipeline.default-kryo-serializers", str(FORCE_KRYO.no_meaning)),
    PrefixRule("pipeline.registered-", "classes need no registration to be pickled"),
    PrefixRule("pipeline.vertex-", "plans are described by explain()"),
    PrefixRule("pipeline.watermark-alignment.", "alignment compares whole splits between epochs"),
    PrefixRule("execution.buffer-timeout", _NO_BUFFERS),
    PrefixRule("execution.batch", "an epoch is one Spark job, which spills and retries by Spark's rules"),
    PrefixRule("execution.sorted-inputs.", "BATCH needs no sorted inputs: state per key is kept in memory"),
    PrefixRule("execution.checkpointing.aligned-checkpoint-timeout", "barriers need no alignment"),
    PrefixRule("execution.checkpointing.storage", "follows from execution.checkpointing.dir being set or not"),
    PrefixRule("execution.checkpointing.local-backup", "every host keeps its working copy of the state anyway"),
    PrefixRule("execution.shutdown-on-", _NO_CLUSTER),
    PrefixRule("execution.submit-failed-job", _NO_CLUSTER),
    PrefixRule("python.fn-execution.", _NO_BRIDGE),
    PrefixRule("python.execution-mode", _NO_BRIDGE),
    PrefixRule("python.operator-chaining.", "pipeline.operator-chaining.enabled decides for all operators"),
    PrefixRule("python.metric.", "metrics are always collected, once per epoch"),
    PrefixRule("python.profile.", "profile with the in-process executor and any Python profiler"),
    PrefixRule("python.state.", _NO_BRIDGE),
    PrefixRule("python.map-state.", _NO_BRIDGE),
    PrefixRule("python.systemenv.", "workers inherit the environment of Spark's Python daemon"),
    PrefixRule("python.client.", "the driver is the Python process that runs the program"),
    PrefixRule("python.pythonpath", "put files on the workers' path with python.files"),
    PrefixRule("state.backend.rocksdb.localdir", "local working files go to firesteel.work-dir"),
    PrefixRule("state.backend.rocksdb.", "RocksDB keeps its own defaults here"),
    PrefixRule("state.backend.forst.", "there is no ForSt backend; state.backend.type is hashmap or rocksdb"),
    PrefixRule("state.backend.local-recovery", "every host keeps its working copy of the state anyway"),
    PrefixRule("state.backend.latency-track.", "state access is a call in the same process and is not timed"),
    PrefixRule("state.checkpoint-storage", "follows from execution.checkpointing.dir being set or not"),
    PrefixRule("state.storage.", "state files have one layout whatever their size"),
    PrefixRule("metrics.", "metrics are gathered by the driver with each epoch"),
    PrefixRule("traces.", "there are no trace reporters"),
    PrefixRule("events.", "there are no event reporters"),
    PrefixRule("io.", "local working files go to firesteel.work-dir"),
    PrefixRule("fs.", _SPARK_STORAGE),
    PrefixRule("s3.", "pyarrow opens s3:// with what the environment says; only the options above can be set here"),
    PrefixRule("compiler.", "there is no DataSet optimizer to tune"),
)
"""Looked at in this order, after the single options."""
