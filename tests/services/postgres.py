"""A real PostgreSQL on this machine, from the system's packages, started for the tests and ended with them."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from firesteel.datastream.connectors.jdbc import JdbcConnectionOptions
from tests.services.servers import free_ports, running, wait_for

USER, PASSWORD = "firesteel", "l0velace"


@dataclass
class Postgres:
    port: int

    @property
    def url(self) -> str:
        return f"jdbc:postgresql://127.0.0.1:{self.port}/postgres"

    def options(self, password: str = PASSWORD) -> JdbcConnectionOptions:
        builder = JdbcConnectionOptions.JdbcConnectionOptionsBuilder().with_url(self.url)
        return builder.with_user_name(USER).with_password(password).build()

    def run(self, sql: str) -> list[Any]:
        """Run a statement; the rows that it gives."""
        import psycopg

        with psycopg.connect(
            host="127.0.0.1", port=self.port, user=USER, password=PASSWORD, dbname="postgres", autocommit=True
        ) as connection:
            cursor = connection.execute(sql)
            return cursor.fetchall() if cursor.description else []


def _programs() -> Path:
    """Where initdb and postgres are. They are installed if they are missing, and if that is allowed."""
    for _ in range(2):
        found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
        if found:
            return found[-1].parent
        on_path = shutil.which("postgres")
        if on_path:
            return Path(on_path).resolve().parent
        if os.geteuid() or shutil.which("apt-get") is None:
            break
        quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        command = ["apt-get", "install", "-y", "--no-install-recommends", "postgresql"]
        subprocess.run(["apt-get", "update"], env=quiet, capture_output=True, check=False)
        subprocess.run(command, env=quiet, capture_output=True, check=False)
    pytest.fail("there is no PostgreSQL: install the package postgresql", pytrace=False)


@contextlib.contextmanager
def postgres_server() -> Iterator[Postgres]:
    programs = _programs()
    # It does not run as root, and another user does not see the tests' own folders.
    user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    directory = Path(tempfile.mkdtemp(prefix="firesteel-postgres-"))
    try:
        (directory / "password").write_text(PASSWORD)
        if user:
            for path in (directory, directory / "password"):
                shutil.chown(path, "postgres")
        initdb = [str(programs / "initdb"), "-D", str(directory / "data"), "-U", USER, "-A", "scram-sha-256"]
        made = subprocess.run(
            [*user, *initdb, "--no-sync", f"--pwfile={directory / 'password'}"],
            capture_output=True,
            text=True,
            check=False,
            cwd="/",
        )
        assert made.returncode == 0, made.stderr
        (port,) = free_ports(1)
        settings = ["-c", "listen_addresses=127.0.0.1", "-c", "fsync=off", "-k", str(directory), "-p", str(port)]
        server = [*user, str(programs / "postgres"), "-D", str(directory / "data"), *settings]
        log = directory / "server.log"
        with running(server, log) as process:
            wait_for("PostgreSQL", lambda: _accepts(Postgres(port)), process, log)
            yield Postgres(port)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _accepts(server: Postgres) -> bool:
    import psycopg

    try:
        return server.run("SELECT 1") == [(1,)]
    except psycopg.OperationalError:
        return False
