"""How a crawl stands, gathered for `limpet status`: from the store, and from Redis if that answers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from redis.exceptions import RedisError

from limpet import looking
from limpet.engine import Engine
from limpet.looking import Glimpse, glimpse
from limpet.shown import one_line, seconds
from limpet_consumers.tickets import Standing as Queue
from limpet_consumers.tickets import Tickets
from limpet_store import pausing, rounds, standing, summary
from limpet_store.failures import EXPECTED
from limpet_store.message import rfc3339
from limpet_store.presence import WORKING, living
from limpet_store.server import connect
from limpet_store.standing import HostStanding
from limpet_store.store import wall_ms
from limpet_store.summary import Summary, counted

PATIENCE = 1.0  # seconds for the dearest count: those who ask wait for it
STATES = ("pending", "done", "alias", "dead", "gone", "held")


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """One look at a crawl; times in ms. None stands for what could not be found out."""

    crawl: str
    site_file: Path
    store: Path
    at: int
    counts: Summary
    pending: bool
    paused: bool
    in_flight: int
    next_due: int | None
    round: rounds.Round | None
    hosts_total: int
    hosts: list[HostStanding]
    workers: int  # on this machine
    redis: str  # one word: running, "not running", lost
    lag: int | None
    queue: Queue | None
    trouble: str | None  # of Redis

    def problems(self) -> Iterator[str]:
        """What somebody should look at, worst first; one line each."""
        if self.trouble:
            yield one_line(self.trouble)
        if self.paused:
            yield f"the crawl is paused: `limpet resume {self.site_file}` goes on"
        for reason in sorted(self.counts.dead):
            if reason not in EXPECTED:
                yield one_line(summary.dead(self.counts, reason))
        if self.counts.failing:
            yield one_line(summary.failing(self.counts))
        if self.counts.missed:
            yield one_line(summary.missed(self.counts))
        if self.counts.rejected:
            yield one_line(
                f"{counted(self.counts.rejected, 'record')} rejected, e.g. {self.counts.rejection}"
            )
        yield from (line for host in self.hosts if (line := _host_problem(host, self.at)))
        if held := self.counts.states.get("held"):
            yield f"held: {counted(held, 'page')}"
        if self.queue and self.queue.failed:
            yield f"failed within the last hour: {counted(self.queue.failed, 'slice')}; the log of the pool says why"
        if self.queue and self.queue.refused:
            refused = ", ".join(f"{count} {reason}" for reason, count in sorted(self.queue.refused.items()))
            yield one_line(f"jobs in the queue that were none of ours, and were not run: {refused}")
        if self.in_flight and not self.workers and self.redis == "not running":
            yield f"in flight when the workers died: {counted(self.in_flight, 'page')}; the next run goes on with them"
        if self.counts.unmatched:
            example = self.counts.unmatched_url
            yield one_line(f"{counted(self.counts.unmatched, 'page')} matched no handler, e.g. {example}")
        if self.counts.stale:
            yield f"read by handlers that have changed since: {counted(self.counts.stale, 'page')}"


def _host_problem(host: HostStanding, now: int) -> str | None:
    if host.held:
        return one_line(f"{host.origin} is held until the next crawl command; {host.error}")
    if host.paused:
        return one_line(f"{host.origin} is paused")
    if host.blocked_until:
        why = "rests" if host.resting else "asked to be left alone"
        rest = seconds((host.blocked_until - now) / 1000)
        return one_line(f"{host.origin} {why} for another {rest}: {host.error or 'no reason kept'}")
    return None


def gather(engine: Engine) -> Status:
    """Look at everything once. Never starts a server. Raises UsageError when the crawl was never begun."""
    store = engine.existing_store()
    with glimpse(engine) as seen:
        now, redis, lag = _frontier(engine, seen)
        queue = _queue(engine, seen)
    hosts_total, hosts = standing.hosts(store, now)
    return Status(
        crawl=store.crawl,
        site_file=engine.site_file,
        store=engine.settings.store_path,
        at=now,
        counts=summary.summarise(store, engine.site.codes(), dropped=False, patience=PATIENCE),
        pending=rounds.pending(store),
        paused=pausing.is_paused(store),
        in_flight=summary.in_flight(store),
        next_due=summary.next_due(store, now),
        round=rounds.last(store),
        hosts_total=hosts_total,
        hosts=hosts,
        workers=len([who for who in living(engine.settings.home, WORKING) if who.role == "worker"]),
        redis=redis,
        lag=lag,
        queue=queue,
        trouble=seen.trouble,
    )


def _frontier(engine: Engine, seen: Glimpse) -> tuple[int, str, int | None]:
    """The time, the state of Redis in a word, and the lag."""
    if seen.live is None:
        return wall_ms(), "not running", None
    status = seen.live.frontier.status()
    lag = standing.rows_behind(engine.store, status.cursor) if status.cursor else None
    return status.now, "running" if lag is not None else "to be rebuilt", lag


def _queue(engine: Engine, seen: Glimpse) -> Queue | None:
    """Of the tickets, on all machines; None where Redis does not answer."""
    if seen.live is None:
        return None
    try:
        with connect(seen.live.url, timeout=looking.PATIENCE) as client:
            return Tickets(client, engine.site.name, engine.existing_store().source.store_id).look()
    except (RedisError, OSError):
        return None


def as_json(status: Status) -> dict[str, Any]:
    """The stable form: snake_case, seconds, RFC 3339 in UTC. Fields are added, never renamed."""
    counts = status.counts
    return {
        "crawl": status.crawl,
        "site_file": str(status.site_file),
        "store": str(status.store),
        "at": rfc3339(status.at),
        "problems": list(status.problems()),
        "pages": {state: counts.states.get(state, 0) for state in STATES},
        "sitemaps": dict(counts.sitemaps),
        "dead": {
            reason: {"count": count, "example": url, "error": error}
            for reason, (count, url, error) in sorted(counts.dead.items())
        },
        "failing": sum(counts.failing.values()),
        "failing_by_reason": dict(sorted(counts.failing.items())),
        "missed": counts.missed,
        "paused": status.paused,
        "in_flight": status.in_flight,
        "next_due": _time(status.next_due),
        "records": counts.records,
        "versions": counts.versions,
        "rejected": counts.rejected,
        "unmatched": counts.unmatched,
        "stale": counts.stale,
        "requests": counts.attempts,
        "repeat_rate": None if counts.repeat_rate is None else round(counts.repeat_rate, 4),
        "round": _round(status.round),
        "hosts_total": status.hosts_total,
        "hosts": [_host(host) for host in status.hosts],
        "workers": status.workers,
        "redis": status.redis,
        "lag": status.lag,
        "queue": None if status.queue is None else asdict(status.queue),
    }


def _time(ms: int | None) -> str | None:
    return None if ms is None else rfc3339(ms)


def _round(round_: rounds.Round | None) -> dict[str, Any] | None:
    if round_ is None:
        return None
    return {
        "number": round_.number,
        "why": round_.why,
        "started": rfc3339(round_.started_at),
        "finished": _time(round_.finished_at),
    }


def _host(host: HostStanding) -> dict[str, Any]:
    return {
        "host": host.origin,
        "delay": host.delay / 1000,
        "max_in_flight": host.max_in_flight,
        "paused": host.paused,
        "blocked_until": _time(host.blocked_until),
        "resting": host.resting,
        "error": host.error,
        "robots_unknown": host.robots_unknown,
        "held": host.held,
    }
