"""The options that Firesteel uses. Defaults are Flink's unless the description says otherwise."""

from __future__ import annotations

from firesteel.common.config_options import (
    BooleanValue,
    ConfigOption,
    DurationValue,
    EnumValue,
    ExecutionTargetValue,
    FloatValue,
    IntValue,
    ListValue,
    MapValue,
    MemoryValue,
    PathsValue,
    StateBackendValue,
    StringValue,
)

__all__ = [
    "PARALLELISM",
    "MAX_PARALLELISM",
    "PIPELINE_NAME",
    "RUNTIME_MODE",
    "OPERATOR_CHAINING",
    "AUTO_WATERMARK_INTERVAL",
    "SORT_MEMORY",
    "OBJECT_REUSE",
    "AUTO_GENERATE_UIDS",
    "GLOBAL_JOB_PARAMETERS",
    "EXECUTION_TARGET",
    "MASTER",
    "EPOCH_MAX_RECORDS",
    "EPOCH_MAX_BYTES",
    "EPOCH_TARGET_DURATION",
    "EPOCH_BACKLOG_DURATION",
    "CHUNK_MAX_RECORDS",
    "EXCHANGE",
    "DIRECT_WINDOW",
    "DIRECT_PORTS",
    "DIRECT_START_TIMEOUT",
    "S3_ACCESS_KEY",
    "S3_ENDPOINT",
    "S3_REGION",
    "S3_SECRET_KEY",
    "WORK_DIR",
    "PROGRESS",
    "EVENTS_DIR",
    "EVENTS_INTERVAL",
    "EVENTS_MAX_SIZE",
    "REST_PORT",
    "REST_BIND_ADDRESS",
    "REST_TOKEN",
    "REST_ALLOWED_HOSTS",
    "REST_UPLOAD_DIR",
    "WEB_SUBMIT",
    "ARCHIVE_DIR",
    "METRICS_REPORTERS",
    "METRICS_REPORTER",
    "SCOPE_DELIMITER",
    "SCOPE_JM_JOB",
    "SCOPE_JM_OPERATOR",
    "SCOPE_TASK",
    "SCOPE_OPERATOR",
    "DATASET_MEMORY",
    "CANCELLATION_INTERVAL",
    "CANCELLATION_TIMEOUT",
    "PYTHON_FILES",
    "PYTHON_REQUIREMENTS",
    "PYTHON_ARCHIVES",
    "PYTHON_EXECUTABLE",
    "PYTHON_LOGGING_LEVEL",
    "PYTHON_LOGGING_LEVELS",
    "LIB_DIR",
    "CHECKPOINT_INTERVAL",
    "CHECKPOINT_MODE",
    "CHECKPOINT_DIR",
    "SAVEPOINT_DIR",
    "CHECKPOINT_RETAINED",
    "CHECKPOINT_TIMEOUT",
    "CHECKPOINT_MIN_PAUSE",
    "CHECKPOINT_MAX_CONCURRENT",
    "CHECKPOINT_TOLERABLE_FAILURES",
    "SINK_COMMITTER_RETRIES",
    "CHECKPOINT_RETENTION",
    "CHECKPOINT_UNALIGNED",
    "CHECKPOINT_INCREMENTAL",
    "CHECKPOINT_MAX_SIZE",
    "RECOVERY_PATH",
    "RECOVERY_IGNORE_UNCLAIMED",
    "RECOVERY_CLAIM_MODE",
    "STATE_BACKEND",
    "ROCKSDB_MEMORY",
    "ROCKSDB_LOCAL_DIRS",
    "RESTART_STRATEGY",
    "FIXED_DELAY_ATTEMPTS",
    "FIXED_DELAY_DELAY",
    "FAILURE_RATE_MAX",
    "FAILURE_RATE_INTERVAL",
    "FAILURE_RATE_DELAY",
    "EXPONENTIAL_INITIAL",
    "EXPONENTIAL_MAX",
    "EXPONENTIAL_MULTIPLIER",
    "EXPONENTIAL_RESET",
    "EXPONENTIAL_JITTER",
    "EXPONENTIAL_ATTEMPTS",
]

_TEXT = StringValue()
_BOOLEAN = BooleanValue()
_DURATION = DurationValue()
_COUNT = IntValue(minimum=0)
_POSITIVE = IntValue(minimum=1)
_NUMBER = FloatValue()
_LIST = ListValue()

# --- program -----------------------------------------------------------------------------------

_GROUP = "Program"

