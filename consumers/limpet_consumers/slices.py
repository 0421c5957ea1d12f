"""A slice: work on one crawl for a while. It opens its own ports, takes turns, and leaves them clean.

It ends when its time is over, when it has done or holds enough, when nothing is pending, or when it is told to stop.
Trouble with Redis or the store is waited out with back-off (`outage`); whatever else goes wrong ends the process (R-6).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Event

from limpet_consumers.clock import boot_seconds
from limpet_consumers.held import Renewer
from limpet_consumers.http import Http
from limpet_consumers.journal import Journal
from limpet_consumers.outage import REDIS, STORE, Backoff, Tell, in_words, on_its_own, what_fails
from limpet_consumers.process import disarm, rearm, resident
from limpet_consumers.runtime import SiteRuntime
from limpet_consumers.turn import Worker
from limpet_consumers.ways import way_of
from limpet_store import net, rounds
from limpet_store.errors import FrontierError, StoreUnavailable
from limpet_store.feeder import feed
from limpet_store.frontier import Frontier
from limpet_store.server import Server
from limpet_store.store import Store, StoreReborn
from limpet_store.witness import Witness

log = logging.getLogger("limpet.slice")

TROUBLE = (FrontierError, StoreUnavailable, OSError)  # of which some may pass: see `what_fails`
IDLE_LEAST, IDLE_LONGEST = 0.005, 0.25  # seconds between two looks at a frontier that has nothing now
ARM_EVERY = 1.0  # seconds between two signs of life for the watchdog
WEIGH_EVERY = 1.0  # seconds between two looks at how much memory this process holds
MB = 1_000_000
NET_EVERY = 1.0  # seconds between two looks for lost pages, while there is nothing to do
FEED_EVERY = 60.0  # seconds between two looks at the horizon


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a crawl lives: what a worker process is told on its command line."""

    crawl: str
    store: Path
    server_url: str
    last_fence: int | None = None


