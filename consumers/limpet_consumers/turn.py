"""The pipeline: one turn over three ports (store, frontier, HTTP). It needs no thread of its own.

    lease -> one transaction: outcomes of what finished, attempts of what starts -> relay -> fetch, extract

Whatever dies between two lines of it leaves either nothing or committed work, an outbox row to relay, and a lease
that lapses.
"""

from __future__ import annotations

import random
import secrets
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from limpet_consumers.clock import FrontierClock
from limpet_consumers.held import Held
from limpet_consumers.http import Http
from limpet_consumers.inflight import InFlight, Inline, Threaded, wanted_threads
from limpet_consumers.journal import Journal, Metered
from limpet_consumers.login import Access
from limpet_consumers.robots import RobotsCache
from limpet_consumers.runtime import SiteRuntime
from limpet_consumers.step import Step, Timing
from limpet_consumers.turnstile import Turnstile
from limpet_store import attempts, sample
from limpet_store.admission import HostRules
from limpet_store.attempts import Attempt, Lease
from limpet_store.errors import FrontierError, StoreError, StoreUnavailable
from limpet_store.frontier import MOST_SLACK, CursorMissing, Frontier
from limpet_store.outcome import Kind, Limits, Outcome
from limpet_store.rebuild import rebuild
from limpet_store.relay import Relay
from limpet_store.retry import ROBOTS_AGE
from limpet_store.scope import Scope
from limpet_store.store import Store
from limpet_store.witness import Witness

SLOWEST = 20  # requests over which the longest lag is looked for
MEASURE = 20  # requests before the number in flight is settled
MEASURE_WAIT = 1.0  # or seconds that they have waited
LEAST_SLACK = 0.1  # seconds
SCOPE_EVERY = 1.0  # seconds


@dataclass(slots=True)
class Progress:
    """What a worker has done so far: `answers` to lease calls, `commits` of turns, and so on. `next_at` is when the
    frontier has something next (ms), None: nothing."""

    answers: int = 0
    commits: int = 0
    leased: int = 0
    outcomes: int = 0
    refused: int = 0
    put_back: int = 0
    messages: int = 0
    relayed: int = 0
    next_at: int | None = None


