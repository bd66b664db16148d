"""What workers are told about a job beside its chains."""

from __future__ import annotations

from dataclasses import dataclass, field

from firesteel.state.choice import BackendChoice
from firesteel.state.file_systems import S3Access


@dataclass(frozen=True)
class WorkerSettings:
    """The settings of a job that its workers need, read from the configuration once, in the driver."""

    batch_mode: bool = False
    job_parameters: dict[str, str] = field(default_factory=dict)
    chunk_records: int = 4096
    """How many records a batch, and a chunk that travels, has at the most."""
    epoch_bytes: int = 64 << 20
    """Sources stop reading when so many bytes wait to be sent."""
    object_reuse: bool = False
    """Whether operators hand records on as they are, not as copies."""
    auto_watermark_interval: int | None = None
    """How often periodic watermark generators are asked, in milliseconds: 0 never, None after every batch."""
    sort_memory: int = 64 << 20
    """How many bytes the sorted input of a keyed operator takes in memory, in BATCH mode."""
    work_directory: str | None = None
    """Where local working files go; None means the system's temporary directory."""
    main_classes: bytes = b""
    """Pickled by value: the classes of the program's ``__main__``, so that plain pickle finds them in workers."""
    serializers: bytes = b""
    """Pickled: the user's serializers by class."""
    cached_files: dict[str, str] = field(default_factory=dict)
    """Registered files: where they are on the driver's host, by name."""
    backend: BackendChoice = field(default_factory=BackendChoice)
    """Where keyed state lives."""
    s3: S3Access = field(default_factory=S3Access)
    """How s3:// is reached."""
    pyflink_names: bool = False
    """Whether the program, and what it imports in the workers, says ``import pyflink``."""
    log_level: str = "INFO"
    """What functions log is shown from this level on."""
    log_levels: dict[str, str] = field(default_factory=dict)
    """Other levels of single loggers."""
