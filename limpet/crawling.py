"""The main job: `limpet crawl` from its first line to its exit code."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from limpet.engine import Engine
from limpet.exits import Exit, pass_on, say, verdict
from limpet.pool import Pool
from limpet.progress import EVERY_PLAIN, Progress
from limpet.shown import one_line, plain, seconds
from limpet.stopping import Stopping
from limpet_consumers.ways import check_secrets
from limpet_producer import enqueue
from limpet_store import pausing, refreshing, rounds, sample, standing, summary
from limpet_store.content import canonical_json, content_hash
from limpet_store.errors import FrontierError, ServerRefused, StoreUnavailable
from limpet_store.items import Link
from limpet_store.message import rfc3339
from limpet_store.periods import NO_PERIODS
from limpet_store.retry import LOGINS
from limpet_store.store import StoreReborn, wall_ms
from limpet_store.summary import counted

POLL = 0.05  # seconds the pool is waited for
DRAIN_SLACK = 10.0  # seconds that a drain may last beyond the longest request


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What the user asked for; seconds. `limit` bounds the pages of this run, `max_time` its seconds; `sample` is the
    share (0 to 1) of the pages that lead no further; `drain`: the first signal lets what is in hand be finished."""

    limit: int | None = None
    sample: float | None = None
    max_time: float | None = None
    wait: float = 60.0
    every: float | None = None
    refresh: bool = False
    drain: bool = False


