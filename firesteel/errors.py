"""Every exception that Firesteel raises, in one tree.

::

    FiresteelError
    ├── ConfigurationError        a setting, argument or type is wrong; found before anything runs
    ├── ProgramError              the program's graph is wrong (no sink, keyed state on a plain stream, ...)
    │   ├── SerializationError    something the program uses cannot be sent to the workers
    │   ├── UnsupportedError      a Flink feature that has no equivalent here
    │   ├── MalformedPatternException  a pattern of firesteel.cep that means nothing
    │   └── SqlParserError        a text that is not a statement of SQL; carries its line and column
    ├── KeyError_                 a record's key cannot be used for partitioning
    ├── TypeMismatchError         a value does not fit its declared type
    ├── MalformedRecordError      bytes that are not a record of the format they should have
    ├── StateError                state used wrongly, or state that cannot be read
    │   ├── NoKeyError            keyed state touched outside a keyed context
    │   ├── StateMigrationError   stored state does not fit the program
    │   └── CheckpointError       a checkpoint or savepoint cannot be written, read or trusted
    ├── CommitError               output of a complete checkpoint could not be made visible
    └── JobError                  a job that did not end well
        ├── JobFailedError        it failed; carries the user's own traceback
        └── JobCancelledError     it was cancelled while its result was awaited

An error says what is wrong, what was got, what was expected, and gives one hint.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from types import TracebackType

_PACKAGE_DIR = os.path.dirname(os.path.abspath(__file__)) + os.sep


class FiresteelError(Exception):
    """Base class of all errors raised by Firesteel."""

    def _render_traceback_(self) -> list[str]:
        """What a notebook shows: IPython asks for it by this name."""
        return report(self).splitlines()


class ConfigurationError(FiresteelError, ValueError):
    """A setting or an argument is wrong. Raised before anything runs."""


class ProgramError(FiresteelError):
    """The program's graph cannot be run as written."""


class SerializationError(ProgramError, TypeError):
    """Something that the program uses cannot be sent to the workers."""


class UnsupportedError(ProgramError):
    """A feature of Flink that has no equivalent on this engine; the message says why and what to do instead."""


class MalformedPatternException(ProgramError, ValueError):
    """A pattern that cannot be matched as it is written; the message ends with the line of the program."""


class SqlParserError(ProgramError, ValueError):
    """A text that is not SQL as Flink has it: the message points to the place and says what may stand there."""

    def __init__(self, message: str, *, line: int = 1, column: int = 1, expected: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.line = line
        self.column = column
        self.expected = expected

    def __reduce__(self) -> tuple[Callable[..., SqlParserError], tuple[object, ...]]:
        return _sql_parser_error, (self.args[0], self.line, self.column, self.expected)


def _sql_parser_error(message: str, line: int, column: int, expected: tuple[str, ...]) -> SqlParserError:
    return SqlParserError(message, line=line, column=column, expected=expected)


class KeyError_(FiresteelError, TypeError):
    """A key cannot be used: it is not hashable by value, or not stable between processes."""


class TypeMismatchError(FiresteelError, TypeError):
    """A value does not fit the type declared for it."""


class MalformedRecordError(FiresteelError, ValueError):
    """Bytes or text that are not a record of the format they should have."""


class StateError(FiresteelError):
    """State is used wrongly or cannot be read."""


class NoKeyError(StateError):
    """Keyed state or a timer was used where no key is in context."""


class StateMigrationError(StateError):
    """Stored state does not fit the program that wants to continue from it."""


StateMigrationException = StateMigrationError  # Flink's name for the same thing


class CheckpointError(StateError):
    """A checkpoint or savepoint cannot be written, read or trusted."""


class CommitError(FiresteelError):
    """Output of a complete checkpoint could not be made visible. It is committed again when the job goes on."""


class JobError(FiresteelError):
    """A job that did not end well."""


class JobFailedError(JobError):
    """A job failed.

    The message begins with the user's own exception and traceback where a user function caused the failure,
    then names the operator, the line of the program that made it, and the record.

    :ivar story: What happened to the job before, event by event, for whoever has to find out why it ended.
    """

    story: str = ""


class JobCancelledError(JobError):
    """The job was cancelled while its result was awaited."""


def interrupted(text: str) -> KeyboardInterrupt:
    """Ctrl-C, or a notebook's stop button, while a job ran: shown in one line, here and in notebooks.

    A plain KeyboardInterrupt: only after one of exactly this class does Python end the process as a signal would.
    """
    interrupt = KeyboardInterrupt(text)
    interrupt._render_traceback_ = lambda: [f"firesteel: {text}"]  # type: ignore[attr-defined]
    return interrupt


def shown_in_brief(error: BaseException) -> bool:
    """Whether the error says by itself all that its user needs."""
    return isinstance(error, FiresteelError) or hasattr(error, "_render_traceback_")


def report(error: BaseException) -> str:
    """An error as a user wants to read it: what is wrong, then the line of the program that led to it.

    The frames inside Firesteel are left out: they say nothing to whoever wrote the program.
    """
    if isinstance(error, KeyboardInterrupt):
        return f"firesteel: {error}\n"
    place = line_of_program(error.__traceback__)
    at = "" if place is None else f"  at {place}\n"
    return f"firesteel: {type(error).__name__}: {error}\n{at}"


def line_of_program(trace: TracebackType | None) -> str | None:
    """``file:line`` of the program's call into Firesteel."""
    place = None
    rest = program_part(trace)
    while rest is not None and not _is_ours(rest):
        place = f"{rest.tb_frame.f_code.co_filename}:{rest.tb_lineno}"
        rest = rest.tb_next
    return place


def program_part(trace: TracebackType | None) -> TracebackType | None:
    """The traceback from the first frame of the program on; None if the program has no part in it."""
    while trace is not None and _is_ours(trace):
        trace = trace.tb_next
    return trace


def _is_ours(trace: TracebackType) -> bool:
    name = trace.tb_frame.f_code.co_filename
    return name.startswith((_PACKAGE_DIR, "<frozen ")) or trace.tb_frame.f_globals.get("__name__") == "runpy"
