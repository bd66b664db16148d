"""Doors of direct exchange: who knows the secret gets in, and nobody else learns or stops anything."""

from __future__ import annotations

import queue
import socket
import struct
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from firesteel.errors import ConfigurationError
from firesteel.execution.direct import door as door_module
from firesteel.execution.direct.door import Address, Door, Pass, dial, parse_ports
from firesteel.execution.direct.lines import Line, LineLostError

SECRET = b"s" * 32
_TLS_ALERT = 21


class OpenDoor:
    def __init__(self, encrypted: bool = False) -> None:
        self.ticket = Pass(SECRET, encrypted)
        self.arrivals: queue.SimpleQueue[tuple[Line, list[Any]]] = queue.SimpleQueue()
        self.door = Door(self.ticket, lambda line, first: self.arrivals.put((line, first)))
        self.door.listen_on_port("127.0.0.1", range(1))

    def friend_gets_in(self) -> None:
        line = dial(self.door.address, self.ticket, ("hello", 1), same_host=False)
        known, first = self.arrivals.get(timeout=10)
        assert first == [("hello", 1)]
        line.close()
        known.close()


@pytest.fixture(params=[False, True], ids=["plain", "encrypted"])
def opened(request: pytest.FixtureRequest) -> Iterator[OpenDoor]:
    opened = OpenDoor(request.param)
    yield opened
    opened.door.close()


def said_to(stranger: socket.socket) -> bytes:
    """Everything that the door says to a stranger until it hangs up."""
    stranger.settimeout(10)
    heard = b""
    try:
        while part := stranger.recv(4096):
            heard += part
    except ConnectionError:
        pass
    return heard


def test_who_knows_the_secret_gets_in(opened: OpenDoor) -> None:
    opened.friend_gets_in()


@pytest.mark.feature("RT-06")
def test_a_wrong_secret_is_refused_on_both_sides(opened: OpenDoor) -> None:
    with pytest.raises((ConnectionError, PermissionError)):
        dial(opened.door.address, Pass(b"x" * 32, opened.ticket.encrypted), ("hello", 1), same_host=False)
    assert opened.arrivals.empty()
    opened.friend_gets_in()


def test_an_impostor_that_listens_learns_nothing_and_is_found_out() -> None:
    with socket.create_server(("127.0.0.1", 0)) as impostor:
        address = Address(host="127.0.0.1", port=impostor.getsockname()[1])
        answers: queue.SimpleQueue[Any] = queue.SimpleQueue()

        def call() -> None:
            try:
                answers.put(dial(address, Pass(SECRET), ("secret plans",), same_host=False))
            except Exception as error:
                answers.put(error)

        threading.Thread(target=call, daemon=True).start()
        victim, _ = impostor.accept()
        victim.sendall(b"n" * 32)
        heard = b""
        while len(heard) < 64:
            heard += victim.recv(64)
        victim.sendall(heard[32:])  # played back
        assert isinstance(answers.get(timeout=10), PermissionError)
        assert len(heard) == 64 and SECRET not in heard
        victim.close()


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(nonsense=st.one_of(st.binary(max_size=200), st.binary(min_size=64, max_size=64)))
def test_nonsense_gets_a_random_number_and_nothing_else(opened: OpenDoor, nonsense: bytes) -> None:
    with socket.create_connection(("127.0.0.1", opened.door.address.port)) as stranger:
        try:
            stranger.sendall(nonsense)
            stranger.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # it has hung up already
        heard = said_to(stranger)
    assert len(heard) in (0, 32) or (opened.ticket.encrypted and heard[0] == _TLS_ALERT)
    assert opened.arrivals.empty()
    opened.friend_gets_in()


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(at=st.integers(0, 63), flip=st.integers(1, 255))
def test_a_proof_with_one_wrong_byte_is_no_proof(opened: OpenDoor, at: int, flip: int) -> None:
    """Whatever byte of what a friend would say is changed, it is not let in, and hears no proof."""
    with socket.create_connection(("127.0.0.1", opened.door.address.port)) as raw:
        raw.settimeout(10)
        known, channel = door_module._encrypt(raw, opened.ticket, False)
        theirs, mine = door_module._exactly(known, 32), b"m" * 32
        said = bytearray(mine + door_module._proof(opened.ticket, b"caller", theirs, mine, channel))
        said[at] ^= flip
        known.sendall(said)
        assert said_to(known) == b""
        known.close()
    assert opened.arrivals.empty()


def test_what_a_friend_has_said_opens_no_door_when_it_is_played_back() -> None:
    opened = OpenDoor()
    with socket.create_server(("127.0.0.1", 0)) as middle:
        overheard = bytearray()
        carrier = carrying(middle, opened.door.address.port, overheard)
        line = dial(Address(host="127.0.0.1", port=middle.getsockname()[1]), opened.ticket, ("hello",), same_host=False)
        opened.arrivals.get(timeout=10)[0].close()
        line.close()
        carrier.join(10)
    with socket.create_connection(("127.0.0.1", opened.door.address.port)) as stranger:
        stranger.sendall(bytes(overheard))
        assert len(said_to(stranger)) == 32
    assert opened.arrivals.empty()
    opened.door.close()


