"""The two halves of a file sink: the writer in the tasks and the committer in the driver."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from typing import IO, Any

from firesteel.common.serialization import BulkWriter, BulkWriterFactory, Encoder
from firesteel.connectors.files.buckets import BucketAssigner
from firesteel.connectors.files.compaction import FileCompactor, FileCompactStrategy, IdenticalFileCompactor
from firesteel.connectors.files.rolling import OutputFileConfig, PartFileInfo, RollingPolicy
from firesteel.connectors.files.staging import HIDDEN_FOLDER, SinkRun, Staging
from firesteel.connectors.files.storage import open_storage
from firesteel.errors import CheckpointError, CommitError, ProgramError, StateMigrationError
from firesteel.model.functions import RuntimeContext
from firesteel.model.sink import CommitRequest, Committer, SinkWriter, WriterContext

__all__ = ["FileCommitter", "FileSinkSettings", "FileWriter", "UnfinishedFiles"]

log = logging.getLogger("firesteel.connectors.files")

_MAX_OPEN = 128
"""How many files one subtask has open; one more closes the one that was begun first."""
_VERSION = 1
_JOINED = "compacted-"
_LONGEST_PART = 255


@dataclass(frozen=True)
class FileSinkSettings:
    """Everything that was said to the sink's builder."""

    base_path: str
    format: Encoder | BulkWriterFactory
    bucket_assigner: BucketAssigner
    rolling_policy: RollingPolicy
    output: OutputFileConfig
    check_interval: int
    strategy: FileCompactStrategy | None
    compactor: FileCompactor | None
    run: SinkRun


class _Part:
    """A file that is being written."""

    def __init__(self, path: str, name: str, stream: IO[bytes], format: Encoder | BulkWriterFactory) -> None:
        self.path = path
        self.name = name
        self.stream = stream
        self._bulk: BulkWriter | None = None
        if isinstance(format, BulkWriterFactory):
            self._bulk = format.create(stream)  # type: ignore[arg-type]
        else:
            self._encode = format.encode

    def write(self, value: Any) -> None:
        if self._bulk is not None:
            self._bulk.add_element(value)
        else:
            self._encode(value, self.stream)  # type: ignore[arg-type]

    def write_columns(self, columns: Any) -> None:
        assert self._bulk is not None
        self._bulk.add_columns(columns)

    def abandon(self) -> None:
        """Close the file, whatever is in it."""
        if self._bulk is not None:
            self._bulk.abandon()
        self.stream.close()

    def end(self) -> None:
        """Write what is left in memory."""
        if self._bulk is not None:
            self._bulk.finish()


@dataclass(frozen=True)
class _Pending:
    """A file that is complete and hidden."""

    path: str
    name: str
    size: int


@dataclass
class _Held:
    """Complete files of one folder that wait to be joined."""

    files: list[_Pending]
    checkpoints: int = 0

    @property
    def size(self) -> int:
        return sum(file.size for file in self.files)


