"""Programs that are handed in and run: each in a process of its own, with its own driver and its own REST API."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from email import policy
from email.parser import BytesParser
from typing import Any

from firesteel.common import CompletableFuture, JobID
from firesteel.errors import CheckpointError
from firesteel.events import JobHistory, job_logs
from firesteel.rest.registry import JobRegistry
from firesteel.rest.requests import RestError

__all__ = ["MAX_PROGRAM", "ProgramJob", "Programs", "file_in"]

MAX_PROGRAM = 64 << 20
"""How long a program that is handed in may be."""
_STARTING_SECONDS = 120.0
_POLL_SECONDS = 0.05
_SUFFIXES = (".py", ".zip")
_NAME = re.compile(r"[\w.-]+")
_ADDRESS = re.compile(r"the REST API of this program is at (\S+)")


def file_in(content_type: str, body: bytes) -> tuple[str, bytes]:
    """Name and content of the file in a request of the type multipart/form-data."""
    parsed = BytesParser(policy=policy.HTTP).parsebytes(f"Content-Type: {content_type}\r\n\r\n".encode() + body)
    if parsed.get_content_type() != "multipart/form-data" or not parsed.is_multipart():
        raise RestError(400, "A program is handed in as multipart/form-data, in the field jarfile.")
    for part in parsed.iter_parts():
        name = part.get_filename()
        if name:
            content = part.get_payload(decode=True)
            assert isinstance(content, bytes)
            return name, content
    raise RestError(400, "The request has no file: it goes into the field jarfile.")


@dataclass(frozen=True)
class _Program:
    id: str
    name: str
    uploaded: int
    path: str


class Programs:
    """Programs in a directory, and the processes that run them. Safe to use from several threads.

    :param directory: Programs, logs of what they print, and the event logs of their jobs go there.
    :param command: What runs a program; arguments are added.
    """

    def __init__(
        self,
        directory: str,
        registry: JobRegistry,
        command: Sequence[str] = (sys.executable, "-m", "firesteel", "run"),
    ) -> None:
        self._directory = directory
        self.registry = registry
        """Where jobs of the programs are shown."""
        self._command = list(command)
        self._lock = threading.Lock()
        self._running: list[subprocess.Popen[bytes]] = []
        os.makedirs(self._programs, exist_ok=True)

    @property
    def _programs(self) -> str:
        return os.path.join(self._directory, "programs")

    def take(self, name: str, content: bytes) -> dict[str, str]:
        """Keep a program. Its id is the last part of the name that is answered, as in Flink."""
        base = os.path.basename(name.replace("\\", "/"))
        if not base.endswith(_SUFFIXES) or _NAME.fullmatch(base) is None:
            raise RestError(400, f"{base!r} is no program: expected a file whose name ends in .py or .zip.")
        path = os.path.join(self._programs, f"{uuid.uuid4()}_{base}")
        with open(path, "xb") as file:
            file.write(content)
        return {"filename": path, "status": "success"}

    def _all(self) -> list[_Program]:
        found = []
        for name in os.listdir(self._programs):
            path = os.path.join(self._programs, name)
            found.append(_Program(name, name.partition("_")[2], int(os.stat(path).st_mtime * 1000), path))
        return sorted(found, key=lambda each: each.uploaded, reverse=True)

    def listed(self, address: str) -> dict[str, Any]:
        """All programs, newest first."""
        entry = [{"name": "__main__", "description": None}]
        files = [{"id": each.id, "name": each.name, "uploaded": each.uploaded, "entry": entry} for each in self._all()]
        return {"address": address, "files": files}

    def _find(self, program_id: str) -> _Program:
        found = next((each for each in self._all() if each.id == program_id), None)
        if found is None:
            raise RestError(404, f"There is no program {program_id!r}: /jars lists those that were handed in.")
        return found

    def delete(self, program_id: str) -> None:
        """Forget a program. Jobs of it go on."""
        os.unlink(self._find(program_id).path)

    def run(self, program_id: str, wanted: Mapping[str, Any]) -> dict[str, str]:
        """Run a program, and wait until its first job is announced.

        :param wanted: What Flink's request can say: ``programArgsList``, ``parallelism``, ``savepointPath``,
            ``allowNonRestoredState``.
        """
        program = self._find(program_id)
        run = os.path.join(self._directory, "runs", uuid.uuid4().hex)
        os.makedirs(run)
        arguments = [*self._command, *_options(wanted, run), program.path, *_arguments(wanted)]
        output = os.path.join(run, "output.txt")
        with open(output, "wb") as file:
            process = subprocess.Popen(
                arguments, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT, start_new_session=True
            )
        with self._lock:
            self._running.append(process)
        job = ProgramJob(process, run, output)
        self.registry.add(job.announced(_STARTING_SECONDS))
        return {"jobid": str(job.get_job_id())}

    def close(self) -> None:
        """End all programs that still run: their jobs keep their checkpoints."""
        with self._lock:
            running, self._running = self._running, []
        for each in running:
            each.terminate()  # which does nothing to one that has ended
        for each in running:
            try:
                each.wait(30)
            except subprocess.TimeoutExpired:
                each.kill()


def _options(wanted: Mapping[str, Any], run: str) -> list[str]:
    options = ["--conf", f"firesteel.events.dir={run}", "--conf", "rest.port=0"]
    parallelism, path = wanted.get("parallelism"), wanted.get("savepointPath")
    if parallelism is not None:
        if not isinstance(parallelism, int) or isinstance(parallelism, bool) or parallelism < 1:
            raise RestError(400, f"parallelism has to be a positive number, got {parallelism!r}.")
        options += ["--parallelism", str(parallelism)]
    if path:
        if not isinstance(path, str):
            raise RestError(400, f"savepointPath has to be a text, got {path!r}.")
        options += ["--from-savepoint", path]
    if wanted.get("allowNonRestoredState"):
        options.append("--allow-non-restored-state")
    return options


def _arguments(wanted: Mapping[str, Any]) -> list[str]:
    arguments = wanted.get("programArgsList") or []
    if not isinstance(arguments, list) or not all(isinstance(each, str) for each in arguments):
        raise RestError(400, f"programArgsList has to be a list of texts, got {arguments!r}.")
    return arguments


class ProgramJob:
    """The job of a program in another process: watched through its event log, steered through its own REST API."""

    def __init__(self, process: subprocess.Popen[bytes], directory: str, output: str) -> None:
        self._process = process
        self._directory = directory
        self._output = output
        self._id: str | None = None
        self._ended: JobHistory | None = None

    def announced(self, seconds: float) -> ProgramJob:
        """Wait until the job is known; a program that ends before has failed."""
        deadline = time.monotonic() + seconds
        while self._id is None:
            logs = job_logs(self._directory)
            if logs:
                self._id = logs[-1].job_id
                break
            if self._process.poll() is not None and not job_logs(self._directory):
                raise RestError(400, f"The program has ended without a job. It says:\n{self._said()[-4000:]}")
            if time.monotonic() > deadline:
                self._process.kill()
                raise RestError(500, f"The program has announced no job within {seconds:.0f} s, and was ended.")
            time.sleep(_POLL_SECONDS)
        return self

    def _said(self) -> str:
        with open(self._output, encoding="utf-8", errors="replace") as file:
            return file.read()

    def get_job_id(self) -> JobID:
        """The id of the job."""
        return JobID(self._id)

    def get_history(self) -> JobHistory:
        """What the job's log tells."""
        if self._ended is not None:
            return self._ended
        log = next(each for each in job_logs(self._directory) if each.job_id == self._id)
        history = log.history()
        if history.ended is not None:
            self._ended = history
        return history

    def cancel(self) -> CompletableFuture[None]:
        """End the job as Ctrl-C does."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
        return CompletableFuture.completed(None)

    def trigger_savepoint(self, savepoint_directory: str | None = None) -> CompletableFuture[str]:
        """Take a savepoint."""
        return self._operation("savepoints", {"target-directory": savepoint_directory}, "location")

    def trigger_checkpoint(self, full: bool = False) -> CompletableFuture[int]:
        """Take a checkpoint."""
        return self._operation("checkpoints", {"checkpointType": "FULL" if full else "CONFIGURED"}, "checkpointId")

    def stop_with_savepoint(
        self, advance_to_end_of_event_time: bool, savepoint_directory: str | None = None
    ) -> CompletableFuture[str]:
        """Take a savepoint and end the job with it."""
        body = {"targetDirectory": savepoint_directory, "drain": advance_to_end_of_event_time}
        return self._operation("stop", body, "location")

    def _operation(self, path: str, body: Mapping[str, Any], result: str) -> CompletableFuture[Any]:
        """Ask the job's own REST API, and wait for the outcome in a thread of its own."""
        future: CompletableFuture[Any] = CompletableFuture()

        def ask() -> None:
            try:
                future.set_result(self._asked(path, body, result))
            except Exception as error:
                future.set_exception(error)

        threading.Thread(target=ask, name="firesteel-rest-program", daemon=True).start()
        return future

    def _asked(self, path: str, body: Mapping[str, Any], result: str) -> Any:
        found = _ADDRESS.search(self._said())
        if found is None:
            raise CheckpointError("the program of the job does not say where its REST API is")
        job = f"{found[1]}jobs/{self._id}"
        trigger_id = _ask(f"{job}/{path}", body)["request-id"]
        outcome = f"{job}/{'savepoints' if path == 'stop' else path}/{trigger_id}"
        while (answer := _ask(outcome))["status"]["id"] != "COMPLETED":
            time.sleep(_POLL_SECONDS)
        failure = answer["operation"].get("failure-cause")
        if failure is not None:
            raise CheckpointError(failure["stack-trace"])
        return answer["operation"][result]


def _ask(url: str, body: Mapping[str, Any] | None = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data), timeout=30) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        raise CheckpointError(error.read().decode(errors="replace")) from None
    except OSError as error:
        raise CheckpointError(f"the program of the job does not answer: {error}") from None
