"""What the environment says about the whole job."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from firesteel.state.key_groups import DEFAULT_MAX_PARALLELISM


@dataclass(frozen=True)
class CompileSettings:
    """What the environment says about the whole job."""

    job_name: str
    default_parallelism: int
    max_parallelism: int = DEFAULT_MAX_PARALLELISM
    chaining: bool = True
    batch_mode: bool = False
    job_parameters: dict[str, str] = field(default_factory=dict)
    serializers: tuple[tuple[type, Any], ...] = ()
    cached_files: dict[str, str] = field(default_factory=dict)
