"""The command ``firesteel``: run programs, look at their plans, at savepoints, and at what is installed."""

from firesteel.cli.main import main

__all__ = ["main"]
