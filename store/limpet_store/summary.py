"""How a crawl stands, computed from the store's rows and never kept beside them (R-5)."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from limpet_store.failures import EXPECTED
from limpet_store.pausing import PAUSED
from limpet_store.retry import LOGINS, LONGEST
from limpet_store.store import Store

STATES = "SELECT state, count(*) FROM pages GROUP BY state"  # from an index alone
ROBOTS = "SELECT p.state, count(*) FROM hosts h JOIN pages p ON p.id = h.robots_page GROUP BY p.state"
SITEMAPS = "SELECT state, count(*) FROM pages WHERE kind = 'sitemap' GROUP BY state"
DEAD = "SELECT reason, count(*), min(url), error FROM pages WHERE state = 'dead' AND kind <> 'robots' GROUP BY reason"
RECORDS = "SELECT count(*), coalesce(sum(version), 0) FROM records WHERE gone = 0"
# In order of id: an index by state would lead all over the table.
CODES = """SELECT code, count(*), min(id) FROM pages NOT INDEXED
WHERE id > ? AND id <= ? AND state = 'done' AND code IS NOT NULL GROUP BY code"""
CODES_CHUNK = 20_000  # ids in one read
NO_HANDLER = ":"  # the code of a page that no handler reads
UNMATCHED = "SELECT url FROM pages WHERE id = ?"
HELD_BACK = "SELECT count(*) FROM pages WHERE state = 'held' AND reason = 'sample'"
WAITING = "SELECT count(*) FROM records WHERE gone = 1 AND version = 0"
REJECTED = "SELECT count(*) FROM rejections"
REJECTION = """SELECT r.type || ' ' || r.key || ' on ' || p.url || ': '
  || CASE WHEN r.field = '' THEN '' ELSE r.field || ': ' END || r.reason
FROM rejections r JOIN pages p ON p.id = r.page LIMIT 1"""
UNREAD = "SELECT canonical FROM pages WHERE state = 'done' AND code = ? AND kind = 'page'"
FAILING = """SELECT coalesce(reason, 'failed'), count(*), min(url || ': ' || coalesce(error, ''))
FROM pages INDEXED BY pages_failing WHERE state = 'pending' AND failures > 0 GROUP BY 1"""
MISSED = "SELECT count(*) FROM pages INDEXED BY pages_missed WHERE missed IS NOT NULL AND state IN ('done', 'alias')"
ROUND = "SELECT (SELECT fence FROM meta) - fence, started_at FROM rounds ORDER BY number DESC LIMIT 1"
MOVED = """SELECT count(*) FILTER (WHERE gone = 0 AND first_seen >= :since),
  count(*) FILTER (WHERE gone = 0 AND first_seen < :since), count(*) FILTER (WHERE gone = 1 AND version > 0)
