"""Outages of Redis and of the store. They are waited out with back-off, and told once for a whole pool.

All processes of a pool meet the same trouble. So a worker tells its supervisor alone, at each try that failed and when
work goes on; the supervisor says what is new, and when it is over for all.
"""

from __future__ import annotations

import errno
import json
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from limpet_consumers.tally import mark_of, to_supervisor
from limpet_store.errors import FrontierError, StoreUnavailable

FIRST, LONGEST = 1.0, 10.0  # seconds between two tries
SILENCE = 45.0  # seconds: one in trouble that says nothing more for so long is in none, or is no more
REDIS, STORE = "Redis", "the store"
DISK = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.ENOMEM, errno.EMFILE, errno.ENFILE}
)

Tell = Callable[[str, str | None], None]
"""What is in trouble (REDIS, STORE) and the complaint, None when work goes on."""


class Backoff:
    """How long to wait before the next try: 1 s, then twice as long each time, 10 s at most."""

    def __init__(self) -> None:
        self._next = FIRST

    def __call__(self) -> float:
        wait, self._next = self._next, min(2 * self._next, LONGEST)
        return wait

    def over(self) -> None:
        self._next = FIRST


def what_fails(error: Exception) -> str | None:
    """What an error that may pass is about; None for one that will not, or is none of ours."""
    if isinstance(error, FrontierError):
        return REDIS
    if isinstance(error, StoreUnavailable) or (isinstance(error, OSError) and error.errno in DISK):
        return STORE
    return None


def in_words(error: Exception) -> str:
    """The complaint of an error that may pass."""
    if isinstance(error, OSError):
        return f"{error.filename or 'the state'}: {error.strerror}"
    return str(error)


def patiently(
    do: Callable[[], object],
    tell: Tell,
    stopping: Callable[[], bool] = lambda: False,
    seconds: float = math.inf,
) -> bool:
    """Do it as soon as it can be done; False when told to stop before, or after so many seconds."""
    backoff, until = Backoff(), time.monotonic() + seconds
    while not stopping() and time.monotonic() < until:
        try:
            do()
        except (FrontierError, StoreUnavailable, OSError) as error:
            if (what := what_fails(error)) is None:
                raise
            tell(what, in_words(error))
            time.sleep(backoff())
        else:
            tell(STORE, None)
            return True
    return False


@dataclass(frozen=True, slots=True)
class Reporter:
    """Tells the supervisor. `who` is the part of the worker that speaks: each is in trouble for itself."""

    worker: str
    who: str

    def __call__(self, what: str, complaint: str | None) -> None:
        said = json.dumps({"outage": what, "of": f"{self.worker} {self.who}", "complaint": complaint})
        to_supervisor(f"{mark_of(self.worker)}{said}\n".encode())


@dataclass(slots=True)
class _Outage:
    """One, from the first that is in trouble to the last that is out of it."""

    began: float
    said: set[str] = field(default_factory=set)
    heard: dict[str, float] = field(default_factory=dict)  # who -> when


class Outages:
    """Those of a pool, as its supervisor knows them. `warn` says a line, `now` is in seconds."""

    def __init__(self, warn: Callable[[str], None], now: Callable[[], float] = time.monotonic) -> None:
        self._warn = warn
        self._now = now
        self._outages: dict[str, _Outage] = {}

    def heard(self, report: str) -> bool:
        """Take what a Reporter sent; False when it is something else."""
        try:
            said = json.loads(report)
            what, who, complaint = said["outage"], said["of"], said["complaint"]
        except (ValueError, TypeError, KeyError):
            return False
        self.tell(str(who), str(what), None if complaint is None else str(complaint))
        return True

    def tell(self, who: str, what: str, complaint: str | None) -> None:
        """`who` is in trouble, or out of it."""
        if complaint is None:
            if what in self._outages:
                self._outages[what].heard.pop(who, None)
                self.look()
            return
        outage = self._outages.setdefault(what, _Outage(self._now()))
        outage.heard[who] = self._now()
        kind = complaint.partition(" (")[0]
        if kind not in outage.said:
            outage.said.add(kind)
            self._warn(f"{complaint}: waiting, work goes on by itself")

    def forget(self, worker: str) -> None:
        """A worker has died: what troubled it does not any more."""
        for outage in self._outages.values():
            for who in [who for who in outage.heard if who.startswith(f"{worker} ")]:
                del outage.heard[who]
        self.look()

    def look(self) -> None:
        """Say what is over. To be called now and then."""
        now = self._now()
        for what, outage in list(self._outages.items()):
            if any(now - at < SILENCE for at in outage.heard.values()):
                continue
            del self._outages[what]
            self._warn(f"{what} works again after {now - outage.began:.0f} s")

    def end(self) -> None:
        """All that is left of them is over: whoever was in trouble has ended, and what it needed was there since."""
        for outage in self._outages.values():
            outage.heard.clear()
        self.look()

    def __contains__(self, what: str) -> bool:
        return what in self._outages


def on_its_own(warn: Callable[[str], None]) -> Tell:
    """For a process without a supervisor."""
    outages = Outages(warn)
    return lambda what, complaint: outages.tell("", what, complaint)