PARALLELISM = ConfigOption(
    "parallelism.default",
    _POSITIVE,
    None,
    "Parallelism of operators that set none; none means the number of cores Spark has.",
    _GROUP,
)
MAX_PARALLELISM = ConfigOption(
    "pipeline.max-parallelism",
    IntValue(minimum=-1),
    -1,
    "Number of key groups, the upper bound of any later rescaling; -1 means 128.",
    _GROUP,
)
PIPELINE_NAME = ConfigOption("pipeline.name", _TEXT, None, "Name of the job.", _GROUP)
RUNTIME_MODE = ConfigOption(
    "execution.runtime-mode",
    EnumValue(("STREAMING", "BATCH", "AUTOMATIC")),
    "STREAMING",
    "Emit results as they arise, or only final ones, key after key, when all of a bounded input has come.",
    _GROUP,
)
OPERATOR_CHAINING = ConfigOption(
    "pipeline.operator-chaining.enabled",
    _BOOLEAN,
    True,
    "Run operators that are joined by forward edges as one.",
    _GROUP,
    aliases=("pipeline.operator-chaining",),
)
AUTO_WATERMARK_INTERVAL = ConfigOption(
    "pipeline.auto-watermark-interval",
    _DURATION,
    200,
    "How often periodic watermark generators are asked, at the end of epochs; 0 means never. Unless it is set, they "
    "are asked after every batch of records.",
    _GROUP,
)
SORT_MEMORY = ConfigOption(
    "execution.sorted-inputs.memory",
    MemoryValue(),
    128 * 2**20,
    "In BATCH mode: how much of the input of a keyed operator a subtask keeps in memory; beyond that it is sorted on "
    "disk.",
    _GROUP,
)
OBJECT_REUSE = ConfigOption(
    "pipeline.object-reuse",
    _BOOLEAN,
    False,
    "Hand records to chained operators as they are instead of copies: quicker, for functions that neither change their "
    "input nor keep it.",
    _GROUP,
)
AUTO_GENERATE_UIDS = ConfigOption(
    "pipeline.auto-generate-uids",
    _BOOLEAN,
    True,
    "Whether operators without a uid get one; if not, each operator must set its own.",
    _GROUP,
)
GLOBAL_JOB_PARAMETERS = ConfigOption(
    "pipeline.global-job-parameters", MapValue(), None, "Parameters that every function can read.", _GROUP
)

# --- execution ---------------------------------------------------------------------------------

_GROUP = "Execution"

