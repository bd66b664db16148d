"""Lines from a socket, with a loopback server."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from firesteel.connectors.socket import SocketSource
from firesteel.errors import ConfigurationError, JobError
from tests.unit.connectors.driver_readers import PATIENCE, Driven


@pytest.fixture
def server() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(PATIENCE)
        yield listening


def source_for(server: socket.socket, **options: Any) -> SocketSource:
    return SocketSource("127.0.0.1", server.getsockname()[1], **options)


def send(server: socket.socket, *parts: bytes) -> None:
    connection, _ = server.accept()
    with connection:
        for part in parts:
            connection.sendall(part)


def test_lines_arrive_and_the_end_of_the_connection_ends_the_source(server: socket.socket) -> None:
    with Driven(source_for(server)) as driven:
        send(server, b"one\ntw", b"o\r\n\nthr", b"ee")
        assert driven.take_all(max_records=2) == ["one", "two", "", "three"]
        assert driven.state is None


def test_a_delimiter_of_several_characters(server: socket.socket) -> None:
    with Driven(source_for(server, delimiter="||")) as driven:
        send(server, b"a\r||b|", b"|c\n")
        assert driven.take_all() == ["a\r", "b", "c\n"]


def test_characters_cut_by_the_network_and_bytes_that_are_no_text(server: socket.socket) -> None:
    with Driven(source_for(server)) as driven:
        send(server, "ä".encode()[:1], "ä".encode()[1:] + b"\n\xff\n")
        assert driven.take_all() == ["ä", "\ufffd"]


def test_connects_again_as_often_as_it_may_and_joins_what_was_cut(server: socket.socket) -> None:
    with Driven(source_for(server, max_retry=2, retry_delay=0)) as driven:
        send(server, b"one\ntw")
        send(server, b"o\n")
        send(server, b"three")
        assert driven.take_all() == ["one", "two", "three"]


def test_a_full_buffer_stops_receiving_and_nothing_is_lost(server: socket.socket) -> None:
    lines = [f"line {number}" for number in range(5_000)]
    with Driven(source_for(server, buffer_records=10)) as driven:
        sender = threading.Thread(target=send, args=(server, "\n".join(lines).encode()))
        sender.start()
        assert driven.take_all(max_records=50) == lines
        sender.join(PATIENCE)


def test_closing_ends_a_source_that_waits_for_data(server: socket.socket) -> None:
    driven = Driven(source_for(server))
    connection, _ = server.accept()
    with connection:
        connection.sendall(b"one\ntwo")
        driven.take_until(1)
        driven.reader.close()
        assert not driven.reader._thread.is_alive()  # type: ignore[attr-defined]
        assert driven.values == ["one"]


def test_a_reader_that_was_never_opened_can_be_closed() -> None:
    SocketSource("localhost", 1).create_driver_reader(0, 1).close()


def test_nobody_listening_is_an_error_with_the_address(server: socket.socket) -> None:
    port = server.getsockname()[1]
    server.close()
    with Driven(SocketSource("127.0.0.1", port)) as driven:
        driven.wait()
        with pytest.raises(JobError, match=f"127.0.0.1:{port} failed"):
            driven.reader.is_finished()


def test_states_that_nothing_can_be_read_twice() -> None:
    source = SocketSource("localhost", 1)
    assert (source.replayable, source.guarantee) == (False, "at-most-once")


@pytest.mark.parametrize(
    "options", [{"port": 0}, {"port": "9999"}, {"delimiter": ""}, {"max_retry": -2}, {"buffer_records": 0}]
)
def test_refuses_impossible_settings(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        SocketSource(**{"host": "localhost", "port": 9999, **options})


def test_has_parallelism_1() -> None:
    with pytest.raises(ConfigurationError, match="parallelism 1"):
        SocketSource("localhost", 9999).create_driver_reader(0, 2)
