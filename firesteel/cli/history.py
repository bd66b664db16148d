"""``firesteel history``: jobs of the past, and of other processes, over REST; and their archives for Flink."""

from __future__ import annotations

import argparse
import importlib
import sys
from typing import Any

from firesteel.errors import ConfigurationError
from firesteel.events import job_logs

__all__ = ["add_command"]

DEFAULT_PORT = 8082
"""That of Flink's history server."""
_DESCRIPTION = """\
Serve the REST API over the event logs of jobs, whether they have ended or still run elsewhere: to be looked at, not
steered. Logs are beside the checkpoints of jobs (execution.checkpointing.dir), or where firesteel.events.dir says.
"""
_EPILOG = """\
examples:
  firesteel history /data/checkpoints                     http://localhost:8082/jobs/overview until Ctrl-C
  firesteel history s3://bucket/events --port 9000
  firesteel history /data/checkpoints --export /archives  write ended jobs for Flink's history server, and end
"""


def add_command(commands: Any) -> None:
    """Add the command to the command line."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "history",
        help="serve jobs of the past over REST",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("directory", metavar="DIR", help="directory of checkpoints, or firesteel.events.dir")
    parser.add_argument("--port", type=int, default=DEFAULT_PORT, help=f"port, 0 for any free one; {DEFAULT_PORT}")
    parser.add_argument("--bind-address", metavar="ADDRESS", default="127.0.0.1", help="another than the loopback")
    parser.add_argument("--token", help="what requests have to show; needed for other addresses than the loopback")
    parser.add_argument("--export", metavar="ARCHIVES", help="write ended jobs there in Flink's format, and end")
    parser.set_defaults(handler=_history)


def _history(parsed: argparse.Namespace) -> int:
    try:
        rest = importlib.import_module("firesteel.rest")  # needs packages that most do not have
    except ModuleNotFoundError as error:
        raise ConfigurationError(f"the history server needs {error.name}: pip install 'firesteel[rest]'") from None
    if parsed.export is not None:
        return _export(rest, parsed.directory, parsed.export)
    server = rest.RestServer(
        rest.JobRegistry(parsed.directory), parsed.port, parsed.bind_address, parsed.token, steers=False
    )
    print(f"firesteel: jobs in {parsed.directory} are at {server.url}", file=sys.stderr, flush=True)
    server.serve()
    return 0


def _export(rest: Any, directory: str, archives: str) -> int:
    registry = rest.JobRegistry(directory)
    ended = [view for log in job_logs(directory) if (view := registry.view(log.job_id)) is not None and view.is_over]
    for view in ended:
        print(rest.write_archive(view, archives))
    if not ended:
        print(f"There are no jobs in {directory} that have ended.", file=sys.stderr)
    return 0
