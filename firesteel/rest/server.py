"""The REST server of a driver: one thread, shared by the jobs of the process."""

from __future__ import annotations

import atexit
import logging
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable

import uvicorn

from firesteel.common import Configuration
from firesteel.common.options import (
    REST_ALLOWED_HOSTS,
    REST_BIND_ADDRESS,
    REST_PORT,
    REST_TOKEN,
    REST_UPLOAD_DIR,
    WEB_SUBMIT,
)
from firesteel.errors import ConfigurationError
from firesteel.events import JobView
from firesteel.rest.app import create_app
from firesteel.rest.archive import write_archive
from firesteel.rest.driver_log import DriverLog
from firesteel.rest.operations import Operations
from firesteel.rest.programs import Programs
from firesteel.rest.registry import JobRegistry, SteeredJob
from firesteel.rest.security import Access, is_loopback

__all__ = ["RestServer", "archive_job", "show_job"]

log = logging.getLogger("firesteel.rest")
_LOOPBACK = "127.0.0.1"
_STOPPING_SECONDS = 5.0


class RestServer:
    """Answers requests in a thread of its own, from :meth:`start` to :meth:`stop` or the end of the process.

    :param port: 0 takes any free one; see :attr:`url`.
    :param programs: Where programs that are handed in are kept and run; without it none are taken.
    :param steers: Whether it is the server of a driver, and not only of logs.
    """

    def __init__(
        self,
        registry: JobRegistry,
        port: int,
        bind_address: str = _LOOPBACK,
        token: str | None = None,
        allowed_hosts: tuple[str, ...] = (),
        programs: str | None = None,
        steers: bool = True,
    ) -> None:
        if not is_loopback(bind_address) and not token:
            raise ConfigurationError(
                f"the REST API would be open to whoever reaches {bind_address}: set firesteel.rest.token to what "
                "requests have to show, or leave rest.bind-address out to serve this machine only"
            )
        self.registry = registry
        self._socket = _listening(bind_address, port)
        self.url = _url(self._socket)
        """Where it answers."""
        self._operations = Operations()
        self._log = DriverLog() if steers else None
        self._programs = None if programs is None else Programs(programs, registry)
        access = Access.of(bind_address, token or None, allowed_hosts)
        app = create_app(registry, access, self._operations, self._log, self._programs, steers)
        config = uvicorn.Config(app, log_config=None, access_log=False, lifespan="off", timeout_graceful_shutdown=1)
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._run, name="firesteel-rest", daemon=True)

    def start(self) -> None:
        """Begin to answer. What comes before waits."""
        if self._log is not None:
            self._log.begin()
        self._thread.start()

    def _run(self) -> None:
        try:
            self._server.run(sockets=[self._socket])
        except Exception:
            log.exception("the REST server has ended; jobs go on")

    def serve(self) -> None:
        """Answer in the calling thread, until Ctrl-C."""
        try:
            self._server.run(sockets=[self._socket])
        finally:
            self._close()

    def end(self) -> None:
        """Answer no more, once those who have asked for a savepoint know what became of it, or a little later.

        A job that is stopped with a savepoint often ends its program, and the server with it.
        """
        self._operations.wait_until_told()
        self.stop()  # which lets the last answer go out

    def stop(self) -> None:
        """Answer no more."""
        atexit.unregister(self.end)
        self._server.should_exit = True
        self._thread.join(_STOPPING_SECONDS)
        self._close()

    def _close(self) -> None:
        if self._log is not None:
            self._log.end()
        if self._programs is not None:
            self._programs.close()
        self._socket.close()


def _url(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/"


def _listening(address: str, port: int) -> socket.socket:
    bare = address.strip("[]")
    family = socket.AF_INET6 if ":" in bare else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((bare, port))
        listening.listen(128)
    except (OSError, OverflowError) as error:
        listening.close()
        raise ConfigurationError(
            f"the REST API cannot listen on {address}:{port}: {error}. Another port: rest.port, or 0 for any free one"
        ) from None
    return listening


_servers: dict[tuple[str, int], RestServer] = {}
"""Those of this process, by what was asked for."""
_lock = threading.Lock()


def show_job(job: SteeredJob, configuration: Configuration, tell: Callable[[str], None] | None = None) -> None:
    """Let the REST server of this process show and steer a job; it is started with the first one.

    :param tell: Gets the server's address; by default it is written to standard error.
    """
    port: int | None = configuration.get(REST_PORT)
    if port is None:
        return
    address: str = configuration.get(REST_BIND_ADDRESS) or _LOOPBACK
    with _lock:
        server = _servers.get((address, port))
        if server is None:
            hosts: list[str] | None = configuration.get(REST_ALLOWED_HOSTS)
            token, programs = configuration.get(REST_TOKEN), _programs(configuration)
            server = RestServer(JobRegistry(), port, address, token, tuple(hosts or ()), programs)
            server.start()
            _servers[address, port] = server
            atexit.register(server.end)
            (tell or _tell)(server.url)
    server.registry.add(job)


def _programs(configuration: Configuration) -> str | None:
    """Where programs that are handed in go, if they are taken."""
    if not configuration.get(WEB_SUBMIT):
        return None
    directory: str | None = configuration.get(REST_UPLOAD_DIR)
    return directory or tempfile.mkdtemp(prefix="firesteel-programs-")


def archive_job(job: SteeredJob, directory: str) -> None:
    """Keep what is known of a job that has ended, for Flink's history server. What fails is said, not raised."""
    history = job.get_history()
    if history.job is None:
        return
    try:
        write_archive(JobView(history, time.time_ns() // 1_000_000), directory)
    except Exception as error:
        log.warning("the archive of job %s cannot be written to %s: %s", job.get_job_id(), directory, error)


def _tell(url: str) -> None:
    sys.stderr.write(f"firesteel: the REST API of this program is at {url}\n")
    sys.stderr.flush()