class Slice:
    """One slice of one worker. `should_stop` is asked before each lease; `draining` too: what is leased then is
    finished. `tell` hears of trouble that is waited out."""

    def __init__(
        self,
        place: Place,
        site: SiteRuntime,
        *,
        token: str,
        should_stop: Callable[[], bool] = lambda: False,
        draining: Callable[[], bool] = lambda: False,
        nobody_works: Callable[[], bool] = lambda: False,
        http: Http | None = None,
        journal: Journal | None = None,
        tell: Tell | None = None,
    ) -> None:
        self._place = place
        self._site = site
        self._token = token
        self._should_stop = should_stop
        self._draining = draining
        self._nobody_works = nobody_works
        self._http = http
        self._journal = journal
        self._pause = Event()
        self._tell = tell or on_its_own(log.warning)
        self._backoff = Backoff()
        self._troubled = {REDIS, STORE}  # for all that is known: an earlier slice may have been
        self._netted_at = self._fed_at = self._armed_at = 0.0
        self._weighed_at = boot_seconds()
        self.totals: dict[str, int] = {}

    def run(self, seconds: float) -> dict[str, int]:
        """Take turns for so many seconds; returns what was done, by name."""
        until = boot_seconds() + seconds
        with ExitStack() as left:
            http = self._http or left.enter_context(closing(way_of(self._site)))
            worker = self._begin(http, left, until)
            if worker is None:
                return self.totals
            try:
                self._work(worker, until)
            except StoreReborn as error:
                log.error("%s; leases dropped", error)  # the next slice works for the new life
            finally:
                self._count(worker)
        return self.totals

    def _begin(self, http: Http, left: ExitStack, until: float) -> Worker | None:
        """Its worker, with all ports open; None when the store could not be opened in time."""
        while boot_seconds() < until and not self._should_stop():
            with ExitStack() as opened:
                try:
                    store = Store.open(self._place.store, self._place.crawl, create=False)
                    opened.callback(store.close)
                    worker = self._open(store, http, opened)
                except TROUBLE as error:
                    self._wait_out(error)
                else:
                    left.enter_context(opened.pop_all())
                    return worker
        return None

    def _work(self, worker: Worker, until: float) -> None:
        while worker.clock.boot() < until and not self._should_stop() and not self._draining():
            self._alive()
            if not self._turn(worker) or self._is_full(worker):
                break
        self._leave(worker)

    def _open(self, store: Store, http: Http, left: ExitStack) -> Worker:
        store_id = store.source.store_id

        @contextmanager
        def connected() -> Iterator[Frontier]:
            server = Server(self._place.server_url)
            try:
                yield Frontier(server, self._place.crawl, store_id)
            finally:
                server.close()

        witness = Witness(self._place.store)
        left.callback(witness.close)
        frontier = left.enter_context(connected())
        worker = Worker(
            store, frontier, http, self._site, token=self._token, witness=witness,
            nobody_works=self._nobody_works, stopping=self._should_stop, alive=self._alive,
            last_fence=self._place.last_fence, threads=self._pace(frontier), journal=self._journal,
        )  # fmt: skip
        renewer = Renewer(worker.held, connected, worker.keep_login)
        renewer.start()
        left.callback(disarm)
        left.callback(renewer.stop)
        left.callback(worker.close)
        return worker

    def _alive(self) -> None:
        """The watchdog's sign of life: the process ends itself when the next one is late.

        Arming it makes a thread, a tenth of a page's cost: once a second is often enough.
        """
        now = boot_seconds()
        if now - self._armed_at > ARM_EVERY:
            self._armed_at = now
            rearm(self._site.knobs.turn_limit)

    def _is_full(self, worker: Worker) -> bool:
        """Whether a fresh work-horse should go on: what a site's own code keeps goes with this one."""
        knobs, now = self._site.knobs, boot_seconds()
        if 0 < knobs.slice_pages <= worker.progress.outcomes:
            return True
        if now - self._weighed_at < WEIGH_EVERY:
            return False
        self._weighed_at = now
        if (held := resident()) <= knobs.max_memory * MB:
            return False
        log.info("a work-horse held %d MB: the next slice begins with a fresh one", held // MB)
        return True

    def _turn(self, worker: Worker) -> bool:
        """One turn, whatever it runs into; False when all is done."""
        answers, commits = worker.progress.answers, worker.progress.commits
        try:
            if self._done(worker):
                return False
            busy = worker.turn()
            self._feed(worker)
            if not busy:
                self._idle(worker)
        except TROUBLE as error:
            self._wait_out(error)
            return True
        self._backoff.over()
        if self._troubled:
            self._well(REDIS, worker.progress.answers > answers)
            self._well(STORE, worker.progress.commits > commits)
        return True

    def _well(self, what: str, so: bool) -> None:
        """Say that work goes on. Of what nothing was asked nothing is known."""
        if so and what in self._troubled:
            self._troubled.discard(what)
            self._tell(what, None)

    def _wait_out(self, error: Exception) -> None:
        """Say what the trouble is, and wait before the next try. Raises what will not pass."""
        what = what_fails(error)
        if what is None:
            raise error
        self._troubled.add(what)
        self._tell(what, in_words(error))
        until, step = boot_seconds() + self._backoff(), 0.2
        while boot_seconds() < until and not self._should_stop():
            self._pause.wait(step)
            self._alive()

    def _feed(self, worker: Worker) -> None:
        """See to the horizon, busy or not: beyond it no retry is let in."""
        boot = worker.clock.boot()
        if boot - self._fed_at > FEED_EVERY:
            self._fed_at = boot
            feed(worker.store, worker.frontier.fed(), worker.clock.now())

    def _idle(self, worker: Worker) -> None:
        """Nothing to lease now: look at the net, then wait for what is due next."""
        boot = worker.clock.boot()
        if boot - self._netted_at > NET_EVERY:
            self._netted_at = boot
            net.check(worker.store, worker.frontier, worker.clock.now(), worker.rebuild)
        next_at = worker.progress.next_at
        wait = IDLE_LONGEST if next_at is None else (next_at - worker.clock.now()) / 1000
        self._pause.wait(min(max(wait, IDLE_LEAST), IDLE_LONGEST))

    def _done(self, worker: Worker) -> bool:
        """Nothing in hand and nothing pending anywhere; looked at only when the last turn found nothing."""
        idle = worker.in_hand() == 0 and worker.progress.next_at is None
        return idle and not rounds.pending(worker.store)

    def _pace(self, frontier: Frontier) -> int:
        """How many requests an earlier slice found worth overlapping; 1 when none has said."""
        try:
            return frontier.pace()
        except FrontierError:
            return 1

    def _leave(self, worker: Worker) -> None:
        """Finish what is in flight, unless told to stop; commit what is finished, put back what is not."""
        until = worker.clock.boot() + self._site.knobs.total_timeout
        while worker.in_hand() and not self._should_stop() and worker.clock.boot() < until:
            self._alive()
            try:
                worker.turn(take=False)
            except TROUBLE as error:
                self._wait_out(error)
        try:
            worker.put_back()
            worker.frontier.note_pace(worker.threads)
        except (FrontierError, StoreUnavailable) as error:
            log.info("left without putting back: %s", error)  # the leases lapse

    def _count(self, worker: Worker) -> None:
        for name, value in asdict(worker.progress).items():
            if isinstance(value, int) and name != "next_at":
                self.totals[name] = self.totals.get(name, 0) + value
