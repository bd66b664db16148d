"""Who may talk to slot processes: the folder of their sockets, and the secret of a job."""

from __future__ import annotations

import os
import pickle
import socket
import stat
import threading
from multiprocessing import AuthenticationError
from multiprocessing.connection import Connection, answer_challenge, deliver_challenge
from pathlib import Path

import pytest

from firesteel.execution.spark.relay import SlotSettings, _Folder


def settings(secret: bytes = b"secret of the application") -> SlotSettings:
    return SlotSettings("job", 1, b"secret of the job", secret, [], [], False, None, 1.0, 1.0)


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("os.getppid", os.getpid)  # whoever started the tests may be gone, as an executor may not


def test_the_folder_is_for_this_user_alone_and_its_name_depends_on_a_secret(tmp_path: Path) -> None:
    with _Folder(settings(), create=True) as mine, _Folder(settings(b"another"), create=True) as other:
        assert mine.path != other.path
        assert stat.S_IMODE(os.stat(mine.path).st_mode) == 0o700
        with _Folder(settings(), create=True) as again:
            assert again.path == mine.path


@pytest.mark.parametrize("trap", ["link", "open to others", "file", "of another user"])
def test_what_somebody_else_has_put_there_is_not_used(
    trap: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with _Folder(settings(), create=True) as mine:
        path = Path(mine.path)
    if trap == "link":
        path.rmdir()
        (tmp_path / "elsewhere").mkdir(mode=0o700)
        path.symlink_to(tmp_path / "elsewhere")
    elif trap == "file":
        path.rmdir()
        path.touch()
    elif trap == "open to others":
        path.chmod(0o777)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)

    with pytest.raises((OSError, RuntimeError)):
        _Folder(settings(), create=True)


def test_a_folder_that_is_exchanged_after_it_was_checked_is_not_followed(tmp_path: Path) -> None:
    """The symlink flip: the check sees one folder, the connection goes to another."""
    with _Folder(settings(), create=True) as mine:
        trap = tmp_path / "trap"
        trap.mkdir()
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(trap / "keeper"))
            listener.listen()
            os.rename(mine.path, tmp_path / "moved")
            os.symlink(trap, mine.path)
            with pytest.raises(FileNotFoundError):
                mine.connect("keeper", b"secret")


class Touch:
    """Unpickled, it makes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> object:
        return Path.touch, (self.path,)


@pytest.mark.parametrize("knows", [True, False])
def test_both_sides_have_to_know_the_secret(knows: bool, tmp_path: Path) -> None:
    """Whoever only got at the socket can have nothing unpickled, neither as a server nor as a client."""
    trap = tmp_path / "unpickled"
    with _Folder(settings(), create=True) as folder, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"/proc/self/fd/{folder.descriptor}/keeper")
        listener.listen()

        def serve() -> None:
            connection = Connection(listener.accept()[0].detach())
            with connection:
                try:
                    key = b"the secret" if knows else b"a guess"
                    deliver_challenge(connection, key)
                    answer_challenge(connection, key)
                    connection.send_bytes(pickle.dumps(Touch(trap)))
                except (AuthenticationError, EOFError, OSError):
                    pass

        server = threading.Thread(target=serve)
        server.start()
        if knows:
            with folder.connect("keeper", b"the secret") as connection:
                pickle.loads(connection.recv_bytes())
        else:
            with pytest.raises(AuthenticationError):
                folder.connect("keeper", b"the secret")
        server.join()
    assert trap.exists() == knows


def test_a_path_may_be_longer_than_a_socket_s(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the temporary directories of YARN's containers are."""
    deep = tmp_path / ("a" * 90) / ("b" * 90)
    deep.mkdir(parents=True)
    monkeypatch.setattr("tempfile.tempdir", str(deep))
    with _Folder(settings(), create=True) as folder, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"/proc/self/fd/{folder.descriptor}/keeper")
        listener.listen()
        accepted: list[bool] = []

        def serve() -> None:
            with Connection(listener.accept()[0].detach()) as connection:
                deliver_challenge(connection, b"the secret")
                answer_challenge(connection, b"the secret")
                accepted.append(True)

        server = threading.Thread(target=serve)
        server.start()
        folder.connect("keeper", b"the secret").close()
        server.join()
        assert accepted == [True]
