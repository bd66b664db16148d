"""Every exception that Firesteel raises, in one tree.

::

    FiresteelError
    ├── ConfigurationError        a setting, argument or type is wrong; found before anything runs
    │   └── UnknownOptionError    a configuration key that does not exist
    ├── ProgramError              the program's graph is wrong (no sink, keyed state on a plain stream, ...)
    │   ├── SerializationError    something the program uses cannot be sent to the workers
    │   └── UnsupportedError      a Flink feature that has no equivalent here
    ├── KeyError_                 a record's key cannot be used for partitioning
    ├── TypeMismatchError         a value does not fit its declared type
    ├── MalformedRecordError      bytes that are not a record of the format they should have
    ├── StateError                state used wrongly, or state that cannot be read
    │   ├── NoKeyError            keyed state touched outside a keyed context
    │   ├── StateMigrationError   stored state does not fit the program
    │   └── CheckpointError       a checkpoint or savepoint cannot be written, read or trusted
    └── JobError                  a job that did not end well
        ├── JobFailedError        it failed; carries the user's own traceback
        └── JobCancelledError     it was cancelled while its result was awaited

An error says what is wrong, what was got, what was expected, and gives one hint.
"""

from __future__ import annotations


class FiresteelError(Exception):
    """Base class of all errors raised by Firesteel."""


class ConfigurationError(FiresteelError, ValueError):
    """A setting or an argument is wrong. Raised before anything runs."""


class UnknownOptionError(ConfigurationError):
    """A configuration key that is not known; the message suggests the nearest known one."""


class ProgramError(FiresteelError):
    """The program's graph cannot be run as written."""


class SerializationError(ProgramError, TypeError):
    """Something that the program uses cannot be sent to the workers."""


class UnsupportedError(ProgramError):
    """A feature of Flink that has no equivalent on this engine; the message says why and what to do instead."""


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


class JobError(FiresteelError):
    """A job that did not end well."""


class JobFailedError(JobError):
    """A job failed.

    The message begins with the user's own exception and traceback where a user function caused the failure,
    then names the operator, the line of the program that made it, and the record.
    """


class JobCancelledError(JobError):
    """The job was cancelled while its result was awaited."""