EXECUTION_TARGET = ConfigOption(
    "execution.target",
    ExecutionTargetValue(),
    "spark",
    "Run on Spark, or in the driver's own process, where debuggers stop at breakpoints.",
    _GROUP,
)
MASTER = ConfigOption(
    "firesteel.master",
    _TEXT,
    None,
    "Spark master to run on where no SparkSession is given or running; none means what spark-submit or Spark's own "
    "configuration says, else `local[*]`.",
    _GROUP,
)
EPOCH_MAX_RECORDS = ConfigOption(
    "firesteel.epoch.max-records",
    _POSITIVE,
    2_000_000,
    "How many records one source subtask reads in one epoch at most.",
    _GROUP,
)
EPOCH_MAX_BYTES = ConfigOption(
    "firesteel.epoch.max-bytes",
    MemoryValue(),
    256 * 2**20,
    "A source subtask stops reading for this epoch when it has so many bytes ready for other tasks. Looked at each "
    "firesteel.chunk.max-records records.",
    _GROUP,
)
EPOCH_TARGET_DURATION = ConfigOption(
    "firesteel.epoch.target-duration",
    _DURATION,
    1000,
    "How long an epoch should take; sources read as much as the job gets done in that time.",
    _GROUP,
)
EPOCH_BACKLOG_DURATION = ConfigOption(
    "firesteel.epoch.backlog-duration",
    _DURATION,
    None,
    "The same while a job has a backlog, so that the fixed cost of an epoch is paid less often; none means three times "
    "the target duration. Never longer than the checkpoint interval, nor shorter than the target duration.",
    _GROUP,
)
CHUNK_MAX_RECORDS = ConfigOption(
    "firesteel.chunk.max-records", _POSITIVE, 4096, "How many records are pickled together at most.", _GROUP
)
EXCHANGE = ConfigOption(
    "firesteel.exchange",
    EnumValue(("shuffle", "direct")),
    "shuffle",
    "How subtasks exchange records. shuffle: each epoch is a Spark job, with a shuffle between levels. direct: one "
    "long-running Spark job holds the slot processes, which send chunks to each other; records take milliseconds.",
    _GROUP,
)
DIRECT_WINDOW = ConfigOption(
    "firesteel.direct.window",
    MemoryValue(),
    1 << 20,
    "With direct exchange: how many bytes may wait in one slot process for one level, from each other slot process. A "
    "sender that finds it full waits, and so in the end do the sources.",
    _GROUP,
)
DIRECT_PORTS = ConfigOption(
    "firesteel.direct.ports",
    _TEXT,
    "0",
    "With direct exchange on a cluster: the ports on which driver and slot processes listen, as one number, or a range "
    "such as 50100-50200 of which each takes one that is free. 0 means any port. Local mode uses the loopback only.",
    _GROUP,
)
DIRECT_START_TIMEOUT = ConfigOption(
    "firesteel.direct.start-timeout",
    _DURATION,
    60_000,
    "With direct exchange: how long to wait for a free core on every executor, and for the slot processes there.",
    _GROUP,
)
WORK_DIR = ConfigOption(
    "firesteel.work-dir",
    _TEXT,
    None,
    "Directory for local working files on every host; none means the system's temporary directory.",
    _GROUP,
)
S3_ENDPOINT = ConfigOption(
    "s3.endpoint",
    _TEXT,
    None,
    "URL of the S3 server for s3:// paths; none means AWS_ENDPOINT_URL of the environment, or Amazon's.",
    _GROUP,
)
S3_ACCESS_KEY = ConfigOption(
    "s3.access-key",
    _TEXT,
    None,
    "Access key for s3:// paths; none means what the environment says, in the way of AWS's tools.",
    _GROUP,
)
S3_SECRET_KEY = ConfigOption("s3.secret-key", _TEXT, None, "Secret key for s3:// paths, with s3.access-key.", _GROUP)
S3_REGION = ConfigOption(
    "s3.endpoint.region",
    _TEXT,
    None,
    "Region for s3:// paths; none means AWS_REGION of the environment, or that of the bucket.",
    _GROUP,
)
PROGRESS = ConfigOption(
    "firesteel.progress",
    _BOOLEAN,
    None,
    "Show progress on standard error while jobs run; none means: on a terminal, for jobs that take some seconds.",
    _GROUP,
)
EVENTS_DIR = ConfigOption(
    "firesteel.events.dir",
    _TEXT,
    None,
    "Where event logs of jobs go, in a folder 'events'; none means beside the checkpoints of jobs that take some "
    "into execution.checkpointing.dir, and nowhere for others.",
    _GROUP,
)
EVENTS_INTERVAL = ConfigOption(
    "firesteel.events.interval",
    _DURATION,
    5000,
    "How often the numbers of all subtasks are written to the event log.",
    _GROUP,
)
EVENTS_MAX_SIZE = ConfigOption(
    "firesteel.events.max-size",
    MemoryValue(),
    64 << 20,
    "About how long a job's event log may become; then its middle is deleted, part by part.",
    _GROUP,
)
REST_PORT = ConfigOption(
    "rest.port",
    _COUNT,
    None,
    "Port of the REST API in the driver of jobs; 0 takes any free one. Unlike Flink's it has no default: none means "
    "that there is no REST API.",
    _GROUP,
    aliases=("web.port",),
)
REST_BIND_ADDRESS = ConfigOption(
    "rest.bind-address",
    _TEXT,
    None,
    "Address on which the REST API listens; none means the loopback. One that other machines reach needs "
    "firesteel.rest.token.",
    _GROUP,
    aliases=("web.address", "jobmanager.web.address"),
)
REST_TOKEN = ConfigOption(
    "firesteel.rest.token",
    _TEXT,
    None,
    "What requests to the REST API have to show: 'Authorization: Bearer TOKEN', or TOKEN as the password.",
    _GROUP,
)
REST_ALLOWED_HOSTS = ConfigOption(
    "firesteel.rest.allowed-hosts",
    _LIST,
    None,
    "Names by which the REST API may be called beside this machine's; a proxy's name for instance.",
    _GROUP,
)
REST_UPLOAD_DIR = ConfigOption(
    "web.upload.dir",
    _TEXT,
    None,
    "Where programs that are handed in over the REST API are kept, with what their runs write; none means a temporary "
    "directory.",
    _GROUP,
    aliases=("jobmanager.web.upload.dir",),
)
WEB_SUBMIT = ConfigOption(
    "web.submit.enable",
    _BOOLEAN,
    False,
    "Take programs over the REST API and run them. Unlike in Flink it is off by default: whoever reaches the API may "
    "then run any code.",
    _GROUP,
    aliases=("jobmanager.web.submit.enable",),
)
ARCHIVE_DIR = ConfigOption(
    "jobmanager.archive.fs.dir",
    _TEXT,
    None,
    "Where jobs that have ended are archived in the form that Flink's history server reads; needs firesteel[rest].",
    _GROUP,
)
METRICS_REPORTERS = ConfigOption(
    "metrics.reporters",
    _TEXT,
    None,
    "Names of the metric reporters to use, with commas; none means all that metrics.reporter.* sets up.",
    _GROUP,
)
METRICS_REPORTER = ConfigOption(
    "metrics.reporter",
    MapValue(),
    None,
    "Metric reporters by name: metrics.reporter.NAME.factory.class is prometheus, prometheus-push, statsd, graphite, "
    "influxdb, datadog, otlp, ganglia, jmx or log, one of Flink's factories of these, or one of your own; "
    "metrics.reporter.NAME.interval (10 s) and the reporter's own settings stand beside it.",
    _GROUP,
)
SCOPE_DELIMITER = ConfigOption(
    "metrics.scope.delimiter", _TEXT, ".", "What stands between the parts of a metric's identifier.", _GROUP
)
SCOPE_JM_JOB = ConfigOption(
    "metrics.scope.jm-job",
    _TEXT,
    "<host>.jobmanager.<job_name>",
    "The beginning of identifiers of a job's metrics.",
    _GROUP,
    aliases=("metrics.scope.jm.job",),
)
SCOPE_JM_OPERATOR = ConfigOption(
    "metrics.scope.jm-operator",
    _TEXT,
    "<host>.jobmanager.<job_name>.<operator_name>",
    "The beginning of identifiers of metrics of operators' halves in the driver.",
    _GROUP,
)
SCOPE_TASK = ConfigOption(
    "metrics.scope.task",
    _TEXT,
    "<host>.taskmanager.<tm_id>.<job_name>.<task_name>.<subtask_index>",
    "The beginning of identifiers of a subtask's metrics.",
    _GROUP,
)
SCOPE_OPERATOR = ConfigOption(
    "metrics.scope.operator",
    _TEXT,
    "<host>.taskmanager.<tm_id>.<job_name>.<operator_name>.<subtask_index>",
    "The beginning of identifiers of an operator's metrics.",
    _GROUP,
)
DATASET_MEMORY = ConfigOption(
    "firesteel.dataset.memory",
    MemoryValue(),
    256 << 20,
    "How much a task of a DataSet program holds in memory, counted in bytes of pickled records, before it goes on "
    "on disk.",
    _GROUP,
)
CANCELLATION_TIMEOUT = ConfigOption(
    "task.cancellation.timeout",
    _DURATION,
    180_000,
    "How long a function that is busy may take to notice that its job was cancelled; then its process is killed. 0 "
    "means that it may take for ever.",
    _GROUP,
)
CANCELLATION_INTERVAL = ConfigOption(
    "task.cancellation.interval",
    _DURATION,
    30_000,
    "How often a function that is still busy is told again that its job was cancelled.",
    _GROUP,
    aliases=("task.cancellation-interval",),
)