FROM records WHERE last_changed >= :since"""
GOING = f"""FROM pages p JOIN hosts h ON h.id = p.host WHERE p.state = 'pending'
  AND h.paused = 0 AND h.logins < {LOGINS} AND (h.robots IS NOT NULL OR h.robots_page IN (0, p.id))"""
DUE_NOW = f"""SELECT 1 {GOING} AND (p.due_at <= :now OR p.due_at > :far)
  AND (h.blocked_until <= :now OR h.blocked_until > :far) LIMIT 1"""
EARLIEST = f"""SELECT min(max(CASE WHEN p.due_at > :far THEN 0 ELSE p.due_at END,
  CASE WHEN h.blocked_until > :far THEN 0 ELSE h.blocked_until END)) {GOING}"""
OPEN = "SELECT count(*) FROM pages WHERE open = 1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """Counts of one crawl. `dead` maps a reason to (count, an example, its error)."""

    states: Mapping[str, int]
    records: int
    versions: int
    dead: Mapping[str, tuple[int, str, str]]
    rejected: int
    rejection: str | None
    unmatched: int | None  # None: not counted, as is `stale`
    unmatched_url: str | None
    dropped: Mapping[str, int] = field(default_factory=dict)
    stale: int | None = 0
    failing: Mapping[str, int] = field(
        default_factory=dict
    )  # pages that failed and are tried again, by reason
    failure: str | None = None
    missed: int = 0  # pages with records that were not there at the first look
    attempts: int = 0  # of the newest round
    new: int = 0  # records that the newest round found, changed or lost
    changed: int = 0
    gone: int = 0
    held_back: int = 0  # pages that the sample leaves out
    waiting: int = 0  # records that are not shown before parts that they require are there
    sitemaps: Mapping[str, int] = field(default_factory=dict)  # by state; they are not among the pages

    @property
    def imperfect(self) -> bool:
        """Dead pages or rejected records: the crawl is complete, but not all of it."""
        return self.rejected > 0 or any(reason not in EXPECTED for reason in self.dead)

    @property
    def repeat_rate(self) -> float | None:
        """Attempts of the newest round per stored record; a rise means crashes or lease trouble."""
        return self.attempts / self.records if self.records else None


def summarise(
    store: Store, codes: Mapping[str, str], *, dropped: bool = True, patience: float | None = None
) -> Summary:
    """Count what there is. Costs a scan of the pages: for people, not for loops.

    `dropped` False leaves out the links that were not followed, the dearest of the counts. Those by handler, the next,
    are left out when they take longer than `patience` seconds.
    """
    db = store.db
    records, versions = db.rows(RECORDS)[0]
    read_by = _read_by(store, patience)
    unmatched, example = (read_by or {}).get(NO_HANDLER, (0, 0))
    unmatched_url = db.one(UNMATCHED, (example,)) if unmatched else None
    rejection = db.one(REJECTION)
    failing = db.rows(FAILING)
    attempts, since = db.one(ROUND) or (0, 0)
    new, changed, gone = db.rows(MOVED, {"since": since})[0]
    return Summary(
        states=states(store),
        records=records,
        versions=versions,
        dead={reason or "failed": (count, url, _first(error)) for reason, count, url, error in db.rows(DEAD)},
        rejected=db.value(REJECTED),
        rejection=rejection[0] if rejection else None,
        unmatched=None if read_by is None else unmatched,
        unmatched_url=unmatched_url[0] if unmatched_url else None,
        dropped=dropped_links(store) if dropped else {},
        stale=None if read_by is None else _stale(_numbers(read_by), codes),
        failing={reason: count for reason, count, _ in failing},
        failure=failing[0][2] if failing else None,
        missed=db.value(MISSED),
        attempts=attempts,
        new=new,
        changed=changed,
        gone=gone,
        held_back=db.value(HELD_BACK),
        waiting=db.value(WAITING),
        sitemaps=dict(db.rows(SITEMAPS)),
    )


def states(store: Store) -> dict[str, int]:
    """Pages by state; robots.txt and sitemaps are left out."""
    counts: dict[str, int] = dict(store.db.rows(STATES))
    for state, count in store.db.rows(ROBOTS) + store.db.rows(SITEMAPS):
        counts[state] = counts.get(state, 0) - count  # one that has moved since is not among them
    return {state: count for state, count in counts.items() if count > 0}


def dropped_links(store: Store) -> dict[str, int]:
    """Links that were left out, by reason, on the newest visit of each page."""
    counts: dict[str, int] = {}
    for (text,) in store.db.rows("SELECT dropped FROM pages WHERE dropped IS NOT NULL"):
        for reason, count in json.loads(text).items():
            counts[reason] = counts.get(reason, 0) + count
    return counts


def stale_pages(store: Store, codes: Mapping[str, str]) -> int:
    """Pages whose handler has changed, or is gone, since it read them."""
    return _stale(codes_used(store), codes)


def readable_now(store: Store, match: Callable[[str], str | None]) -> int:
    """Pages that no handler read and that one would read now."""
    return sum(match(url) is not None for (url,) in store.db.rows(UNREAD, (NO_HANDLER,)))


def codes_used(store: Store) -> dict[str, int]:
    """Pages that are done, by the handler and code that read them."""
    return _numbers(_read_by(store, None) or {})


def _read_by(store: Store, patience: float | None) -> dict[str, tuple[int, int]] | None:
    """How many pages each code read, and the first of them; None when that takes longer than `patience` seconds."""
    until = math.inf if patience is None else time.monotonic() + patience
    found: dict[str, tuple[int, int]] = {}
    for after in range(0, int(store.db.value("SELECT coalesce(max(id), 0) FROM pages")), CODES_CHUNK):
        if time.monotonic() > until:
            return None
        for code, count, first in store.db.rows(CODES, (after, after + CODES_CHUNK)):
            had, example = found.get(code, (0, first))
            found[code] = had + count, example
    return found


def _numbers(read_by: Mapping[str, tuple[int, int]]) -> dict[str, int]:
    return {code: count for code, (count, _) in read_by.items()}


def _stale(read_by: Mapping[str, int], codes: Mapping[str, str]) -> int:
    current = {f"{name}:{code}" for name, code in codes.items()} | {NO_HANDLER}
    return sum(count for code, count in read_by.items() if code not in current)


def in_flight(store: Store) -> int:
    """Pages attempted whose outcome is not committed; right after a kill: what may be repeated."""
    return int(store.db.value(OPEN))


def next_due(store: Store, now: int) -> int | None:
    """When the next page can go (ms): its own time, its host's block, and robots.txt before all others.

    None when none can: nothing is pending, or the crawl is paused, or every host is paused or held. What is due, or in
    flight, is due now. Cheap while anything is due; a scan of the pending pages when nothing is.
    """
    if store.db.value(PAUSED):
        return now if store.db.one("SELECT 1 FROM pages WHERE open = 1 LIMIT 1") else None
    times = {"now": now, "far": now + LONGEST}
    if store.db.one(DUE_NOW, times):
        return now
    found = store.db.value(EARLIEST, times)
    return None if found is None else max(now, int(found))


def dead(facts: Summary, reason: str) -> str:
    """How many pages are dead for this reason, one of them, and why it is."""
    count, url, error = facts.dead[reason]
    return f"{counted(count, 'page')} dead ({reason}), e.g. {url}" + (f": {error}" if error else "")


def failing(facts: Summary) -> str:
    """How many pages failed and are tried again, why, and one of them."""
    total = counted(sum(facts.failing.values()), "page")
    why = ", ".join(f"{count} {reason}" for reason, count in sorted(facts.failing.items()))
    return f"{total} failed and tried again later ({why}), e.g. {facts.failure}"


def missed(facts: Summary) -> str:
    """How many pages were not found at a first look."""
    return f"{counted(facts.missed, 'page')} not found any more: gone, unless the next round finds it again"


def _first(text: str | None) -> str:
    return (text or "").partition("\n")[0]


def counted(number: int, noun: str) -> str:
    """The number with its noun, in the plural where it is one: `1 page`, `2 pages`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def sentences(facts: Summary) -> Iterator[str]:
    """The summary as lines for people, problems first."""
    yield from (dead(facts, reason) for reason in sorted(facts.dead))
    if facts.failing:
        yield failing(facts)
    if facts.missed:
        yield missed(facts)
    if facts.rejected:
        yield f"{counted(facts.rejected, 'record')} rejected, e.g. {facts.rejection}"
    if facts.held_back:
        yield f"{counted(facts.held_back, 'page')} left out by the sample; a crawl without --sample visits them"
    if facts.waiting:
        yield f"{counted(facts.waiting, 'record')} not shown yet: parts that they require are missing"
    if facts.unmatched:
        yield f"{counted(facts.unmatched, 'page')} matched no handler, e.g. {facts.unmatched_url}"
    for reason, count in sorted(facts.dropped.items()):
        yield f"{counted(count, 'link')} not followed: {reason}"
    yield f"records: {facts.records}; this round {facts.new} new, {facts.changed} changed, {facts.gone} gone"
    if facts.sitemaps:
        yield f"sitemaps: {', '.join(f'{count} {state}' for state, count in sorted(facts.sitemaps.items()))}"
    counts = ", ".join(f"{count} {state}" for state, count in sorted(facts.states.items()))
    rate = f", {facts.repeat_rate:.2f} for each record" if facts.repeat_rate else ""
    yield f"pages: {counts or 'none'}; this round {counted(facts.attempts, 'request')}{rate}"
