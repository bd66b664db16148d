"""The table of all configuration options.

``python -m firesteel.common.options`` prints the table as the page ``docs/configuration.md``. A key that is
not in the table is an error; a key of Flink that means nothing on this engine is known here too, with the
reason.
"""

from __future__ import annotations

from firesteel.common.options import engine
from firesteel.common.options.engine import *  # noqa: F403
from firesteel.common.options.lookup import OPTIONS, Resolved, find_option, resolve_key

__all__ = ["OPTIONS", "Resolved", "find_option", "resolve_key"]
__all__ += engine.__all__