# --- Python ------------------------------------------------------------------------------------

_GROUP = "Python dependencies"

PYTHON_FILES = ConfigOption(
    "python.files", _LIST, None, "Python files, packages and directories to put on the workers' path.", _GROUP
)
PYTHON_REQUIREMENTS = ConfigOption(
    "python.requirements",
    _TEXT,
    None,
    "A requirements.txt to install on the workers, with `#` and a directory of packages if offline.",
    _GROUP,
)
PYTHON_ARCHIVES = ConfigOption(
    "python.archives",
    _LIST,
    None,
    "Archives to unpack on the workers, each with `#` and a directory name.",
    _GROUP,
)
PYTHON_EXECUTABLE = ConfigOption(
    "python.executable", _TEXT, None, "Python of the workers; none means the driver's.", _GROUP
)
PYTHON_LOGGING_LEVEL = ConfigOption(
    "python.logging.default.level",
    EnumValue(("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"), {"WARN": "WARNING", "FATAL": "CRITICAL"}),
    "INFO",
    "What functions log with Python's `logging` is shown from this level on.",
    _GROUP,
)
PYTHON_LOGGING_LEVELS = ConfigOption(
    "python.logging.level.overrides",
    MapValue(),
    None,
    "Other levels for single loggers, such as `{my.module: DEBUG}`.",
    _GROUP,
)
LIB_DIR = ConfigOption(
    "firesteel.lib-dir",
    _TEXT,
    None,
    "A folder of modules that is on every host already, for all jobs; warns that it is shared.",
    _GROUP,
)

