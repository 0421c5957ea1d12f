"""The leases that a worker holds, and their renewal in the background.

A lease covers stalls, not slow pages: it is renewed at a third of its length for as long as the page is in hand.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass

from limpet_store.attempts import Lease
from limpet_store.errors import FrontierError
from limpet_store.frontier import CursorMissing, Frontier

log = logging.getLogger("limpet.lease")


@dataclass(slots=True)
class _Hold:
    lease: Lease
    since: float  # boot clock at the lease call
    until: float
    slack: float  # seconds after `since` within which its request may begin on a host with a delay


class Held:
    """What is leased now, by page. Used by the worker's thread, its fetchers and the renewer."""

    def __init__(
        self,
        length: float,
        boot: Callable[[], float],
        on_lost: Callable[[list[Lease]], None] = lambda leases: None,
    ) -> None:
        self.length = length  # seconds
        self._boot = boot
        self._on_lost = on_lost  # in the renewer's thread
        self._holds: dict[int, _Hold] = {}
        self._lock = threading.Lock()
        self.failure: BaseException | None = None  # what ended the renewer

    def add(self, leases: Iterable[Lease], since: float, slack: float) -> None:
        """Note leases given by a call that began at `since`, the earliest that they can have begun, and that paid
        for `slack` seconds."""
        with self._lock:
            for lease in leases:
                self._holds[lease.page] = _Hold(lease, since, since + self.length, slack)

    def drop(self, pages: Iterable[int]) -> None:
        with self._lock:
            for page in pages:
                self._holds.pop(page, None)

    def __contains__(self, page: int) -> bool:
        return page in self._holds

    def __len__(self) -> int:
        return len(self._holds)

    def fresh(self, lease: Lease) -> bool:
        """Whether more than a third of it is left: enough to begin an attempt."""
        hold = self._holds.get(lease.page)
        return hold is not None and hold.until - self._boot() > self.length / 3

    def alive(self, page: int) -> bool:
        """Whether a request may go out: without its lease a worker sends none."""
        hold = self._holds.get(page)
        return hold is not None and hold.until > self._boot()

    def lag(self, page: int) -> tuple[float, bool]:
        """Seconds since the page was leased, and whether that is more than its lease call paid for."""
        hold = self._holds.get(page)
        if hold is None:
            return 0.0, True
        age = self._boot() - hold.since
        return age, age > hold.slack

    def check(self) -> None:
        """Raise what ended the renewer: without it every lease lapses (R-6)."""
        if self.failure is not None:
            raise self.failure

    def renew(self, frontier: Frontier) -> None:
        """Renew all; a lost one is forgotten, so that its request is not sent. What is fetched is committed all
        the same: the fence decides."""
        with self._lock:
            leases = [hold.lease for hold in self._holds.values()]
        if not leases:
            return
        began = self._boot()
        kept = frontier.renew(leases, round(self.length * 1000))
        lost: list[Lease] = []
        with self._lock:
            for lease, ours in zip(leases, kept, strict=True):
                hold = self._holds.get(lease.page)
                if hold is None or hold.lease != lease:
                    continue
                if ours:
                    hold.until = began + self.length
                else:
                    del self._holds[lease.page]
                    lost.append(lease)
        if lost:
            self._on_lost(lost)


class Renewer:
    """A thread that renews at a third of the lease, on a connection of its own, opened by `connect`; `also` is what
    else is kept."""

    def __init__(
        self,
        held: Held,
        connect: Callable[[], AbstractContextManager[Frontier]],
        also: Callable[[Frontier], None] = lambda frontier: None,
    ) -> None:
        self._held = held
        self._also = also
        self._connect = connect
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="limpet-renew", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End the thread; it is not waited for longer than a call may take."""
        self._stop.set()
        self._thread.join(timeout=5)

    def _run(self) -> None:
        try:
            with self._connect() as frontier:
                while not self._stop.wait(self._held.length / 3):
                    self._renew(frontier)
        except BaseException as error:
            self._held.failure = error

    def _renew(self, frontier: Frontier) -> None:
        try:
            self._also(frontier)
            self._held.renew(frontier)
        except CursorMissing:
            pass  # a rebuild restores what is open under its nonce
        except FrontierError as error:
            log.debug("leases not renewed: %s", error)
