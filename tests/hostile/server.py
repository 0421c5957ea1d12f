"""A server of plain sockets that misbehaves as it is told, and keeps a log of all that reaches it.

What it says at a path is a script: bytes, and what else a peer can do to a connection. A list of scripts is used up
one a request, its last one for ever. HERE and OTHER stand for its own URL and another server's; they are as long as
the real ones, so that a script may count its bytes.
"""

from __future__ import annotations

import re
import socket
import struct
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum

HERE, OTHER = "http://127.0.0.1:00001", "http://127.0.0.1:00002"
MOST = 70_000  # bytes of a request's head


class Do(Enum):
    """What a script may do besides sending."""

    CLOSE = "close"
    RESET = "reset"  # at once, what was sent and not read is lost
    HALF_CLOSE = "half-close"  # nothing more is sent, and the connection stays
    HANG = "hang"  # until the other side has had enough


CLOSE, RESET, HALF_CLOSE, HANG = Do


@dataclass(frozen=True)
class Endless:
    """The same bytes over and over, until the other side has had enough; with a `pause` of seconds between them."""

    piece: bytes
    pause: float = 0.0


@dataclass(frozen=True)
class Asked:
    """One request."""

    connection: int
    method: str
    target: str
    headers: Mapping[str, str]  # names in lower case


Step = bytes | Do | Endless
Script = Step | tuple[Step, ...]
Answer = Script | Callable[[Asked], Script]
Answers = Mapping[str, Answer | Sequence[Answer]]

LOST = (b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",)


@dataclass
class Hostile:
    """One listening socket, its threads, and what it was asked."""

    answers: Answers
    greeting: Script | None = None  # said to each connection before anything is asked; nothing is read then
    ports: dict[bytes, bytes] = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)
    connections: int = 0
    bytes_read: int = 0

    def __post_init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=100)
        self.port: int = self._listener.getsockname()[1]
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._served: Counter[str] = Counter()
        self._open: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        self._run(self._accept)

    def stop(self) -> None:
        """End all connections, and wait for all threads."""
        self._over.set()
        with self._lock:
            for each in (self._listener, *self._open):
                _shut(each)
        for thread in self._threads:  # the first one, which adds to them, ends first
            thread.join(10)
            assert not thread.is_alive(), "the server does not stop"
        self._listener.close()

    def counts(self) -> dict[str, int]:
        """Requests by target."""
        return dict(Counter(asked.target for asked in self.asked))

    def _run(self, work: Callable[..., None], *args: object) -> None:
        thread = threading.Thread(target=work, args=args, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while not self._over.is_set():
            try:
                peer, _ = self._listener.accept()
            except OSError:
                return
            with self._lock:
                self._open.add(peer)
                self.connections += 1
                number = self.connections
            self._run(self._serve, peer, number)

    def _serve(self, peer: socket.socket, number: int) -> None:
        try:
            if self.greeting is not None:
                self._perform(peer, self.greeting)
                return
            rest = b""
            while found := self._read(peer, rest, number):
                asked, rest = found
                if not self._perform(peer, self._script(asked)):
                    return
        except OSError:
            pass
        finally:
            with self._lock:
                self._open.discard(peer)
                peer.close()

    def _read(self, peer: socket.socket, rest: bytes, number: int) -> tuple[Asked, bytes] | None:
        """The next request of a connection and what came after it; None where there is no more."""
        while b"\r\n\r\n" not in rest and len(rest) < MOST:
            piece = peer.recv(65_536)
            self.bytes_read += len(piece)
            if not piece:
                return None
            rest += piece
        head, _, rest = rest.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        length = int(headers.get("content-length", 0))
        while len(rest) < length:
            rest += peer.recv(65_536) or b"?" * length
        method, _, target = first.partition(" ")
        asked = Asked(number, method, target.rpartition(" ")[0], headers)
        with self._lock:
            self.asked.append(asked)
        return asked, rest[length:]

    def _script(self, asked: Asked) -> Script:
        answer = self.answers.get(asked.target, LOST)
        if isinstance(answer, list):
            with self._lock:
                turn = self._served[asked.target]
                self._served[asked.target] += 1
            answer = answer[min(turn, len(answer) - 1)]
        return answer(asked) if callable(answer) else answer  # type: ignore[return-value]

    def _perform(self, peer: socket.socket, script: Script) -> bool:
        """Whether the connection is kept."""
        for step in script if isinstance(script, tuple) else (script,):
            if isinstance(step, bytes):
                peer.sendall(self.real(step))
            elif isinstance(step, Endless):
                while not self._over.wait(step.pause) if step.pause else not self._over.is_set():
                    peer.sendall(step.piece)
            elif step is HALF_CLOSE:
                peer.shutdown(socket.SHUT_WR)
            elif step is HANG:
                while peer.recv(65_536):
                    pass
                return False
            else:
                if step is RESET:
                    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                return False
        return True

    def real(self, text: bytes) -> bytes:
        """The text with the real ports."""
        return re.sub(rb":0000[12]", lambda found: self.ports[found[0]], text) if b":0000" in text else text


def _shut(each: socket.socket) -> None:
    try:
        each.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass


@contextmanager
def serving(here: Hostile, other: Hostile) -> Iterator[None]:
    """Both servers at work, each knowing where the other is."""
    ports = {b":00001": b":%05d" % here.port, b":00002": b":%05d" % other.port}
    try:
        for each in (here, other):
            each.ports = ports
            each.start()
        yield
    finally:
        for each in (here, other):
            each.stop()