class FileWriter(SinkWriter):
    """Writes the records of one subtask into hidden files.

    Its state is ``{"version", "run", "subtask", "held"}``: who it was, and the complete files that wait to be joined.
    """

    def __init__(self, settings: FileSinkSettings) -> None:
        self._settings = settings
        self._storage, self._base = open_storage(settings.base_path)
        self._id = uuid.uuid4().hex[:12]  # new for every instance: no two ever write files of the same name
        self._subtask = 0
        self._count = 0
        self._parts: dict[str, tuple[PartFileInfo, _Part]] = {}
        self._closed: dict[str, list[_Pending]] = {}
        self._held: dict[str, _Held] = {}
        self._checked_at: int | None = None
        self._ended = False

    # --- life ---------------------------------------------------------------------------------------

    def open(self, context: RuntimeContext, restored: Sequence[Any]) -> None:
        """Take back the files that wait to be joined, and delete what failed attempts have left."""
        self._subtask = context.get_index_of_this_subtask()
        run = self._settings.run
        self._staging = Staging(self._storage, self._base, run, self._subtask, context.get_attempt_number())
        for state in restored:
            self._restore(state)
        keep = {file.path for held in self._held.values() for file in held.files}
        for state in restored:
            former = SinkRun(**state["run"])
            if former.id != run.id:
                Staging.sweep_former(self._storage, self._base, former, state["subtask"], keep)
        self._staging.sweep(keep)

    def _restore(self, state: dict[str, Any]) -> None:
        if state["version"] != _VERSION:
            raise StateMigrationError(
                f"the state of the file sink at {self._settings.base_path} has format {state['version']}, but this "
                f"version of Firesteel reads {_VERSION}"
            )
        for bucket, (checkpoints, files) in state["held"].items():
            held = self._held.setdefault(bucket, _Held([]))
            held.checkpoints = max(held.checkpoints, checkpoints)
            held.files.extend(_Pending(*file) for file in files)
            for file in held.files:
                if self._storage.size(file.path) != file.size:
                    raise CheckpointError(
                        f"{file.path}, which the checkpoint says is to be joined with others, is not there as it was. "
                        "A later run may have joined it already: restore from the newest checkpoint."
                    )

    def snapshot(self) -> dict[str, Any]:
        """Who it is, and what it holds back."""
        held = {
            bucket: (held.checkpoints, [(file.path, file.name, file.size) for file in held.files])
            for bucket, held in self._held.items()
        }
        return {"version": _VERSION, "run": self._settings.run.to_state(), "subtask": self._subtask, "held": held}

    def close(self) -> None:
        """Delete what is not complete: it belongs to no checkpoint."""
        parts, self._parts = self._parts, {}
        for bucket, (_, part) in parts.items():
            part.abandon()
            self._storage.delete(part.path)
            if bucket:
                self._storage.prune(f"{self._base}/{bucket}")

    # --- writing ------------------------------------------------------------------------------------

    def write(self, value: Any, context: WriterContext) -> None:
        """Write a record to the open file of its folder."""
        info, part = self._part_for(value, context)
        part.write(value)
        self._note_size(info, part, context)

    def write_batch(self, columns: Any, timestamps: Any | None, kinds: Any | None, context: WriterContext) -> None:
        """Write columns to the open file of the folder, which does not depend on the records."""
        info, part = self._part_for(None, context)
        part.write_columns(columns)
        self._note_size(info, part, context)

    @staticmethod
    def _note_size(info: PartFileInfo, part: _Part, context: WriterContext) -> None:
        info.last_update_time = context.current_processing_time
        info.size = part.stream.tell()

    def _part_for(self, value: Any, context: WriterContext) -> tuple[PartFileInfo, _Part]:
        now = context.current_processing_time
        if self._checked_at is None or now - self._checked_at >= self._settings.check_interval:
            self._roll_by_time(now)
        bucket = self._settings.bucket_assigner.get_bucket_id(value, context)
        entry = self._parts.get(bucket)
        if entry is not None and self._settings.rolling_policy.should_roll_on_event(entry[0], value):
            self._close_part(bucket)
            entry = None
        if entry is None:
            entry = self._open_part(bucket, now, value)
        return entry

    def _roll_by_time(self, now: int) -> None:
        self._checked_at = now
        policy = self._settings.rolling_policy
        for bucket in [
            name for name, (info, _) in self._parts.items() if policy.should_roll_on_processing_time(info, now)
        ]:
            self._close_part(bucket)

    def _open_part(self, bucket: str, now: int, value: Any) -> tuple[PartFileInfo, _Part]:
        _check_bucket(bucket)
        if len(self._parts) >= _MAX_OPEN:
            self._close_part(next(iter(self._parts)))
        output = self._settings.output
        name = f"{output.get_part_prefix()}-{self._subtask}-{self._id}-{self._count}{output.get_part_suffix()}"
        self._count += 1
        path, stream = self._staging.create(name)
        try:
            # What is staged must be able to be shown, or no restart would help: found out here, not at the commit.
            self._storage.prepare(self._final(bucket, f"{_JOINED}{name}"), path.rpartition("/")[0])
        except (OSError, ValueError) as error:
            stream.close()
            self._storage.delete(path)
            raise _not_a_folder(bucket, value, self._settings.base_path, error) from error
        entry = PartFileInfo(bucket, now, now), _Part(path, name, stream, self._settings.format)
        self._parts[bucket] = entry
        return entry

    def _close_part(self, bucket: str) -> None:
        _, part = self._parts.pop(bucket)
        part.end()
        path, size = self._staging.finish(part.path, part.stream)
        self._closed.setdefault(bucket, []).append(_Pending(path, part.name, size))

    # --- checkpoints --------------------------------------------------------------------------------

    def flush(self, end_of_input: bool) -> None:
        """Notice the end: nothing is held back then."""
        self._ended = self._ended or end_of_input

    def prepare_commit(self, checkpoint_id: int) -> Sequence[dict[str, Any]]:
        """Close all files; those that need not wait to be joined can be shown."""
        for bucket in list(self._parts):
            self._close_part(bucket)
        closed, self._closed = self._closed, {}
        fresh = {file.path for files in closed.values() for file in files}
        for bucket, files in closed.items():
            self._held.setdefault(bucket, _Held([])).files.extend(files)
        due = {bucket: held for bucket, held in self._held.items() if self._due(held)}
        for bucket in due:
            del self._held[bucket]
        return self._release(due, fresh)

    def _due(self, held: _Held) -> bool:
        held.checkpoints += 1
        strategy = self._settings.strategy
        return strategy is None or self._ended or strategy.is_due(held.size, held.checkpoints)

    def _release(self, due: dict[str, _Held], fresh: set[str]) -> list[dict[str, Any]]:
        joined = {bucket: held.files for bucket, held in due.items() if self._to_be_joined(held.files)}
        committables = [
            self._committable(bucket, file, file.path in fresh)
            for bucket, held in due.items()
            if bucket not in joined
            for file in held.files
        ]
        if joined:
            assert self._settings.strategy is not None
            with ThreadPoolExecutor(self._settings.strategy.num_threads) as pool:
                results = pool.map(self._join, joined.values())
                for (bucket, files), result in zip(joined.items(), results):
                    committables.append(self._committable(bucket, result, True, [file.path for file in files]))
        return committables

    def _to_be_joined(self, files: list[_Pending]) -> bool:
        compactor = self._settings.compactor
        return compactor is not None and not isinstance(compactor, IdenticalFileCompactor) and len(files) > 1

    def _join(self, files: list[_Pending]) -> _Pending:
        assert self._settings.compactor is not None
        name = f"{_JOINED}{files[0].name}"
        path, output = self._staging.create(name)
        with ExitStack() as stack:
            inputs = [stack.enter_context(self._storage.open(file.path)) for file in files]
            self._settings.compactor.compact(inputs, output)
        waiting, size = self._staging.finish(path, output)
        return _Pending(waiting, name, size)

    def _final(self, bucket: str, name: str) -> str:
        """Where a file is shown."""
        return f"{self._base}/{bucket}/{name}" if bucket else f"{self._base}/{name}"

    def _committable(self, bucket: str, file: _Pending, fresh: bool, obsolete: Sequence[str] = ()) -> dict[str, Any]:
        """What the committer is told; a file that is not fresh is in the state of an earlier checkpoint, too."""
        return {
            "pending": file.path,
            "final": self._final(bucket, file.name),
            "size": file.size,
            "fresh": fresh,
            "obsolete": list(obsolete),
        }


