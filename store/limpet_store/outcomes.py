"""Outcomes: all effects of one page in the caller's transaction (R-2), refused unless its attempt is the newest."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

from limpet_store import (
    capacity,
    charging,
    givers,
    handed,
    hosts,
    listed,
    pages,
    positions,
    records,
    rereading,
    retry,
    unseen,
    widened,
)
from limpet_store.admission import HostRules
from limpet_store.attempts import PageRow
from limpet_store.database import Database
from limpet_store.failures import FAILED
from limpet_store.hosts import Host
from limpet_store.message import Source
from limpet_store.ops import Op, shift
from limpet_store.outbox import Entry
from limpet_store.outcome import Kind, Limits, Outcome
from limpet_store.periods import Periods, next_at
from limpet_store.records import Seen


@dataclass(frozen=True, slots=True)
class Context:
    """What every outcome of a transaction shares."""

    source: Source
    limits: Limits
    rules: HostRules
    now: int
    periods: Periods | None = None


NEWEST = "SELECT fence, nonce, lost, open, merges, canonical, body IS NOT ? FROM pages WHERE id = ?"
HANDED_MORE = "SELECT 1 FROM pages WHERE id = ? AND merges = 1 AND data IS NOT ?"
ONCE_MORE = "UPDATE pages SET state = 'pending', due_at = ?, etag = NULL, modified = NULL WHERE id = ?"
FINISH = """UPDATE pages SET state = ?, open = 0, failures = ?, lost = 0, status = ?, reason = ?, error = ?,
fetched_at = coalesce(?, fetched_at), etag = CASE ? WHEN 1 THEN etag ELSE ? END,
modified = CASE ? WHEN 1 THEN modified ELSE ? END, code = ?,
dropped = CASE ? WHEN 1 THEN dropped ELSE ? END, missed = ?, missed_at = ?, refresh_at = ? WHERE id = ?"""
AGAIN = """UPDATE pages SET open = 0, lost = ?, failures = ?, due_at = ?, status = coalesce(?, status),
reason = coalesce(?, reason), error = coalesce(?, error) WHERE id = ?"""
STATE = {
    Kind.DONE: "done",
    Kind.UNCHANGED: "done",
    Kind.MISSING: "done",
    Kind.ALIAS: "alias",
    Kind.GONE: "gone",
    Kind.DEAD: "dead",
}
REJECT = (
    "INSERT INTO rejections (page, n, type, key, field, reason, value, at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
)
HANDS_DOWN = frozenset({Kind.DONE, Kind.ALIAS, Kind.GONE})
READ_WITH_DATA = frozenset({Kind.DONE, Kind.UNCHANGED, Kind.ALIAS})
AS_IT_WAS = frozenset({Kind.UNCHANGED, Kind.MISSING})  # what it was extracted by, and rejected, stands


def commit(db: Database, outcome: Outcome, context: Context) -> Entry | None:
    """Write one outcome; None when it was refused: a newer attempt exists, or this one has its outcome.

    A refused worker is alive, so the loss that the newer attempt counted was none: it is taken back.
    """
    attempt = outcome.attempt
    found = db.one(NEWEST, (attempt.page.body, attempt.page.id))
    if found is None or (found[0], found[1], found[3]) != (attempt.fence, attempt.nonce, 1):
        if found and found[2] > 0 and found[0] != attempt.fence:
            db.run("UPDATE pages SET lost = lost - 1 WHERE id = ?", (attempt.page.id,))
        return None
    entry = Entry(outcome.kind.value)
    host = hosts.load(db, attempt.page.host)
    before = host.op
    if outcome.logged_in:
        charging.login_works(db, host)
    outcome = unseen.judged(db, outcome, context.now)
    outcome = capacity.within(db, outcome, context.rules)
    if outcome.kind in STATE:
        _finish(db, outcome, host, context, entry)
        last: Op = ("k", attempt.page.id, host.id, attempt.nonce)
        last = _once_more(db, outcome, context, collects=bool(found[4])) or last
    elif outcome.kind is Kind.REFUSED:
        moved = found[5] != attempt.page.canonical or bool(found[6])
        last = _refused(db, outcome, host, context, entry, moved=moved)
    else:
        last = _again(db, outcome, host, context, found[2])
    if outcome.pace is not None:
        hosts.keep_pace(db, host, outcome.pace)
    if host.op != before:
        entry.ops.append(host.op)
    if outcome.last_request is not None and host.delay:
        entry.ops.append(("s", host.id, outcome.last_request + host.delay))
    entry.ops.append(last)
    return entry


def _finish(db: Database, outcome: Outcome, host: Host, context: Context, entry: Entry) -> None:
    page, at = outcome.attempt.page, context.now
    reread = page.code is not None and outcome.code is not None and page.code != outcome.code
    seen = Seen(page.id, page.canonical, outcome.attempt.fence, at, "re-extract" if reread else "content")
    widens = any(d.widens for d in outcome.discoveries)
    before = widened.size(db) if widens else 0
    entry.ops += _discover(db, outcome, context)
    if widens and widened.size(db) > before:
        entry.ops += widened.read_again(db, at)
    if outcome.kind in HANDS_DOWN:
        entry.ops += _hand_down(db, outcome, context)
    entry.messages += records.upsert(db, context.source, outcome.parts, seen)
    if outcome.kind is Kind.DONE and not outcome.rejections and not outcome.cut:
        outcome = _whole(db, outcome, context, seen, entry)
    if outcome.kind is Kind.GONE or unseen.left_behind(db, outcome, at):
        entry.messages += records.remove_page(db, context.source, seen)
    fresh = at if outcome.kind in (Kind.DONE, Kind.UNCHANGED) else None
    keep = outcome.kind in AS_IT_WAS
    db.run(
        FINISH,
        (
            STATE[outcome.kind], page.failures + 1 if outcome.kind is Kind.DEAD else 0,
            outcome.status, _why_dead(outcome), outcome.error, fresh,
            int(keep), outcome.etag, int(keep), outcome.modified,
            page.code if keep else outcome.code,
            int(keep), json.dumps(outcome.dropped) if outcome.dropped else None,
            *unseen.noted(db, outcome, at), _refresh_at(page, context), page.id,
        ),
    )  # fmt: skip
    if not keep:
        _store_rejections(db, outcome, at)
    if page.kind == "robots":
        _store_robots(db, outcome, host, at)
    if any(d.position or d.handed for d in outcome.discoveries):
        listed.forget(db, page.id)
    if not outcome.host_failed:
        charging.answered(db, host)


def _refresh_at(page: PageRow, context: Context) -> int | None:
    """When it is due again by itself. A page that is led to is made due by the page that leads to it."""
    if context.periods is None or page.kind != "page" or page.led:
        return None
    return next_at(page.key, context.periods.of(page.handler, page.canonical), context.now)


def _whole(db: Database, outcome: Outcome, context: Context, seen: Seen, entry: Entry) -> Outcome:
    """A page was read in full, so what it does not give, it does not have. Where that may be gone, it is to be read in
    full again."""
    page, given = outcome.attempt.page, {(write.record, write.part) for write in outcome.parts}
    givers.keep(db, page.id, given)
    if not outcome.complete or page.fetched_at is None:
        return outcome
    messages, again = records.not_given(db, context.source, seen, given, page.round)
    entry.messages += messages
    return replace(outcome, etag=None, modified=None) if again else outcome


def _why_dead(outcome: Outcome) -> str | None:
    return (outcome.reason or FAILED) if outcome.kind is Kind.DEAD else None


def _discover(db: Database, outcome: Outcome, context: Context) -> list[Op]:
    """Rows for what it found. They belong to the round that is open: the page may be a leftover of the last."""
    if not outcome.discoveries:
        return []
    round_ = db.value("SELECT max(number) FROM rounds") or outcome.attempt.page.round
    return pages.insert(db, outcome.discoveries, context.rules, context.now, round_)


def _hand_down(db: Database, outcome: Outcome, context: Context) -> list[Op]:
    """What the children collect; a page that was never read, and hands down nothing, has nothing to take away."""
    page = outcome.attempt.page
    collecting = any(d.handed for d in outcome.discoveries)
    if not collecting and page.status is None:
        return []
    return handed.collect(
        db, page.id, outcome.discoveries, context.now, context.limits.time_scale, whole=not outcome.cut
    )


def _once_more(db: Database, outcome: Outcome, context: Context, *, collects: bool) -> Op | None:
    """The op of a page that is to be read once more: it was read with less than its parents hand down by now (it may be
    one of them), or than is in scope. None for the others."""
    attempt, page, now = outcome.attempt, outcome.attempt.page, context.now
    if outcome.scope is not None and outcome.scope < widened.size(db):
        db.run(ONCE_MORE, (now, page.id))
        return ("p", page.id, page.host, attempt.nonce, now, shift(page.priority))
    may = collects or any(d.handed for d in outcome.discoveries)
    if not may or outcome.kind not in READ_WITH_DATA or not db.one(HANDED_MORE, (page.id, page.data)):
        return None
    return rereading.again(db, page.id, attempt.nonce, now, context.limits.time_scale)


def _refused(
    db: Database, outcome: Outcome, host: Host, context: Context, entry: Entry, *, moved: bool
) -> Op:
    """A refused token: the newer URL is tried if one has come meanwhile, else the crawl goes back for one."""
    page, now = outcome.attempt.page, context.now
    failures, scale = page.failures + 1, context.limits.time_scale
    if outcome.status != 403:  # which may mean all of us
        charging.answered(db, host)
    if failures >= context.limits.max_attempts:
        return _die(db, outcome, host, context)
    db.run(AGAIN, (0, failures, now, outcome.status, outcome.reason, outcome.error, page.id))
    if moved:
        return ("p", page.id, host.id, outcome.attempt.nonce, now, shift(page.priority))
    way = positions.go_back(db, page.id, now, scale)
    if way is None:
        return _die(db, outcome, host, context)
    entry.ops += way
    return ("k", page.id, host.id, outcome.attempt.nonce)


def _store_rejections(db: Database, outcome: Outcome, at: int) -> None:
    page = outcome.attempt.page.id
    if outcome.attempt.page.fetched_at is not None:  # on the first visit there are none
        db.run("DELETE FROM rejections WHERE page = ?", (page,))
    if outcome.rejections:
        rows = [
            (page, n, r.type, r.key, r.field, r.reason, r.value, at) for n, r in enumerate(outcome.rejections)
        ]
        db.many(REJECT, rows)


def _store_robots(db: Database, outcome: Outcome, host: Host, at: int) -> None:
    db.run(
        "UPDATE hosts SET robots = ?, robots_at = ?, crawl_delay = ? WHERE id = ?",
        (outcome.robots or "", at, outcome.crawl_delay, host.id),
    )
    host.robots_known, host.delay = 1, hosts.load(db, host.id).delay


def _again(db: Database, outcome: Outcome, host: Host, context: Context, lost: int) -> Op:
    """Put the page back, or bury it; returns the op that tells the frontier."""
    page, now = outcome.attempt.page, context.now
    failures, due = page.failures, page.due_at
    if outcome.login_failed:
        wait = retry.login_delay(host.logins + 1, outcome.jitter, context.limits.time_scale)
        charging.login_failed(db, host, outcome.login_failed, now, wait, final=outcome.login_final)
    if outcome.kind is not Kind.PUT_BACK:
        lost = 0
        if _charged(db, outcome, host, context):
            failures += 1
            due = now + retry.page_delay(failures, outcome.jitter, context.limits.time_scale)
        else:  # behind the host's other pages, or the same one would be its probe each time
            due = max(due, host.blocked_until)
    # A host without rules gives out no other page: it is asked for them on and on.
    if failures >= context.limits.max_attempts and host.first != page.id:
        return _die(db, outcome, host, context)
    db.run(AGAIN, (lost, failures, due, outcome.status, outcome.reason, outcome.error, page.id))
    return ("p", page.id, host.id, outcome.attempt.nonce, due, shift(page.priority))


def _charged(db: Database, outcome: Outcome, host: Host, context: Context) -> bool:
    """Whether the page pays for what happened; the host's part is counted on the way."""
    attempt, now, scale = outcome.attempt, context.now, context.limits.time_scale
    if (outcome.host_failed or outcome.kind is Kind.BLOCKED) and not host.held:
        host.error = outcome.error
    if outcome.kind is Kind.BLOCKED:
        pays = charging.blocked(db, attempt, host, outcome.retry_after, outcome.jitter, now, scale)
    else:
        pays = not outcome.host_failed or charging.failed(db, attempt, host, outcome.jitter, now, scale)
    # While its old rules stand it must not come before the host's other pages each time.
    return pays or (attempt.page.kind == "robots" and not host.first)


def _die(db: Database, outcome: Outcome, host: Host, context: Context) -> Op:
    page = outcome.attempt.page
    # The old rules of a robots.txt stand, or nobody obeys it: that is no loss to the crawl.
    state, reason = ("done", None) if page.kind == "robots" else ("dead", outcome.reason or FAILED)
    db.run(
        FINISH,
        (state, page.failures + 1 if state == "dead" else 0, outcome.status, reason, outcome.error, None,
         0, None, 0, None, None, 0, None, page.missed, page.missed_at, _refresh_at(page, context), page.id),
    )  # fmt: skip
    return ("k", page.id, host.id, outcome.attempt.nonce)