class Worker:
    """One worker on one crawl: its ports, its leases, what is in flight, what is finished and not committed."""

    def __init__(
        self,
        store: Store,
        frontier: Frontier,
        http: Http,
        site: SiteRuntime,
        *,
        token: str,
        witness: Witness,
        nobody_works: Callable[[], bool] = lambda: False,
        stopping: Callable[[], bool] = lambda: False,
        alive: Callable[[], None] = lambda: None,
        last_fence: int | None = None,
        threads: int = 1,
        clock: FrontierClock | None = None,
        journal: Journal | None = None,
    ) -> None:
        self.store = store
        self.frontier = frontier
        self.site = site
        self.token = token
        self.progress = Progress()
        self.clock = clock or FrontierClock()
        self._journal = journal
        http = Metered(http, journal) if journal else http
        self.held = Held(site.knobs.lease, self.clock.boot, *([journal.lost] if journal else []))
        self.hosts = HostRules(
            delay=site.delay, max_in_flight=site.max_in_flight, robots=site.robots, max_pages=site.max_pages
        )
        self.limits = Limits(site.knobs.max_attempts, site.knobs.max_lost, site.knobs.time_scale)
        self._periods = site.periods
        self._witness = witness
        self._relay = Relay(store, frontier, witness)
        self._nobody_works = nobody_works
        self._stopping = stopping
        self._alive = alive  # called before each request: the watchdog's sign of life
        self._last_fence = last_fence
        self._scope = Scope(store.db, site.hosts, site.bounds)
        self._robots = RobotsCache(site.user_agent, self._rules_of, obey=site.robots)
        self._timing = Timing()
        self._turnstile: Turnstile | None = None
        access = None
        if site.account:
            access = Access(site.account, http, site.knobs.total_timeout)
            self._turnstile = Turnstile(access, frontier, token, site.knobs.lease, self.clock.boot)
        share = sample.share(store)
        self._step = Step(
            site, http, self._scope, self.clock.now, self._timing, share, access, self._robots.allowed
        )
        self._inflight: InFlight = self._flights(site.knobs.threads or threads)
        self._finished: list[Outcome] = []
        self._alone = False
        self._in_hand: set[int] = set()  # pages attempted and not committed
        self._scoped_at = 0.0
        self._calls = 0
        self._lags: deque[float] = deque(
            maxlen=SLOWEST
        )  # seconds from lease to request, on hosts with a delay

    def turn(self, *, take: bool = True) -> bool:
        """One turn; False when there was nothing to do. `take` False finishes what is in hand and leases nothing.

        Raises FrontierUnavailable after having committed what was finished; StoreUnavailable and StoreReborn
        leave everything to be leased again, but for what was committed and could not be relayed.
        """
        self.held.check()
        trouble: Exception | None = None
        leases: list[Lease] = []
        try:
            leases = self._lease() if take else []
        except FrontierError as error:
            trouble = error
        hand, relayed = self.in_hand(), self.progress.relayed
        started = self._attempted(leases)
        try:
            self.relay()
        except (FrontierError, StoreUnavailable, OSError) as error:
            trouble = trouble or error  # what was attempted is begun all the same
        self._settle_login()
        self._inflight.start(started)
        self._finished = self._inflight.collect()
        self._adapt()
        if trouble:
            raise trouble
        return bool(started or hand or self.progress.relayed > relayed)  # what was relayed may be visible now

    def _attempted(self, leases: list[Lease]) -> list[Attempt]:
        """The transaction; when the store fails, what was just leased is given back."""
        try:
            return self._transact(leases)
        except (StoreError, OSError):
            self.held.drop(lease.page for lease in leases)
            self._give_back(leases)
            raise

    def _lease(self) -> list[Lease]:
        """Lease what can start soon. The nonce names the worker, so that its leases can be ended if it dies."""
        free = 0 if self._alone else self._inflight.free()
        if free <= 0:
            return []
        want = free if free > 1 else self.site.knobs.group
        if self._turnstile and self._turnstile.one_by_one:
            if not self._turnstile.admits(self.in_hand()):
                self.progress.next_at = self.clock.now() + round(self._turnstile.pause * 1000)
                return []
            want = free = 1
        self._calls += 1
        nonce = f"{self.token}-{self._calls}-{secrets.token_hex(4)}"
        began, slack = self.clock.boot(), self._slack()
        try:
            reply = self.frontier.lease(
                nonce, want, free, lease=round(self.held.length * 1000), slack=round(slack * 1000),
                jitter=random.random(),
            )  # fmt: skip
        except CursorMissing as error:
            built = self.rebuild(error.drop)
            self.progress.next_at = self.clock.now() if built else None  # another builds it: no hurry
            return []
        self.progress.answers += 1
        self.clock.told(reply.now)
        self.progress.next_at = reply.next_at
        # A page of which this worker has lost the lease but not the request comes back to others, not to itself.
        mine = [lease for lease in reply.leases if lease.page not in self._in_hand]
        self.held.add(mine, began, slack)
        self.progress.leased += len(mine)
        if self._journal and mine:
            self._journal.leased(mine)
        return mine

    def _transact(self, leases: list[Lease]) -> list[Attempt]:
        if not leases and not self._finished:
            return []
        deciding = attempts.Rules(
            now=self.clock.now(), busy=len(self._inflight) > 0, max_lost=self.limits.max_lost,
            allowed=self._robots.allowed, fresh=self.held.fresh, last_fence=self._last_fence,
            robots_age=round(ROBOTS_AGE * self.limits.time_scale),
            excluded=self.site.bounds.excluded,
        )  # fmt: skip
        for host in {lease.host for lease in leases}:
            self._robots.warm(host, self._robots_at(host))
        began = self.clock.boot()
        result = self.store.turn(
            self._finished,
            leases,
            deciding=deciding,
            limits=self.limits,
            hosting=self.hosts,
            periods=self._periods,
        )
        if self._journal:
            self._journal.settled(self._finished, result, self.clock.boot() - began)
        self.progress.commits += 1
        over = [outcome.attempt.page.id for outcome in self._finished]
        self._in_hand.difference_update(over)
        self.held.drop(over)
        self._in_hand.update(attempt.page.id for attempt in result.attempts)
        self._follow_scope(result.attempts)
        self.progress.outcomes += len(self._finished) - result.refused
        self.progress.put_back += sum(outcome.kind is Kind.PUT_BACK for outcome in self._finished)
        self.progress.refused += result.refused
        self.progress.messages += result.messages
        self._finished = []
        self._alone = result.suspect
        started = {attempt.page.id for attempt in result.attempts}
        self.held.drop(lease.page for lease in leases if lease.page not in started)
        if result.unsettled and not started:
            self.progress.next_at = None  # somebody else may take them: there is no hurry to ask again
        self._give_back(result.unsettled)
        return sorted(result.attempts, key=lambda attempt: -attempt.page.delay)

    def _follow_scope(self, started: list[Attempt]) -> None:
        """Where seeds redirect to widens the scope; another worker may have committed that. What a robots.txt or a
        sitemap lists is read once a round, so it is read with the newest."""
        now = self.clock.boot()
        widened = any(o.kind is Kind.ALIAS for o in self._finished)
        matters = any(attempt.page.kind != "page" for attempt in started)
        if now - self._scoped_at > SCOPE_EVERY or widened or matters:
            # What was begun goes on: a page that is read in too small a scope is read again.
            with suppress(StoreUnavailable):
                self._scope.reload()
                self._scoped_at = now

    def _give_back(self, leases: list[Lease]) -> None:
        try:
            self.frontier.release(leases)
        except FrontierError:
            pass  # they lapse

    def _run(self, attempt: Attempt) -> Outcome:
        """Fetch a page, unless it must not start any more: its lease has lapsed, or its host's slot has passed."""
        page = attempt.page
        lag, late = self.held.lag(page.id)
        if page.delay > 0:
            self._lags.append(lag)
        if (late and page.delay > 0) or not self.held.alive(page.id):
            return Outcome(attempt=attempt, kind=Kind.PUT_BACK)
        return self._journal.run(self._step.run, attempt) if self._journal else self._step.run(attempt)

    def _run_inline(self, attempt: Attempt) -> Outcome:
        self._alive()  # each page has the time of a turn
        return self._run(attempt)

    def relay(self) -> None:
        """Apply what is committed, by whomever."""
        try:
            self.progress.relayed += (rows := self._relay.run())
            if self._journal and rows:
                self._journal.tally.add("relayed_rows", by=rows)
        except CursorMissing as error:
            self.rebuild(error.drop)

    def _settle_login(self) -> None:
        if self._turnstile:
            self._turnstile.settle(self.in_hand())

    def keep_login(self, frontier: Frontier) -> None:
        """Keep the lock of a login that takes longer than a lease; for the renewer."""
        if self._turnstile:
            self._turnstile.keep(frontier)

    def rebuild(self, drop: tuple[int, str] | None = None) -> bool:
        """Build the frontier from SQL; False when another does, or when it stands."""
        built = rebuild(
            self.store, self.frontier, self._witness, lease=round(self.held.length * 1000), drop=drop,
            nobody_works=self._nobody_works,
        )  # fmt: skip
        if self._journal and built:
            self._journal.tally.add("rebuilds")
        return built is not None

    def put_back(self) -> None:
        """A clean stop: what is in flight and unfinished is put back uncounted, what is finished is committed.

        Requests that are still out are abandoned; their pages are visible again at once.
        """
        abandoned = self._inflight.abandon()
        if len(self._inflight):
            self._finished += self._inflight.collect()
        self._finished += [Outcome(attempt=attempt, kind=Kind.PUT_BACK) for attempt in abandoned]
        self._transact([])
        self.relay()
        self._settle_login()

    def close(self) -> None:
        """Stop fetching; nothing is committed by this."""
        self._inflight.close()

    def in_hand(self) -> int:
        """Pages attempted and not committed."""
        return len(self._in_hand)

    def _rules_of(self, host: int) -> str | None:
        found = self.store.db.one("SELECT robots FROM hosts WHERE id = ?", (host,))
        return found[0] if found else None

    def _robots_at(self, host: int) -> int | None:
        found = self.store.db.one("SELECT robots_at FROM hosts WHERE id = ?", (host,))
        return found[0] if found else None

    def _flights(self, threads: int) -> InFlight:
        return Threaded(self._run, threads) if threads > 1 else Inline(self._run_inline, self._stopping)

    def _slack(self) -> float:
        """Seconds within which a leased page starts: twice the longest of late."""
        return min(MOST_SLACK / 1000, max(LEAST_SLACK, 2 * max(self._lags, default=0.0)))

    @property
    def threads(self) -> int:
        """How many requests it lets overlap now."""
        return self._inflight.threads if isinstance(self._inflight, Threaded) else 1

    def _adapt(self) -> None:
        """Settle the number in flight by what requests waited, once enough is known; unless the site fixes it."""
        timing = self._timing
        enough = timing.requests >= MEASURE or (timing.requests and timing.wait > MEASURE_WAIT)
        if self.site.knobs.threads or not enough:
            return
        wanted = wanted_threads(timing.wait / timing.requests)
        if isinstance(self._inflight, Threaded) and wanted > 1:
            self._inflight.threads = wanted
        elif wanted != self.threads and not len(self._inflight):
            self._inflight.close()
            self._inflight = self._flights(wanted)
        else:
            return
        timing.wait, timing.requests = 0.0, 0
