"""What the driver has logged lately, kept in memory for those who ask; and the files that it logs to."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections import deque
from typing import Any

from firesteel.rest.requests import RestError

__all__ = ["DRIVER_LOG", "DriverLog"]

DRIVER_LOG = "driver.log"
_LINES = 10_000
_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


class DriverLog(logging.Handler):
    """Keeps the last lines that the process has logged.

    A program that has set up Python's logging gets it beside its own handlers. In one that has not, it listens to
    Firesteel only: a handler of the root would keep a later ``logging.basicConfig()`` from doing anything.

    :param lines: How many are kept.
    """

    def __init__(self, lines: int = _LINES) -> None:
        super().__init__()
        self.setFormatter(logging.Formatter(_FORMAT))
        self._kept: deque[str] = deque(maxlen=lines)
        self._changed = int(time.time() * 1000)
        self._logger: logging.Logger | None = None
        self._reading = threading.Lock()

    def begin(self) -> None:
        """Listen from now on."""
        root = logging.getLogger()
        self._logger = root if root.handlers else logging.getLogger("firesteel")
        self._logger.addHandler(self)

    def end(self) -> None:
        """Listen no more."""
        if self._logger is not None:
            self._logger.removeHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a line."""
        text = self.format(record)
        with self._reading:
            self._kept.append(text)
            self._changed = int(record.created * 1000)
        alone = not logging.getLogger().handlers and self._logger is not logging.getLogger()
        if alone and logging.lastResort is not None and record.levelno >= logging.lastResort.level:
            logging.lastResort.handle(record)  # as if this handler were not there

    def text(self) -> str:
        """The lines that are kept."""
        with self._reading:
            return "".join(f"{line}\n" for line in self._kept)

    def listed(self) -> dict[str, Any]:
        """All logs of the driver: this one, and the files of the program's own handlers."""
        size = len(self.text().encode())
        logs = [{"name": DRIVER_LOG, "size": size, "mtime": self._changed}]
        for path in _files():
            status = os.stat(path)
            name = os.path.basename(path)
            logs.append({"name": name, "size": status.st_size, "mtime": int(status.st_mtime * 1000)})
        return {"logs": logs}

    def read(self, name: str) -> str:
        """One of the logs. Names are looked up among those that are listed: they are no paths."""
        if name == DRIVER_LOG:
            return self.text()
        for path in _files():
            if os.path.basename(path) == name:
                with open(path, encoding="utf-8", errors="replace") as file:
                    return file.read()
        raise RestError(404, f"There is no log {name!r} of the driver: /jobmanager/logs lists those there are.")


def _files() -> list[str]:
    """The files that handlers of this process write to."""
    loggers = [logging.getLogger(), *map(logging.getLogger, list(logging.Logger.manager.loggerDict))]
    handlers = [each for logger in loggers for each in logger.handlers if isinstance(each, logging.FileHandler)]
    return [path for path in dict.fromkeys(each.baseFilename for each in handlers) if os.path.isfile(path)]