def _check_bucket(bucket: Any) -> None:
    if not isinstance(bucket, str):
        raise ProgramError(f"a bucket assigner returns the name of a folder as text, got {bucket!r}")
    if bucket and any(part in ("", ".", "..") for part in bucket.split("/")):
        raise ProgramError(
            f"a bucket assigner returned {bucket!r}, which is no folder below the base path. Return names with '/' "
            "between them, such as '2024-01-01/10'."
        )
    if bucket.partition("/")[0].casefold() == HIDDEN_FOLDER:
        raise ProgramError(
            f"a bucket assigner returned {bucket!r:.200}, but {HIDDEN_FOLDER!r} is where the sink keeps files that are "
            "not complete. Return another name."
        )


def _not_a_folder(bucket: str, value: Any, base_path: str, error: Exception) -> ProgramError:
    reason = getattr(error, "strerror", None) or str(error)
    return ProgramError(
        f"the folder {bucket!r:.200}, which the bucket assigner has named for the record {value!r:.200}, cannot hold "
        f"files below {base_path}: {reason}. Let the bucket assigner return names that the file system takes, "
        f"at most {_LONGEST_PART} bytes between two '/', or remove what is in the way."
    )


class FileCommitter(Committer):
    """Shows complete files by moving them to their folders. Committing twice does no harm."""

    def __init__(self, settings: FileSinkSettings) -> None:
        self._storage, self._base = open_storage(settings.base_path)
        self._run = settings.run

    def commit(self, requests: Sequence[CommitRequest]) -> None:
        """Move the files that have not been moved yet."""
        for request in requests:
            each = request.committable
            pending, final = each["pending"], self._place(each["final"])
            size = self._storage.size(pending)
            if size is not None:
                try:
                    self._show(pending, final, size, each["size"])
                except OSError as error:
                    raise CommitError(
                        f"{pending} cannot be moved to {final}: {error.strerror or error}. Remove what is in the way "
                        "(a file where a folder should be, missing permissions, a full disk)"
                    ) from error
            elif self._storage.size(final) is not None:
                request.already_committed()
            else:
                # Shown before, then taken away by whoever reads them: the usual way to consume a directory.
                log.warning(
                    "neither %s nor %s is there: it must have been consumed after an earlier commit", pending, final
                )
            for path in each["obsolete"]:
                self._storage.delete(path)

    def _place(self, final: str) -> str:
        """Where a complete file goes to."""
        return final

    def _show(self, pending: str, final: str, size: int, expected: int) -> None:
        if size != expected:
            raise CheckpointError(
                f"{pending} has {size} bytes but had {expected} when its checkpoint was taken. It is not shown; the "
                "disk may have been full or the file was changed."
            )
        self._storage.move(pending, final)

    def abort(self, committables: Sequence[dict[str, Any]]) -> None:
        """Delete files of an epoch that did not hold; those that an earlier checkpoint knows stay."""
        for each in committables:
            if each["fresh"]:
                self._storage.delete(each["pending"])
                folder = each["final"].rpartition("/")[0]
                if folder != self._base:
                    self._storage.prune(folder)

    def close(self) -> None:
        """Tidy up the hidden place."""
        Staging.prune(self._storage, self._base, self._run)


class UnfinishedFiles(FileCommitter):
    """Moves files to their folders, but leaves them hidden there: nothing has made them final."""

    def _place(self, final: str) -> str:
        return _hidden(final)


def _hidden(path: str) -> str:
    folder, _, name = path.rpartition("/")
    return f"{folder}/.{name}.inprogress.{uuid.uuid5(uuid.NAMESPACE_URL, path)}"