class Crawl:
    """One run of the crawl command."""

    again = "crawl"  # the command that goes on after an interruption

    def __init__(self, engine: Engine, wish: Wish) -> None:
        check_secrets(engine.site)  # before anything is made
        self._metrics_at = engine.show_metrics()  # likewise
        self.engine = engine
        self.wish = wish
        self.store = engine.store
        self._stopping = Stopping(drain=wish.drain)
        self._last_fence: int | None = None
        self._ending: str | None = None  # why it stops early
        self._look_again = 0.0
        self._began = time.monotonic()

    def run(self) -> Exit:
        """Crawl; returns how it ended."""
        engine = self.engine
        say(f"{engine.site.name}: state in {engine.place}")
        if engine.ignores_robots:
            say("robots.txt is neither read nor obeyed (--ignore-robots)")
        if self._metrics_at:
            say(f"metrics at {self._metrics_at}")
        _ = engine.server
        engine.presence()
        ended = engine.recover()
        if ended:
            say(f"{ended} pages were in the hands of processes that died; they go on at once")
        if not self._prepare():
            return self._report()
        self._explain_wait(ended)
        with self._stopping:
            if not self._ended_already():
                self._work()
        return self._report()

    # -- before

    def _prepare(self) -> bool:
        """Seeds, round, limit; False when there is nothing to do."""
        engine, store = self.engine, self.store
        entries, bounds = _told(engine.site.entries), engine.site.bounds
        added = enqueue.seeds(store, entries, engine.rules, now=engine.now(), bounds=bounds)
        for reason, count in sorted(added.left_out.items()):
            say(f"{counted(count, 'seed')} left out: {reason}")
        self._follow()
        self._lift()
        again = sample.choose(store, self.wish.sample, engine.now())
        if again:
            say(f"{counted(again, 'page')} that an earlier sample left out")
        self._say_changed_code()
        self._take_periods()
        self._let_refresh()
        current = rounds.last(store)
        if current is not None and self._is_over(current):
            if self._new_round_is_due(current):
                if rounds.supersede(store, engine.now()):
                    say(f"round {current.number} ends with pages that failed; the next one tries them again")
                rounds.start(store, "asked for" if self.wish.refresh else "scheduled", engine.now())
            elif current.finished_at is not None:
                self._say_finished(current)
                return False
        self._make_due()
        return True

    def _follow(self) -> None:
        """What the site says of hosts by now is in force before anything is leased."""
        if self.store.follow(self.engine.rules, now=self.engine.now()):
            self.engine.relay()

    def _lift(self) -> None:
        """Somebody has looked: logins that failed are tried again."""
        lifted = self.store.lift(now=self.engine.now())
        if lifted:
            say(f"logins had failed on {counted(lifted, 'host')}: tried again")

    def _take_periods(self) -> None:
        """What the site says of refresh periods by now holds for finished pages too."""
        store, periods = self.store, self.engine.site.periods or NO_PERIODS
        changed = refreshing.reschedule(store, periods, self.engine.now())
        if changed:
            say(f"refresh periods have changed: {counted(changed, 'page')} rescheduled")

    def _let_refresh(self) -> int:
        """Make due what is due again by itself; returns how many pages."""
        periods = self.engine.site.periods
        if periods is None or refreshing.soonest(self.store.db) is None:
            return 0
        return refreshing.make_due(self.store, self.engine.now(), periods.longest)

    def _is_over(self, current: rounds.Round) -> bool:
        """Whether the round is finished, or has nothing left but pages that were tried in it and failed."""
        if current.finished_at is not None and not rounds.pending(self.store):
            return True
        return (
            current.finished_at is None and current.refreshed_to is None and rounds.only_leftovers(self.store)
        )

    def _make_due(self) -> None:
        """Make the open round's pages due, let the frontier know, and settle the limit."""
        engine, store = self.engine, self.store
        count = rounds.refresh(store, engine.now(), listed=not engine.site.lastmod)
        if count:
            say(f"a new round: {counted(count, 'page')} looked at again")
        engine.relay()
        if self.wish.limit is not None:
            self._last_fence = store.db.value("SELECT fence FROM meta") + self.wish.limit

    def _new_round_is_due(self, current: rounds.Round) -> bool:
        if self.wish.refresh or self.wish.every is None:
            return self.wish.refresh
        # Cron starts a little earlier or later each time: a round that is nearly due is due.
        return self._age(current) >= self.wish.every - min(self.wish.every / 20, 3600)

    def _age(self, current: rounds.Round) -> float:
        """Seconds since the round began."""
        return (self.engine.now() - current.started_at) / 1000

    def _say_finished(self, current: rounds.Round) -> None:
        """Why nothing is done, and when or how the next round begins."""
        assert current.finished_at is not None
        if self.wish.every is not None:
            age = self._age(current)
            left = seconds(self.wish.every - age)
            say(f"round {current.number} began {seconds(age)} ago; the next is due in {left}")
            return
        say(
            f"round {current.number} was finished at {rfc3339(current.finished_at)}: nothing is left to do. "
            "--refresh looks at every page again now, --every 24h when it is time"
        )

    def _say_changed_code(self) -> None:
        site = self.engine.site
        again = self.store.take_code(_hash({**site.codes(), "": site.bounds.said}), now=self.engine.now())
        if again:
            say(
                f"{counted(again, 'page')} failed in a handler, and handlers have changed since: due again now"
            )
        stale = summary.stale_pages(self.store, self.engine.site.codes())
        if stale:
            say(
                f"{counted(stale, 'page')} were read by handlers that have changed since; --refresh reads them again"
            )
        unread = summary.readable_now(self.store, self.engine.site.match)
        if unread:
            say(
                f"{counted(unread, 'page')} that matched no handler would match one now; --refresh reads them again"
            )

    def _explain_wait(self, ended: int) -> None:
        status = self.engine.frontier.status()
        if status.leased and not ended and not self.engine.embedded:
            say(
                f"{status.leased} pages are in the hands of other workers; if those are dead, the pages are free"
                f" within {seconds(self.engine.site.knobs.lease)}"
            )

    # -- meanwhile

    def _work(self) -> None:
        pool = self._pool()
        progress = Progress(self.store)
        pool.start()
        try:
            while not self._stopping:
                pool.poll(POLL)
                if pool.rests():
                    continue
                with pool.waits_out():
                    progress.show()
                    self.store.db.check_file()
                    if self.store.identity().store_id != pool.store_id:
                        pool = self._reborn(pool)
                    if self._ended():
                        break
            if self._stopping and not self._stopping.hurry:
                self._drain(pool)
        finally:
            self._stop(pool)
            progress.end()

    def _pool(self) -> Pool:
        return Pool(self.engine, self.engine.settings.workers, last_fence=self._last_fence, on_line=pass_on)

    def _reborn(self, pool: Pool) -> Pool:
        """The store went back in time and speaks as a new source: workers of the old life are replaced."""
        pool.stop()
        self.store.source = self.store.identity()
        fresh = self._pool()
        fresh.start()
        return fresh

    def _drain(self, pool: Pool) -> None:
        """Until the workers have finished what they had leased; not longer than a request may take, and a little."""
        say("draining: pages in hand are finished, and no others begun (again: stop now)")
        pool.drain()
        until = time.monotonic() + self.engine.site.knobs.total_timeout + DRAIN_SLACK
        while pool.left and not self._stopping.hurry and time.monotonic() < until:
            pool.poll(POLL)

    def _stop(self, pool: Pool) -> None:
        if self._stopping.hurry:
            say("stopping: pages in hand are finished or put back (again: at once)")
            self.engine.hurry()
        pool.stop()
        try:
            self.engine.recover()
        except (FrontierError, ServerRefused, StoreUnavailable, OSError) as error:
            say(f"{plain(str(error))}: what is left to tell Redis is told by the next run")
        else:
            pool.well()

    def _ended_already(self) -> bool:
        """Whether there is nothing to start workers for."""
        try:
            return self._ended()
        except FrontierError:
            return False  # which is waited out with a pool

    def _ended(self) -> bool:
        """Whether to stop, and why. Raises FrontierError and StoreUnavailable where it cannot be known now."""
        if self._stopping:
            return True
        if self.wish.max_time is not None and time.monotonic() - self._began >= self.wish.max_time:
            self._ending = f"after {seconds(self.wish.max_time)}, as asked for"
            return True
        if not rounds.pending(self.store):
            return self._finish()
        if self._limit_reached():
            self._ending = f"{counted(self.wish.limit or 0, 'page')}, as asked for"
            return True
        return self._nothing_soon()

    def _finish(self) -> bool:
        try:
            lastmod = self.engine.site.lastmod
            rounds.refresh(self.store, self.engine.now(), listed=not lastmod)  # one that was killed half-way
            if self._left_for_the_end() or rounds.pending(self.store):
                return False
            rounds.finish(self.store, self.engine.now())
            self.engine.relay()
        except StoreReborn:
            return False
        return True

    def _left_for_the_end(self) -> bool:
        """Make due, after all else, what sitemaps were to speak of and did not, and what waits to be read with all that
        is handed down to it; whether there was any."""
        try:
            count = rounds.rest(self.store, self.engine.now())
        except StoreReborn:
            return True  # the next look will tell
        if count:  # the workers relay it
            say(f"{counted(count, 'page')} left for the end: looked at again")
        return count > 0

    def _limit_reached(self) -> bool:
        if self._last_fence is None or self.store.db.value("SELECT fence FROM meta") < self._last_fence:
            return False
        return self.store.db.one("SELECT 1 FROM pages WHERE open = 1 LIMIT 1") is None

    def _nothing_soon(self) -> bool:
        """Whether everything that is left is due later than the user wants to wait for."""
        if time.monotonic() < self._look_again:
            return False
        began = time.monotonic()
        self._look_again = began + 1.0
        now = self.engine.now()
        due = summary.next_due(self.store, now)
        spent = time.monotonic() - began
        self._look_again = time.monotonic() + max(1.0, 10 * spent)
        if due is not None and due - now <= self.wish.wait * 1000:
            return False
        if self._left_for_the_end() or not rounds.pending(self.store):
            return False  # the last page may have been committed since this was asked
        self._ending = f"nothing is due before {rfc3339(due)}" if due else self._closed()
        return True

    def _closed(self) -> str:
        if pausing.is_paused(self.store):
            return f"the crawl is paused, `limpet resume {self.engine.site_file}` goes on"
        held = any(host.held for host in standing.hosts(self.store, wall_ms())[1])
        return "no login works" if held else "every host is paused"

    # -- after

    def _report(self) -> Exit:
        facts = summary.summarise(self.store, self.engine.site.codes())
        for line in summary.sentences(facts):
            say(one_line(line))
        if self._stopping:
            say(f"interrupted; `limpet {self.again} {self.engine.site_file}` goes on from here")
            return self._stopping.code
        if self._ending:
            for host in standing.hosts(self.store, wall_ms())[1]:
                if host.held:
                    say(one_line(f"{host.origin} is held after {LOGINS} failed logins; {host.error}"))
                    say(
                        f"mend the login or the secret, then run `limpet {self.again} {self.engine.site_file}` again"
                    )
                elif host.error:
                    say(one_line(f"{host.origin} does not answer as it should: {host.error}"))
            say(f"stopped early: {self._ending}")
            return Exit.STOPPED_EARLY
        code = verdict(facts, pending=rounds.pending(self.store))
        if code == Exit.EMPTY:
            say(
                f"no record was found: `limpet try {self.engine.site_file} --follow` shows what each handler finds"
            )
        return code


def _told(entries: Iterable[Link]) -> Iterator[Link]:
    """The seeds, with a sign of life now and then: a function may give millions."""
    said = time.monotonic()
    for count, link in enumerate(entries, 1):
        yield link
        if count % enqueue.CHUNK == 0 and time.monotonic() - said > EVERY_PLAIN:
            said = time.monotonic()
            say(f"{counted(count, 'seed')} so far")


def _hash(codes: Mapping[str, str]) -> str:
    return content_hash(canonical_json(dict(codes)))