# --- checkpoints -------------------------------------------------------------------------------

_GROUP = "Checkpoints and savepoints"

CHECKPOINT_INTERVAL = ConfigOption(
    "execution.checkpointing.interval",
    _DURATION,
    None,
    "How often a checkpoint is made; none means never.",
    _GROUP,
)
CHECKPOINT_MODE = ConfigOption(
    "execution.checkpointing.mode",
    EnumValue(("EXACTLY_ONCE", "AT_LEAST_ONCE")),
    "EXACTLY_ONCE",
    "Guarantee after a recovery. AT_LEAST_ONCE changes nothing here: barriers cost no alignment.",
    _GROUP,
)
CHECKPOINT_DIR = ConfigOption(
    "execution.checkpointing.dir",
    _TEXT,
    None,
    "Where checkpoints are written; none keeps them with the driver, for its lifetime.",
    _GROUP,
    aliases=("state.checkpoints.dir", "state.backend.fs.checkpointdir"),
)
SAVEPOINT_DIR = ConfigOption(
    "execution.checkpointing.savepoint-dir",
    _TEXT,
    None,
    "Where savepoints go that name no place.",
    _GROUP,
    aliases=("state.savepoints.dir", "savepoints.state.backend.fs.dir"),
)
CHECKPOINT_RETAINED = ConfigOption(
    "execution.checkpointing.num-retained",
    _POSITIVE,
    1,
    "How many completed checkpoints are kept.",
    _GROUP,
    aliases=("state.checkpoints.num-retained",),
)
CHECKPOINT_TIMEOUT = ConfigOption(
    "execution.checkpointing.timeout", _DURATION, 600_000, "After how long a checkpoint is given up.", _GROUP
)
CHECKPOINT_MIN_PAUSE = ConfigOption(
    "execution.checkpointing.min-pause",
    _DURATION,
    0,
    "Time between the end of one checkpoint and the next.",
    _GROUP,
)
CHECKPOINT_MAX_CONCURRENT = ConfigOption(
    "execution.checkpointing.max-concurrent-checkpoints",
    _POSITIVE,
    1,
    "How many may be under way at once.",
    _GROUP,
)
CHECKPOINT_TOLERABLE_FAILURES = ConfigOption(
    "execution.checkpointing.tolerable-failed-checkpoints",
    _COUNT,
    0,
    "How many checkpoints in a row may fail before the job does.",
    _GROUP,
)
SINK_COMMITTER_RETRIES = ConfigOption(
    "sink.committer.retries",
    _COUNT,
    10,
    "How often a sink may put off committing its output, a second at a time, before the job fails.",
    _GROUP,
)
CHECKPOINT_RETENTION = ConfigOption(
    "execution.checkpointing.externalized-checkpoint-retention",
    EnumValue(("NO_EXTERNALIZED_CHECKPOINTS", "RETAIN_ON_CANCELLATION", "DELETE_ON_CANCELLATION")),
    "NO_EXTERNALIZED_CHECKPOINTS",
    "What becomes of the checkpoints of a cancelled job.",
    _GROUP,
)
CHECKPOINT_UNALIGNED = ConfigOption(
    "execution.checkpointing.unaligned.enabled",
    _BOOLEAN,
    False,
    "Accepted, and always true in effect: no record is in flight at a barrier.",
    _GROUP,
    aliases=("execution.checkpointing.unaligned",),
)
CHECKPOINT_INCREMENTAL = ConfigOption(
    "execution.checkpointing.incremental",
    _BOOLEAN,
    False,
    "Write only what changed since the last one.",
    _GROUP,
    aliases=("state.backend.incremental",),
)
CHECKPOINT_MAX_SIZE = ConfigOption(
    "firesteel.checkpoint.max-size",
    MemoryValue(),
    None,
    "A checkpoint that writes more than this fails; none means no limit. MemoryStateBackend sets it.",
    _GROUP,
)
RECOVERY_PATH = ConfigOption(
    "execution.state-recovery.path",
    _TEXT,
    None,
    "Savepoint or checkpoint to start from.",
    _GROUP,
    aliases=("execution.savepoint.path",),
)
RECOVERY_IGNORE_UNCLAIMED = ConfigOption(
    "execution.state-recovery.ignore-unclaimed-state",
    _BOOLEAN,
    False,
    "Start although some stored state fits no operator of the program.",
    _GROUP,
    aliases=("execution.savepoint.ignore-unclaimed-state",),
)
RECOVERY_CLAIM_MODE = ConfigOption(
    "execution.state-recovery.claim-mode",
    EnumValue(("NO_CLAIM", "CLAIM"), {"LEGACY": "NO_CLAIM"}),
    "NO_CLAIM",
    "Whether the job may delete what it was started from.",
    _GROUP,
    aliases=("execution.savepoint-restore-mode",),
)

