"""Keys of Flink that have no meaning on this engine, each with the reason.

The single options at the top can be read back (ExecutionConfig does). For the others there is a rule per family of
keys; that each key of Flink (:mod:`firesteel.common.options.flink_table`) has a meaning or a rule is tested.
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


def _rules(reason: str, *prefixes: str) -> tuple[PrefixRule, ...]:
    return tuple(PrefixRule(prefix, reason) for prefix in prefixes)


PREFIX_RULES: tuple[PrefixRule, ...] = (
    *_rules(
        "there is no Flink cluster; Spark runs the processes (use its own spark.* options)",
        "akka.",
        "application-result-store.",
        "blob.",
        "cleanup-strategy",
        "cluster.",
        "completed-application-store.",
        "containerized.",
        "env.",
        "execution.program-config.",
        "execution.allow-client-job-configurations",
        "execution.shutdown-on-",
        "execution.submit-failed-job",
        "execution.terminate-application-",
        "external-resource",
        "flink.hadoop.",
        "flink.yarn.",
        "heartbeat.",
        "job-event.",
        "job-manager.",
        "job-result-store.",
        "jobmanager.",
        "jobstore.",
        "kubernetes-",
        "kubernetes.",
        "library-cache-manager.",
        "local.number-taskmanager",
        "minicluster.",
        "pekko.",
        "process.",
        "resourcemanager.",
        "scheduler-mode",
        "shuffle-service-factory.",
        "slot.",
        "slotmanager.",
        "taskmanager.",
        "yarn.",
    ),
    *_rules("a job that died is started again from its checkpoint directory", "high-availability", "recovery."),
    *_rules("nothing here elects a leader", "zookeeper."),
    *_rules("Spark authenticates and encrypts (spark.authenticate and others)", "security."),
    *_rules("of the REST server, which is in the driver, only the options above can be set", "rest.", "web."),
    *_rules("finished jobs stay visible in Spark's own history server", "historyserver."),
    *_rules("the driver is the program itself; there is no client that submits to a cluster", "client."),
    *_rules(
        "user code is Python; there are no JARs to load",
        "classloader.",
        "pipeline.classpaths",
        "pipeline.jars",
        "plugin.",
        "user.artifacts.",
    ),
    *_rules("listeners are Java classes; ask the JobClient of execute_async() instead", "execution.job-"),
    *_rules("ship files with env.register_cached_file(), python.archives or python.files", "pipeline.cached-files"),
    *_rules(str(CLOSURE_CLEANER.no_meaning), "pipeline.closure-cleaner-level"),
    *_rules("register serializers with ExecutionConfig.register_serializer()", "pipeline.serialization-config"),
    *_rules(str(FORCE_KRYO.no_meaning), "pipeline.default-kryo-serializers"),
    *_rules(str(FORCE_AVRO.no_meaning), "pipeline.force-kryo-avro"),
    *_rules("classes need no registration to be pickled", "pipeline.registered-"),
    *_rules("plans are described by explain()", "pipeline.vertex-"),
    *_rules("set the parallelism of an operator in the program, with set_parallelism()", "pipeline.jobvertex-"),
    *_rules(
        "operators with different max parallelism are chained in any case: key groups concern shuffles only",
        "pipeline.operator-chaining.chain-operators-with-different-max-parallelism",
    ),
    *_rules("sources read from the first epoch on", "pipeline.sources."),
    *_rules("a pattern keeps its events in the state backend, which has a cache of its own", "pipeline.cep."),
    *_rules("alignment compares whole splits between epochs", "pipeline.watermark-alignment."),
    *_rules(
        "records move between tasks in chunks, once per epoch; there are no network buffers to flush",
        "execution.buffer-timeout",
    ),
    *_rules(
        "an epoch is one Spark job, which spills and retries by Spark's rules (spark.speculation, spark.memory.*)",
        "execution.batch",
        "execution.sort-",
        "slow-task-detector.",
    ),
    *_rules(
        "the input of a keyed operator is always sorted in BATCH mode: it works on one key after the other",
        "execution.sorted-inputs.",
    ),
    *_rules("state access is a call in the same process and need not be asynchronous", "execution.async-state."),
    *_rules(
        "at a barrier, the end of an epoch, no record is under way and nothing needs alignment",
        "execution.checkpointing.aligned-checkpoint-timeout",
        "execution.checkpointing.alignment-timeout",
        "execution.checkpointing.during-recovery.",
        "execution.checkpointing.recover-without-channel-state.",
        "execution.checkpointing.unaligned.",
        "execution.state-recovery.without-channel-state.",
    ),
    *_rules(
        "follows from execution.checkpointing.dir being set or not",
        "execution.checkpointing.storage",
        "state.checkpoint-storage",
    ),
    *_rules(
        "every host keeps its working copy of the state anyway",
        "execution.checkpointing.local-backup",
        "execution.checkpointing.approximate-local-recovery",
        "execution.state-recovery.approximate-local-recovery",
        "execution.state-recovery.from-local",
        "state.backend.local-recovery",
    ),
    *_rules(
        "state files have one layout whatever their size",
        "execution.checkpointing.data-inline-threshold",
        "execution.checkpointing.file-merging.",
        "execution.checkpointing.write-buffer-size",
        "state.backend.fs.",
        "state.storage.",
    ),
    *_rules(
        "old checkpoints are deleted by the driver, one after the other",
        "execution.checkpointing.cleaner.",
        "state.checkpoint.cleaner.",
    ),
    *_rules(
        "the directory belongs to one job and is used as it is",
        "execution.checkpointing.create-subdir",
        "state.checkpoints.create-subdir",
    ),
    *_rules("checkpoints go on when a source has ended", "execution.checkpointing.checkpoints-after-tasks-finish"),
    *_rules("no source says that it works off a backlog", "execution.checkpointing.interval-during-backlog"),
    *_rules(
        "user functions run in the worker itself; there is no bridge between Java and Python to tune",
        "python.execution-mode",
        "python.fn-execution.",
        "python.loopback-server.",
        "python.map-state.",
        "python.state.",
    ),
    *_rules("pass parameters with pipeline.global-job-parameters", "python.job-options"),
    *_rules("pipeline.operator-chaining.enabled decides for all operators", "python.operator-chaining."),
    *_rules("metrics are always collected, once per epoch", "python.metric."),
    *_rules("profile with the in-process executor and any Python profiler", "python.profile."),
    *_rules("workers inherit the environment of Spark's Python daemon", "python.systemenv."),
    *_rules("the driver is the Python process that runs the program", "python.client."),
    *_rules("put files on the workers' path with python.files", "python.pythonpath"),
    *_rules("RocksDB keeps its own defaults here", "state.backend.rocksdb."),
    *_rules("there is no ForSt backend; state.backend.type is hashmap or rocksdb", "state.backend.forst."),
    *_rules(
        "checkpoints write only what changed; there is no changelog beside them",
        "dstl.",
        "state.backend.changelog.",
        "state.changelog.",
    ),
    *_rules(
        "state access is a call in the same process and is neither timed nor measured",
        "state.backend.latency-track.",
        "state.latency-track.",
        "state.size-track.",
    ),
    *_rules("savepoints answer questions about state (firesteel.state_processor)", "query.", "queryable-state."),
    *_rules("metrics are gathered by the driver with each epoch, and reported by metrics.reporter.*", "metrics."),
    *_rules("there are no reporters of traces and events", "events.", "traces."),
    *_rules("there is no JMX server in a worker", "jmx."),
    *_rules("local working files go to firesteel.work-dir", "io."),
    *_rules("Spark, pyarrow and fsspec open files, with settings of their own", "fs.", "gs."),
    *_rules("pyarrow opens s3:// with what the environment says; only the options above can be set here", "s3."),
    *_rules("results are collected by the driver with each epoch", "collect-sink."),
    *_rules("a source is read within its epoch; there is no queue between threads", "source.reader."),
    *_rules("a timer that is running when its job is cancelled ends with its process", "task.cancellation.timers."),
    *_rules("a timer that is running when its job is cancelled ends with its process", "timerservice."),
    *_rules("there is no DataSet optimizer to tune", "compiler."),
    *_rules(
        "there are no materialized tables, and SQL is run by the program itself",
        "materialized-table.",
        "sql-client.",
        "sql-gateway.",
        "workflow-scheduler.",
    ),
    *_rules("of the options of tables only those above are used", "table."),
)
"""Looked at in this order, after the single options."""
