"""Copies of a store: taken while it is in use, and put back as a new life of it."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from itertools import chain, count
from pathlib import Path

from limpet_store import database, life
from limpet_store.database import Database
from limpet_store.errors import StoreError, UsageError
from limpet_store.store import Store
from limpet_store.witness import Witness

WAL = "-wal"
BESIDE = (
    WAL,
    "-shm",
    "-journal",
    ".lock",
    ".published",
)  # what may lie beside a database and is nobody else's
REPLACED = ".before-restore-%Y%m%dT%H%M%SZ"


def take(store: Store, target: Path) -> int:
    """Copy the store to `target` as it is at one moment, while others write; returns the bytes of the copy.

    It is one file, checked and synced before it takes the place of `target`: a kill leaves the old file, or none, or
    the whole new one, and at worst a `.part` beside it that the next copy replaces. Raises StoreError, and leaves
    `target` alone, when there is no room. Where SQLite has no safe WAL, others wait to commit meanwhile.
    """
    with _draft(target) as draft:
        with closing(Database(draft)) as copy:
            store.db.copy_to(copy)
            database.set_journal_mode(
                copy, "delete"
            )  # one file, that a medium without writing can be read from
            _check(copy)
        _sync(draft)
        size = draft.stat().st_size
        draft.replace(target)
    _sync(target.parent)
    return size


def put_back(source: Path, target: Path, crawl: str) -> Store:
    """Put a copy in the place of the database `target`, as a new life: another store_id, so that subscribers learn of
    the gap and nothing is believed that Redis has. What was there before stays beside it as `.before-restore-` and the
    time.

    Nobody may use either file meanwhile. The copy is made ready before it takes its place: a kill leaves the old store
    or the new one. Raises UsageError when `source` is no whole store of this crawl; then nothing has happened.
    """
    if not source.is_file():
        raise UsageError(f"{source}: there is no such file")
    with _draft(target) as draft:
        for suffix in ("", WAL):  # the log beside it holds what was committed last
            with suppress(FileNotFoundError):
                shutil.copyfile(_beside(source, suffix), _beside(draft, suffix))
        born = _begin_anew(source, draft, crawl)
        _sync(draft)
        _set_aside(target)
        draft.replace(target)
    _sync(target.parent)
    # Killed before this, the next run sees the difference and begins yet another life.
    with closing(Witness(target)) as witness:
        witness.write(born, 0, "-")
    return Store.open(target, crawl, create=False)


def _begin_anew(source: Path, draft: Path, crawl: str) -> str:
    try:
        with closing(Store.open(draft, crawl, create=False)) as store:
            _check(store.db)
            database.set_journal_mode(store.db)
            return life.renew(store).store_id
    except (StoreError, UsageError) as error:
        raise UsageError(f"not restored: {str(error).replace(str(draft), str(source))}") from error


def _check(db: Database) -> None:
    found = db.value("PRAGMA quick_check(1)")
    if found != "ok":
        raise StoreError(f"{db.path}: {found}")


def _set_aside(target: Path) -> None:
    """Keep what is there under another name, and take away what SQLite would mix with the new file."""
    kept = _unused(target)
    if target.exists():
        with suppress(StoreError), closing(Database(target, create=False)) as old:
            old.value("PRAGMA wal_checkpoint(TRUNCATE)")  # so that it is whole in one file
        os.link(target, kept)
        if (log := _beside(target, WAL)).exists():
            log.replace(_beside(kept, WAL))
    for suffix in (WAL, "-shm", "-journal"):
        _beside(target, suffix).unlink(missing_ok=True)


def _unused(target: Path) -> Path:
    """A name for what is there now that nothing has yet."""
    name = _beside(target, time.strftime(REPLACED, time.gmtime()))
    numbers = (_beside(name, f".{number}") for number in count(2))
    return next(path for path in chain([name], numbers) if not path.exists())


def belongs_to(path: Path, store: Path) -> bool:
    """Whether the path is the store's, or a file that lies beside it and is no copy of it."""
    there = path.resolve()
    if any(there == _beside(store, suffix).resolve() for suffix in ("", ".part", *BESIDE)):
        return True
    return path.exists() and store.exists() and path.samefile(store)


@contextmanager
def _draft(target: Path) -> Iterator[Path]:
    """A path beside `target` to make the file at; what is left of it is removed."""
    draft = _beside(target, ".part")
    _remove(draft)
    try:
        yield draft
    finally:
        _remove(draft)


def _remove(path: Path) -> None:
    for suffix in ("", *BESIDE):
        _beside(path, suffix).unlink(missing_ok=True)


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def _sync(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
