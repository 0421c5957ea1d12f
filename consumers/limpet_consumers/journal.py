"""What a worker says of its pages, one line each, and counts of them. Without one nothing is measured.

A page is followed through all processes by its URL and attempt: lease and attempt, fetch, outcome or refusal, a lost
lease. Lines that a crawl in order has for every page are of the level info; those that only the search for a mistake
wants are of the level debug.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, cast

from limpet_consumers.http import FetchFailed, Http, LogsIn, Request, Response
from limpet_consumers.tally import Tally
from limpet_store.attempts import Attempt, Lease, PageRow
from limpet_store.event import Event, Field
from limpet_store.message import rfc3339
from limpet_store.outbox import Entry
from limpet_store.outcome import Kind, Outcome
from limpet_store.secret import hidden
from limpet_store.store import TurnResult

log = logging.getLogger("limpet.page")
TRIED_AGAIN = frozenset({Kind.RETRY, Kind.BLOCKED, Kind.REFUSED})


@dataclass(frozen=True, slots=True)
class Took:
    """Seconds, and bytes of bodies after unpacking, of one attempt."""

    fetch: float
    extract: float
    bytes: int


class _Here(threading.local):
    """What the attempt that this thread works on has fetched so far."""

    seconds = 0.0
    bytes = 0


class Journal:
    """One slice's. Its fetchers' threads call `run`, all else is the worker's own thread's but for `lost`."""

    def __init__(self, tally: Tally) -> None:
        self.tally = tally
        self._here = _Here()
        self._took: dict[int, Took] = {}  # by fence
        self._hand: dict[int, Attempt] = {}  # by page

    # -- on the way

    def leased(self, leases: Sequence[Lease]) -> None:
        """Pages are this worker's for a while."""
        self.tally.add("leases", by=len(leases))
        if log.isEnabledFor(logging.DEBUG):
            for lease in leases:
                log.debug(Event("lease", page=lease.page, nonce=lease.nonce))

    def lost(self, leases: Sequence[Lease]) -> None:
        """Pages are somebody else's, or nobody's, while they are in hand. The renewer's thread calls it."""
        self.tally.add("lease_losses", by=len(leases))
        for lease in leases:
            attempt = self._hand.get(lease.page)
            named = _named(attempt) if attempt else {"page": lease.page, "nonce": lease.nonce}
            log.info(Event("lease lost", **named))

    def run(self, step: Callable[[Attempt], Outcome], attempt: Attempt) -> Outcome:
        """Fetch and extract a page; any thread."""
        here = self._here
        here.seconds, here.bytes = 0.0, 0
        began = perf_counter()
        outcome = step(attempt)
        took = Took(here.seconds, perf_counter() - began - here.seconds, here.bytes)
        self._took[attempt.fence] = took
        if log.isEnabledFor(logging.DEBUG):
            log.debug(
                Event("fetch", **_named(attempt), outcome=_word(outcome.kind), **_measured(outcome, took))
            )
        return outcome

    def asked(self, status: str, seconds: float, size: int) -> None:
        """A request was made; any thread. `status` is the class of its answer, or that there was none."""
        self._here.seconds += seconds
        self._here.bytes += size
        self.tally.add("requests", status)
        self.tally.add("body_bytes", by=size)
        self.tally.observe("fetch_seconds", seconds)

    # -- what became of it

    def settled(self, done: Sequence[Outcome], result: TurnResult, seconds: float) -> None:
        """A transaction is durable: outcomes of what was done, attempts of what begins."""
        self.tally.observe("commit_seconds", seconds)
        if done:
            self.tally.observe("group_pages", len(done))
        self.tally.add("messages", by=result.messages)
        for outcome, entry in zip(done, result.entries, strict=True):
            self._settle(outcome, entry)
        for page, reason in result.buried:
            self.tally.add("pages", _word(Kind.DEAD), reason)
            log.info(Event("outcome", url=page.url, page=page.id, outcome=_word(Kind.DEAD), reason=reason))
        for attempt in result.attempts:
            self._begin(attempt)

    def _settle(self, outcome: Outcome, entry: Entry | None) -> None:
        attempt = outcome.attempt
        if self._hand.get(attempt.page.id) is attempt:
            del self._hand[attempt.page.id]
        took = self._took.pop(attempt.fence, None)
        again = _again(entry)
        word = _word(Kind.DEAD if outcome.kind in TRIED_AGAIN and entry and again is None else outcome.kind)
        if entry is None:
            self.tally.add("refused")
        else:
            self.tally.add("pages", word, outcome.reason or "")
        if log.isEnabledFor(logging.INFO):
            event = "outcome" if entry else "refused"
            said = _measured(outcome, took) | _given(outcome, entry)
            log.info(Event(event, **_named(attempt), outcome=word, **said, again_at=again))

    def _begin(self, attempt: Attempt) -> None:
        page = attempt.page
        self._hand[page.id] = attempt
        if page.open:
            self.tally.add("repeats")
        if log.isEnabledFor(logging.DEBUG):
            log.debug(
                Event("attempt", **_named(attempt), repeat=bool(page.open) or None, failures=page.failures)
            )


class Metered:
    """The Http port, with what each request took."""

    def __init__(self, http: Http, journal: Journal) -> None:
        self._http = http
        self._journal = journal

    def fetch(self, request: Request, deadline: float) -> Response:
        """As any transport's."""
        began = perf_counter()
        try:
            response = self._http.fetch(request, deadline)
        except FetchFailed:
            self._journal.asked("none", perf_counter() - began, 0)
            raise
        self._journal.asked(f"{response.status // 100}xx", perf_counter() - began, len(response.body))
        return response

    def log_in(self, login: Callable[[Any], object], deadline: float) -> bool:
        """As that of one that logs in."""
        return cast(LogsIn, self._http).log_in(login, deadline)


def _named(attempt: Attempt) -> dict[str, Field]:
    page: PageRow = attempt.page
    return {"url": page.url, "page": page.id, "attempt": attempt.fence, "nonce": attempt.nonce}


def _measured(outcome: Outcome, took: Took | None) -> dict[str, Field]:
    said: dict[str, Field] = {"reason": outcome.reason, "status": outcome.status}
    if outcome.error:
        said["error"] = hidden(outcome.error)
    if took:
        said |= {"fetch_ms": _ms(took.fetch), "extract_ms": _ms(took.extract), "bytes": took.bytes}
    return said


def _given(outcome: Outcome, entry: Entry | None) -> dict[str, Field]:
    return {
        "records": len(outcome.parts),
        "links": len(outcome.discoveries),
        "rejected": len(outcome.rejections) or None,
        "messages": len(entry.messages) if entry else None,
    }


def _again(entry: Entry | None) -> str | None:
    """When the page is due again, by the op that closes its entry; None when it is done with."""
    op = entry.ops[-1] if entry and entry.ops else ("k",)
    return rfc3339(int(op[4])) if op[0] == "p" else None


def _word(kind: Kind) -> str:
    return kind.value.replace(" ", "_")


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 1)
