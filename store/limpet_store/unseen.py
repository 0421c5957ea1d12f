"""Pages and records that are not there any more, and when that is believed.

One look proves nothing: a deploy, an outage of a database, a cache answer 404 for an hour, and an immediate second look
confirms the same outage. So what was there is taken away by a second look alone, in a later round or a day after the
first. 410 says "gone for good" and is believed at once.

A page with records that redirects to the home page, to its category, or to a page of another kind is one that is not
there any more: shops do this instead of answering 404. A page with records that has moved is an alias, and its records
are those of its new address; what the new address does not give is taken away by the second look as well.
"""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import urlsplit

from limpet_store.attempts import PageRow
from limpet_store.database import Database
from limpet_store.outcome import Kind, Outcome
from limpet_store.positions import ABOVE
from limpet_store.retry import confirmed

FOUND_THERE = """SELECT 1 FROM pages p WHERE p.key = ? AND p.state IN ('done', 'pending')
AND (EXISTS (SELECT 1 FROM parts WHERE page = p.id) OR EXISTS (SELECT 1 FROM also_on WHERE page = p.id))"""
HAS_RECORDS = "SELECT 1 FROM parts WHERE page = ? LIMIT 1"
ANCESTOR = "SELECT id FROM pages WHERE key = ?"


def judged(db: Database, outcome: Outcome, now: int) -> Outcome:
    """A redirect of a page with records, as what it means; any other outcome as it is."""
    page = outcome.attempt.page
    if outcome.kind is not Kind.ALIAS or page.fetched_at is None or not db.one(HAS_RECORDS, (page.id,)):
        return outcome
    target = outcome.discoveries[0] if outcome.discoveries else None
    if target is None or not (outcome.other_kind or _is_above(db, page, target.address.canonical)):
        return outcome
    # Where it leads is a page like any other that is linked.
    found = (replace(target, handler=None, data=None, handed=(), position=False, named=None),)
    kind = Kind.GONE if _confirmed(page, now) else Kind.MISSING
    why = f"redirects to {target.address.canonical}, which is another page"
    return replace(outcome, kind=kind, discoveries=found, error=why)


def left_behind(db: Database, outcome: Outcome, now: int) -> bool:
    """Whether an alias still has records by the second look, although the page that it leads to gives some: not these.

    Where it gives none, as a page that asks for a login or shows a captcha does not, nothing is taken away.
    """
    page = outcome.attempt.page
    if outcome.kind is not Kind.ALIAS or not outcome.discoveries or not _confirmed(page, now):
        return False
    return db.one(FOUND_THERE, (outcome.discoveries[0].key,)) is not None


def noted(db: Database, outcome: Outcome, now: int) -> tuple[int | None, int | None]:
    """What is kept of a first look that does not find a page, or its records: in which round it was, and when."""
    page = outcome.attempt.page
    first = (page.round, now) if page.missed is None else (page.missed, page.missed_at)
    if outcome.kind in (Kind.MISSING, Kind.GONE):
        return first
    if outcome.kind is Kind.ALIAS and page.fetched_at is not None and db.one(HAS_RECORDS, (page.id,)):
        return first
    return (page.missed, page.missed_at) if outcome.kind is Kind.DEAD else (None, None)


def _confirmed(page: PageRow, now: int) -> bool:
    return confirmed(page.missed, page.missed_at, page.round, now)


def _is_above(db: Database, page: PageRow, target: str) -> bool:
    """Whether it is the home page, a folder of the page's own URL, or a page that leads to it."""
    there, own = urlsplit(target), urlsplit(page.canonical).path.rstrip("/")
    if there.path == "/" and not there.query:
        return True
    if own != (folder := there.path.rstrip("/")) and own.startswith(folder + "/") and folder:
        return True
    found = db.one(ANCESTOR, (target,))
    return found is not None and found[0] != page.id and db.one(ABOVE, (page.id, found[0])) is not None