def test_who_sits_between_two_friends_and_decrypts_is_found_out() -> None:
    """Both friends speak to one in the middle that has an encrypted channel with each, and hands all on."""
    opened = OpenDoor(encrypted=True)
    with socket.create_server(("127.0.0.1", 0)) as middle:

        def listen() -> None:
            caller, _ = middle.accept()
            with caller, socket.create_connection(("127.0.0.1", opened.door.address.port)) as called:
                to_caller, _ = door_module._encrypt(caller, opened.ticket, True)
                to_called, _ = door_module._encrypt(called, opened.ticket, False)
                to_caller.sendall(door_module._exactly(to_called, 32))
                to_called.sendall(door_module._exactly(to_caller, 64))
                heard.put(said_to(to_called))
                to_caller.close()
                to_called.close()

        heard: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        thread = threading.Thread(target=listen, daemon=True)
        thread.start()
        address = Address(host="127.0.0.1", port=middle.getsockname()[1])
        with pytest.raises(OSError), pytest.MonkeyPatch.context() as once:
            once.setattr(door_module, "_TRIES", 1)
            dial(address, opened.ticket, ("secret plans",), same_host=False)
        assert heard.get(timeout=10) == b""
        thread.join(10)
    assert opened.arrivals.empty()
    opened.door.close()


@pytest.mark.parametrize("heard", [False, True], ids=["at once", "after its first words"])
def test_a_friend_that_was_sent_away_for_others_calls_again(
    opened: OpenDoor, monkeypatch: pytest.MonkeyPatch, heard: bool
) -> None:
    answer, sent_away = door_module._answer, []

    def send_first_away(visitor: socket.socket, ticket: Pass) -> socket.socket:
        if not sent_away:
            sent_away.append(visitor)
            if heard and ticket.encrypted:  # then nothing is lost with the connection: it ends in good order
                visitor.recv(10_000)
            visitor.close()
            raise ConnectionError("too many are here")
        return answer(visitor, ticket)

    monkeypatch.setattr(door_module, "_answer", send_first_away)
    opened.friend_gets_in()
    assert sent_away


def test_a_crowd_that_says_nothing_keeps_nobody_out(opened: OpenDoor) -> None:
    crowd = [socket.create_connection(("127.0.0.1", opened.door.address.port)) for _ in range(100)]
    opened.friend_gets_in()
    for each in crowd:
        each.close()


def test_who_says_nothing_has_to_go(opened: OpenDoor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(door_module, "_VISIT_SECONDS", 0.05)
    with socket.create_connection(("127.0.0.1", opened.door.address.port)) as stranger:
        assert len(said_to(stranger)) in (0, 32)


def test_encrypted_lines_do_not_show_what_is_said() -> None:
    opened = OpenDoor(encrypted=True)
    with socket.create_server(("127.0.0.1", 0)) as middle:
        overheard = bytearray()
        carrier = carrying(middle, opened.door.address.port, overheard)
        address = Address(host="127.0.0.1", port=middle.getsockname()[1])
        line = dial(address, opened.ticket, ("hello " * 50,), same_host=False)
        opened.arrivals.get(timeout=10)[0].close()
        line.close()
        carrier.join(10)
    assert overheard and b"hello" not in overheard
    opened.door.close()


def carrying(middle: socket.socket, port: int, overheard: bytearray) -> threading.Thread:
    def carry(source: socket.socket, target: socket.socket) -> None:
        try:
            while data := source.recv(4096):
                overheard.extend(data)
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            return

    def run() -> None:
        caller, _ = middle.accept()
        with caller, socket.create_connection(("127.0.0.1", port)) as called:
            back = threading.Thread(target=carry, args=(called, caller), daemon=True)
            back.start()
            carry(caller, called)
            back.join(10)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread


def test_lines_carry_messages_of_any_size_in_order() -> None:
    left, right = (Line(each) for each in socket.socketpair(socket.AF_UNIX))
    sent = [("small", 1), ("large", b"x" * 5_000_000), ("small", 2)]
    for message in sent:
        left.send(message)
    got: list[Any] = []
    while len(got) < 3:
        left.flush()
        got += right.receive()
    assert got == sent
    left.close()
    with pytest.raises(LineLostError):
        right.receive()
    right.close()


def test_a_frame_that_ends_early_is_no_message() -> None:
    left, right = socket.socketpair(socket.AF_UNIX)
    line = Line(right)
    left.sendall(struct.pack("<Q", 100) + b"half")
    assert line.receive() == []
    left.close()
    with pytest.raises(LineLostError):
        line.receive()
    line.close()


@pytest.mark.parametrize(("text", "ports"), [("0", range(1)), ("50100", range(50100, 50101)), ("5-7", range(5, 8))])
def test_ports(text: str, ports: range) -> None:
    assert parse_ports(text) == ports


@pytest.mark.parametrize("text", ["", "a", "7-5", "1-70000", "-1", "1-2-3"])
def test_wrong_ports_are_refused(text: str) -> None:
    with pytest.raises(ConfigurationError, match="expected a port"):
        parse_ports(text)


def test_a_range_without_a_free_port_is_an_error_that_names_the_setting() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigurationError, match=r"firesteel\.direct\.ports"):
            Door(Pass(SECRET), lambda line, first: None).listen_on_port("127.0.0.1", range(port, port + 1))
