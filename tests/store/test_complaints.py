"""What a Redis in trouble says, in words; checked on what redis-py makes of real answers."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress

import pytest
from redis.exceptions import RedisError, ResponseError

from limpet_store.complaints import complaint, passes
from limpet_store.server import connect


def answered(line: str) -> RedisError:
    """The error that redis-py raises when a server answers so."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with suppress(OSError):
            while True:
                peer, _ = listener.accept()
                with peer:
                    while peer.recv(65_536):
                        peer.sendall(f"-{line}\r\n".encode())

    threading.Thread(target=serve, daemon=True).start()
    with listener, pytest.raises(RedisError) as caught:
        connect(f"redis://127.0.0.1:{listener.getsockname()[1]}").execute_command("GET", "x")
    return caught.value


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("LOADING Valkey is loading the dataset in memory", "Redis is loading its data"),
        ("NOAUTH Authentication required.", "Redis wants another password"),
        ("WRONGPASS invalid username-password pair", "Redis wants another password"),
        ("READONLY You can't write against a read only replica.", "Redis takes no writes: it is a replica"),
        ("OOM command not allowed when used memory > 'maxmemory'.", "Redis is full"),
        ("MASTERDOWN Link with MASTER is down", "Redis is a replica that has lost its master"),
        ("BUSY Valkey is busy running a script.", "Redis is busy with a script"),
        ("MISCONF Valkey is configured to save RDB snapshots", "Redis takes no writes: it could not save"),
        ("NOREPLICAS Not enough good replicas to write.", "Redis takes no writes: too few replicas"),
        ("ERR max number of clients reached", "Redis has too many clients"),
    ],
)
def test_a_state_of_the_server_is_named_and_may_pass(line: str, words: str) -> None:
    error = answered(line)
    assert complaint(error).startswith(words)
    assert passes(error)


def test_what_nobody_else_would_be_told_does_not_pass() -> None:
    error = answered("WRONGTYPE Operation against a key holding the wrong kind of value")
    assert isinstance(error, ResponseError)
    assert not passes(error)
    assert complaint(error).startswith("Redis refuses (")


def test_silence_passes() -> None:
    with pytest.raises(RedisError) as caught:
        connect("redis://127.0.0.1:1").ping()
    assert passes(caught.value)
    assert complaint(caught.value).startswith("Redis does not answer (")
    assert "\n" not in complaint(caught.value)
