"""Which pages give a part of a record: the one that gave it last, in `parts`, and the others, in `also_on`.

A product stands in two listings. When the one that gave it last is gone, or gives it no more, the record is still on
the other, and a server that answers 304 there would never say so again. So the part passes to the other page, which is
asked for in full at its next visit.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from limpet_store.database import Database

ALSO = "INSERT OR IGNORE INTO also_on (record, part, page) VALUES (?, ?, ?)"
OF_PAGE = "SELECT record, part FROM also_on WHERE page = ?"
NO_MORE = "DELETE FROM also_on WHERE record = ? AND part = ? AND page = ?"
FORGET = "DELETE FROM also_on WHERE page = ?"
HEIR = """SELECT a.page FROM also_on a JOIN pages p ON p.id = a.page
WHERE a.record = ? AND a.part = ? AND a.page <> ? AND p.state NOT IN ('gone', 'alias')
  AND p.reason IS NOT 'excluded' AND p.forgotten = 0
ORDER BY p.fetched_at DESC LIMIT 1"""
PASS_ON = "UPDATE parts SET page = ?, missed = NULL, missed_at = NULL WHERE record = ? AND part = ?"
READ_IN_FULL = "UPDATE pages SET etag = NULL, modified = NULL WHERE id = ?"

Name = tuple[str, str]  # (record, part)


def note(db: Database, name: Name, *pages: int) -> None:
    """Note that these pages all give the part, inside the caller's transaction."""
    db.many(ALSO, [(*name, page) for page in pages])


def keep(db: Database, page: int, given: Collection[Name]) -> None:
    """A page was read in full: it does not give what it gave before and is not among these."""
    db.many(NO_MORE, [(*name, page) for name in db.rows(OF_PAGE, (page,)) if name not in given])


def passed_on(db: Database, page: int, names: Iterable[Name]) -> set[Name]:
    """Pass parts that this page gives no more to another one that does; those for which there was one."""
    passed = set()
    for name in names:
        if found := db.one(HEIR, (*name, page)):
            db.run(PASS_ON, (found[0], *name))
            db.run(READ_IN_FULL, found)
            passed.add(name)
    return passed


def forget(db: Database, page: int) -> None:
    """The page gives nothing any more."""
    db.run(FORGET, (page,))
