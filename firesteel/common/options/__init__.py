"""The table of all configuration options.

``python -m firesteel.common.options`` prints the table as the page ``docs/configuration.md``. A key of Flink that
means nothing on this engine is known here too, with the reason. Any other key is the user's own, and only warned about
when it is nearly one of these.
"""

from __future__ import annotations

from firesteel.common.options import engine
from firesteel.common.options.engine import *  # noqa: F403
from firesteel.common.options.lookup import OPTIONS, Resolved, find_option, names_of, resolve_key

__all__ = ["OPTIONS", "Resolved", "find_option", "names_of", "resolve_key"]
__all__ += engine.__all__
