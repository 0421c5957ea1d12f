"""Who lives on this machine: a file per process, locked while the process lives.

The lock is the fact; names and pid numbers are for people. A kill -9 frees a lock at once, so nothing here is
ever stale for longer than the kernel takes. The files may be left behind; whoever looks next removes them, but for
those of workers: they name whose leases are to be ended, and go when that was done (`bereft`, `bury`).
Only processes of this machine are seen: the home folder is on a local file system. In containers that share
it two of them may have the same pid, so a name that is taken gets a number.
"""

from __future__ import annotations

import fcntl
import os
import time
import weakref
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from typing import Self

ROLES = frozenset({"front", "worker", "horse"})
WORKING = frozenset({"worker", "horse"})  # the roles that hold leases
LOOK = 0.05  # seconds; who only looks at a file keeps its lock for less, and for longer does no harm


def try_lock(fd: int, how: int = fcntl.LOCK_EX) -> bool:
    """Take an flock without waiting; False when another open file has it."""
    try:
        fcntl.flock(fd, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def wait_lock(fd: int, how: int, timeout: float) -> bool:
    """Take an flock, looking every 5 ms for at most `timeout` seconds."""
    deadline = time.monotonic() + timeout
    while not try_lock(fd, how):
        if time.monotonic() >= deadline:
            return False
        time.sleep(0.005)
    return True


@dataclass(frozen=True, slots=True)
class Living:
    """A process that held its lock when it was looked at."""

    role: str
    pid: int


class Presence:
    """This process is alive in `home` under `role`, from `hold` to `close` or its death.

    A fork does not inherit it: the child closes its copy first thing, so that a child that outlives its
    parent does not pass for it.
    """

    def __init__(self, home: Path, role: str, name: str = "") -> None:
        """`name` is what the nonces of its leases begin with, for a worker or horse."""
        if role not in ROLES:
            raise ValueError(f"no such role: {role}")
        self._name = name
        self.path = home / "run" / f"{role}-{os.getpid()}"
        self._fd = -1

    def hold(self) -> Self:
        """Create and lock the file; doing it twice is the same as once."""
        if self._fd < 0:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.path, self._fd = _hold(self.path)
            os.ftruncate(self._fd, 0)
            os.write(self._fd, self._name.encode())
            _held.add(self)
        return self

    def keep(self) -> None:
        """Make the file again if somebody has removed it, but not its home. To be called now and then."""
        if self._fd >= 0 and not _is_named(self._fd, self.path) and self.path.parent.parent.is_dir():
            self._forget()
            self.hold()

    def close(self) -> None:
        """Leave; the file goes with the lock."""
        if self._fd >= 0:
            self.path.unlink(missing_ok=True)  # while locked: nobody else may remove or replace it
            self._forget()

    def _forget(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def __enter__(self) -> Self:
        return self.hold()

    def __exit__(self, *_: object) -> None:
        self.close()


class Recovery:
    """The lock under which a command looks whether anyone works and ends the leases of the dead.

    A work-horse shows its presence first, then waits here before it leases: either it was seen, or it begins
    after the reaping.
    """

    def __init__(self, home: Path) -> None:
        self._fd = os.open(home / "recovery.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def hold(self) -> None:
        """Keep others from recovering, and horses from beginning, until `close`."""
        fcntl.flock(self._fd, fcntl.LOCK_EX)

    def wait(self) -> None:
        """Wait for a recovery that is under way."""
        fcntl.flock(self._fd, fcntl.LOCK_SH)
        fcntl.flock(self._fd, fcntl.LOCK_UN)

    def close(self) -> None:
        fcntl.flock(self._fd, fcntl.LOCK_UN)
        os.close(self._fd)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


_held: weakref.WeakSet[Presence] = weakref.WeakSet()


def _forget_all() -> None:
    for presence in list(_held):
        presence._forget()
    _held.clear()


os.register_at_fork(after_in_child=_forget_all)


def _hold(wanted: Path) -> tuple[Path, int]:
    """Only the holder of a file's lock removes its name, so one locked while it is named keeps its name."""
    names = chain([wanted], (wanted.with_name(f"{wanted.name}.{number}") for number in count(2)))
    path = next(names)
    while True:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        if not wait_lock(fd, fcntl.LOCK_EX, LOOK) or _is_unburied(path):
            path = next(names)
        elif _is_named(fd, path):
            return path, fd
        os.close(fd)  # somebody else's, or removed as stale between our open and our lock


def _is_named(fd: int, path: Path) -> bool:
    try:
        named = os.stat(path)
    except FileNotFoundError:
        return False
    return os.path.samestat(named, os.fstat(fd))


def living(home: Path, roles: Iterable[str] = ROLES) -> list[Living]:
    """The processes of these roles that live in `home`, sorted; the files of the dead are removed."""
    wanted = frozenset(roles)
    found = [who for who, path in _files(home) if who.role in wanted and _is_held(path)]
    return sorted(found, key=lambda who: (who.role, who.pid))


def anyone_working(home: Path, besides: Path | None = None) -> bool:
    """Whether a process that may hold leases, or one that has such, lives in `home`; the caller counts, unless
    `besides` is its own file."""
    return any(path != besides and _is_held(path) for _, path in _files(home))


def _files(home: Path) -> Iterator[tuple[Living, Path]]:
    try:
        names = os.listdir(home / "run")
    except FileNotFoundError:
        return
    for name in names:
        role, _, number = name.rpartition("-")
        pid = number.partition(".")[0]
        if role in ROLES and pid.isdecimal():
            yield Living(role, int(pid)), home / "run" / name


def _is_held(path: Path) -> bool:
    try:
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        if not try_lock(fd, fcntl.LOCK_SH):  # shared: two lookers must not take each other for the owner
            return True
        if try_lock(fd, fcntl.LOCK_EX) and _is_named(fd, path) and not _is_unburied(path):
            path.unlink()
        return False
    finally:
        os.close(fd)


def _name_of(path: Path) -> str:
    try:
        return path.read_text().partition("/")[0]
    except (FileNotFoundError, UnicodeDecodeError):
        return ""


def _is_unburied(path: Path) -> bool:
    """Whether a file that nobody holds is a worker's whose leases are still to be ended."""
    return path.name.startswith("worker-") and bool(_name_of(path))


def bereft(home: Path) -> set[str]:
    """Names of workers that died on this machine, with all their work-horses, and were not buried."""
    alive, dead = set(), set()
    for who, path in _files(home):
        if who.role in WORKING and (name := _name_of(path)):
            if _is_held(path):
                alive.add(name)
            elif who.role == "worker":
                dead.add(name)
    return dead - alive


def bury(home: Path, name: str) -> None:
    """The leases of the worker of this name are ended: it is known no more."""
    for who, path in _files(home):
        if who.role == "worker" and _name_of(path) == name and not _is_held(path):
            path.unlink(missing_ok=True)