# --- state -------------------------------------------------------------------------------------

_GROUP = "State"

STATE_BACKEND = ConfigOption(
    "state.backend.type",
    StateBackendValue(),
    "hashmap",
    "Where working state lives: in memory (hashmap), in memory and on local disk (rocksdb), or in a backend of one's "
    "own (module:Class).",
    _GROUP,
    aliases=("state.backend",),
)
ROCKSDB_MEMORY = ConfigOption(
    "state.backend.rocksdb.memory.fixed-per-slot",
    MemoryValue(),
    512 * 2**20,
    "Memory for the state of one slot with the rocksdb backend: three quarters for objects, the rest for RocksDB.",
    _GROUP,
)
ROCKSDB_LOCAL_DIRS = ConfigOption(
    "state.backend.rocksdb.localdir",
    PathsValue(),
    None,
    "Directories for the files of the rocksdb backend, on every host, such as one per disk: operators take them in "
    "turn. None means firesteel.work-dir.",
    _GROUP,
)

# --- restarts ----------------------------------------------------------------------------------

_GROUP = "Restarts"

RESTART_STRATEGY = ConfigOption(
    "restart-strategy.type",
    EnumValue(
        ("none", "off", "disable", "fixed-delay", "failure-rate", "exponential-delay"),
        {"fixeddelay": "fixed-delay", "failurerate": "failure-rate", "exponentialdelay": "exponential-delay"},
    ),
    None,
    "What happens when a job fails; if not set, exponential-delay with checkpoints, else no restart.",
    _GROUP,
    aliases=("restart-strategy",),
)
FIXED_DELAY_ATTEMPTS = ConfigOption(
    "restart-strategy.fixed-delay.attempts", _COUNT, 1, "How many restarts before the job fails.", _GROUP
)
FIXED_DELAY_DELAY = ConfigOption(
    "restart-strategy.fixed-delay.delay", _DURATION, 1000, "Wait before each restart.", _GROUP
)
FAILURE_RATE_MAX = ConfigOption(
    "restart-strategy.failure-rate.max-failures-per-interval",
    _POSITIVE,
    1,
    "How many failures in one interval are restarted.",
    _GROUP,
)
FAILURE_RATE_INTERVAL = ConfigOption(
    "restart-strategy.failure-rate.failure-rate-interval",
    _DURATION,
    60_000,
    "Length of that interval.",
    _GROUP,
)
FAILURE_RATE_DELAY = ConfigOption(
    "restart-strategy.failure-rate.delay", _DURATION, 1000, "Wait before each restart.", _GROUP
)
EXPONENTIAL_INITIAL = ConfigOption(
    "restart-strategy.exponential-delay.initial-backoff",
    _DURATION,
    1000,
    "Wait before the first restart.",
    _GROUP,
)
EXPONENTIAL_MAX = ConfigOption(
    "restart-strategy.exponential-delay.max-backoff", _DURATION, 60_000, "Longest wait.", _GROUP
)
EXPONENTIAL_MULTIPLIER = ConfigOption(
    "restart-strategy.exponential-delay.backoff-multiplier",
    _NUMBER,
    1.5,
    "Growth of the wait per failure.",
    _GROUP,
)
EXPONENTIAL_RESET = ConfigOption(
    "restart-strategy.exponential-delay.reset-backoff-threshold",
    _DURATION,
    3_600_000,
    "After so long without failure the wait is the first one again.",
    _GROUP,
)
EXPONENTIAL_JITTER = ConfigOption(
    "restart-strategy.exponential-delay.jitter-factor",
    _NUMBER,
    0.1,
    "Part of the wait that is left to chance.",
    _GROUP,
)
EXPONENTIAL_ATTEMPTS = ConfigOption(
    "restart-strategy.exponential-delay.attempts-before-reset-backoff",
    _COUNT,
    None,
    "How many restarts without such a quiet time before the job fails; none means any number.",
    _GROUP,
)
