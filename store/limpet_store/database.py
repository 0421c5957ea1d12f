"""The SQL store's file: opening it, its pragmas, and the one helper that opens transactions.

SQLite 3.7.0 to 3.51.2 can corrupt a WAL database with several writers, so WAL is used on a library that has the
fix, and a rollback journal elsewhere; `synchronous=FULL` in both: a commit that returned has been synced (I-20).
"""

from __future__ import annotations

import fcntl
import os
import sqlite3 as stdlib_sqlite
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import Any

from limpet_store.errors import StoreError, StoreTooNew, StoreUnavailable, UsageError, WrongProcess
from limpet_store.presence import wait_lock

try:  # the wheel bundles a library with the WAL fix; where there is no wheel, the standard library's serves
    import pysqlite3.dbapi2 as sqlite
except ImportError:  # pragma: no cover - depends on the platform
    sqlite = stdlib_sqlite

SQLITE: tuple[int, ...] = sqlite.sqlite_version_info  # the library's version
BUNDLED = sqlite is not stdlib_sqlite  # whether the library came with the wheel
SCHEMA_VERSION = 4
BUSY_DEADLINE = 30.0  # seconds; a COMMIT that is only "not yet" is repeated for so long
BUSY_TIMEOUT = 10.0  # seconds that any other statement waits for a lock of somebody else's
APPLICATION_ID = 0x6C696D70  # "limp", in the header of the file
HAS_META = "SELECT 1 FROM sqlite_master WHERE name = 'meta'"
META = """INSERT INTO meta (id, schema, canonicaliser, crawl, store_id, epoch, life, fence, pruned)
VALUES (1, ?, ?, ?, ?, ?, 0, 0, 0)"""
TRANSIENT = frozenset({"BUSY", "LOCKED", "FULL", "READONLY", "IOERR", "CANTOPEN", "PROTOCOL", "NOMEM"})

Row = tuple[Any, ...]
Params = Mapping[str, Any] | Sequence[Any]


def wal_is_safe(version: tuple[int, ...]) -> bool:
    """Whether this SQLite has the fix of the WAL race (3.51.3, 3.50.7, 3.44.6; 3.52.0 was withdrawn)."""
    if version[:2] == (3, 44):
        return version >= (3, 44, 6)
    if version[:2] == (3, 50):
        return version >= (3, 50, 7)
    return version >= (3, 51, 3) and version[:3] != (3, 52, 0)


def mapped(error: Exception, path: Path) -> StoreError:
    """The limpet error for a driver error: the one place where SQLite's names are read."""
    name = getattr(error, "sqlite_errorname", None) or "SQLITE_ERROR"
    primary = name.removeprefix("SQLITE_").split("_")[0]
    kind = StoreUnavailable if primary in TRANSIENT else StoreError
    return kind(f"{path}: {error} ({name})")


class Database:
    """One connection to one store, for the process and thread that opened it.

    `write()` is the only way to change anything. Reads outside it see the newest commit and must be short:
    a long read keeps a rollback-journal writer from committing.
    """

    def __init__(self, path: Path, *, create: bool = True) -> None:
        self.path = path
        if not create and not path.exists():
            raise StoreUnavailable(f"{path}: no such store")
        self._owner = (os.getpid(), threading.get_ident())
        self._lock = -1
        self.in_transaction = False
        self._hurry: float | None = None
        self._connection: Any = None
        try:
            self._connect()
            self._file = os.stat(path)
        except BaseException:
            self.close()
            raise

    def check_file(self) -> None:
        """Raise StoreError when the file is not the one that was opened: it was deleted, or another put in its
        place, and what is written to it is lost."""
        try:
            same = os.path.samestat(os.stat(self.path), self._file)
        except FileNotFoundError:
            same = False
        if not same:
            raise StoreError(f"{self.path} was removed or replaced while it was in use")

    def _connect(self) -> Any:
        """The connection; opened again after an error that left the last one in an unknown state."""
        if self._connection is None:
            try:
                self._connection = _opened(self.path, self._hurry or BUSY_TIMEOUT)
            except sqlite.Error as error:
                raise mapped(error, self.path) from error
        return self._connection

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    @contextmanager
    def _locked(self) -> Iterator[None]:
        if self._lock < 0:
            # A file of its own, opened here and never inherited: an flock is shared over a fork. Readers need none.
            name = self.path.with_name(self.path.name + ".lock")
            self._lock = os.open(name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._take_lock()
        try:
            yield
        finally:
            fcntl.flock(self._lock, fcntl.LOCK_UN)

    def _take_lock(self) -> None:
        if self._hurry is None:
            fcntl.flock(self._lock, fcntl.LOCK_EX)
        elif not wait_lock(self._lock, fcntl.LOCK_EX, self._hurry):
            raise StoreUnavailable(f"{self.path}: others have been writing for {self._hurry:.0f} s")

    def hurry(self, seconds: float) -> None:
        """From now on wait for no lock longer than this, out of turn: for one who must not be held up."""
        self._hurry = seconds
        if self._connection is not None:
            self._connection.execute(f"PRAGMA busy_timeout = {round(seconds * 1000)}")

    def _mine(self) -> None:
        if self._owner != (os.getpid(), threading.get_ident()):
            raise WrongProcess(f"{self.path}: opened by process and thread {self._owner}, used by another")

    def rows(self, sql: str, params: Params = ()) -> list[Row]:
        """All rows of one SELECT."""
        self._mine()
        try:
            return self._connect().execute(sql, params).fetchall()  # type: ignore[no-any-return]
        except sqlite.Error as error:
            raise mapped(error, self.path) from error

    def one(self, sql: str, params: Params = ()) -> Row | None:
        """The first row, or None."""
        found = self.rows(sql, params)
        return found[0] if found else None

    def value(self, sql: str, params: Params = ()) -> Any:
        """The first column of the only row."""
        return self.rows(sql, params)[0][0]

    def run(self, sql: str, params: Params = ()) -> int:
        """One changing statement inside `write()`; the number of rows it changed."""
        return self._change(lambda: self._connection.execute(sql, params).rowcount)

    def many(self, sql: str, rows: Iterable[Params]) -> int:
        """One changing statement for many rows, inside `write()`; the number of rows changed."""
        return self._change(lambda: self._connection.executemany(sql, rows).rowcount)

    def _change(self, statement: Any) -> int:
        if not self.in_transaction:
            raise StoreError("a change outside write()")
        try:
            return int(statement())
        except sqlite.Error as error:
            raise mapped(error, self.path) from error

    @contextmanager
    def write(self) -> Iterator[Database]:
        """One write transaction, in order of arrival over all processes.

        The lock file is taken before BEGIN IMMEDIATE: SQLite's own busy handler polls and is unfair. Leaving
        the block commits; an exception rolls back. Raises StoreUnavailable when the store cannot commit; then
        what happened is unknown, and the work is to be done again idempotently, on a new connection.
        """
        self._mine()
        if self.in_transaction:
            raise StoreError("write() inside write()")
        with self._locked():
            try:
                self._connect().execute("BEGIN IMMEDIATE")
            except sqlite.Error as error:
                raise mapped(error, self.path) from error
            self.in_transaction = True
            try:
                yield self
                self._commit()
            except BaseException:
                self._roll_back()
                raise
            finally:
                self.in_transaction = False

    def _commit(self) -> None:
        deadline = time.monotonic() + BUSY_DEADLINE
        while True:
            try:
                self._connection.execute("COMMIT")
                return
            except sqlite.Error as error:
                if getattr(error, "sqlite_errorname", "") == "SQLITE_BUSY" and time.monotonic() < deadline:
                    continue  # a reader is in the way: the transaction stands, SQLite has waited already
                failure = mapped(error, self.path)
                self._drop()  # anything else from COMMIT means "unknown"
                raise failure from error

    def _roll_back(self) -> None:
        connection = self._connection
        try:
            if (
                connection is not None and connection.in_transaction
            ):  # SQLite itself rolls back on some errors
                connection.execute("ROLLBACK")
        except sqlite.Error:
            self._drop()  # the first error is the one to report

    def copy_to(self, other: Database) -> None:
        """Make `other` a copy of this one as it is now, in one read: others may write meanwhile."""
        self._mine()
        try:
            self._connect().backup(other._connect())
        except sqlite.Error as error:
            raise mapped(error, other.path) from error

    def close(self) -> None:
        """Close the connection and the lock file. Safe to call twice."""
        self._drop()
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def _opened(path: Path, timeout: float) -> Any:
    connection = sqlite.connect(str(path), isolation_level=None, timeout=timeout, cached_statements=256)
    try:
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("PRAGMA fullfsync=ON")  # macOS: else a sync does not reach the disk
        connection.execute("PRAGMA checkpoint_fullfsync=ON")
        connection.execute("PRAGMA foreign_keys=OFF")  # nothing is deleted that others point at
        connection.execute("PRAGMA cache_size=-16000")
        connection.execute("PRAGMA temp_store=MEMORY")
    except BaseException:
        connection.close()
        raise
    return connection


def is_open_elsewhere(path: Path) -> bool:
    """Whether another process has this database open; False also for what is no whole database."""
    if not path.exists():
        return False
    connection = sqlite.connect(str(path), isolation_level=None, timeout=1.0)
    try:
        if connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
            connection.execute("BEGIN EXCLUSIVE")
            connection.execute("ROLLBACK")
            return False
        connection.execute("PRAGMA journal_mode=DELETE")  # which nobody may do beside another connection
        connection.execute("PRAGMA journal_mode=WAL")
        return False
    except sqlite.Error as error:
        return getattr(error, "sqlite_errorname", "").startswith("SQLITE_BUSY")
    finally:
        connection.close()


def is_store(path: Path) -> bool:
    """Whether the file begins as a store of limpet's does."""
    with path.open("rb") as file:
        head = file.read(72)
    return head.startswith(b"SQLite format 3\0") and head[68:72] == APPLICATION_ID.to_bytes(4, "big")


def schema_sql() -> str:
    """The text of the current schema."""
    return resources.files("limpet_store").joinpath("schema.sql").read_text("utf-8")


def set_journal_mode(db: Database, wanted: str | None = None) -> None:
    """WAL where the library has the fix, a rollback journal elsewhere, or the one that is wanted. Needs the file to
    itself for a moment."""
    wanted = wanted or ("wal" if wal_is_safe(sqlite.sqlite_version_info) else "truncate")
    connection = db._connect()
    try:
        if connection.execute("PRAGMA journal_mode").fetchone()[0] != wanted:
            with db._locked():
                connection.execute(f"PRAGMA journal_mode={wanted}")
    except sqlite.Error as error:
        raise mapped(error, db.path) from error


def create_schema(db: Database, meta: Params) -> None:
    """Create the tables when the store is empty.

    `meta` are the values of a new store: canonicaliser, crawl, store_id, epoch. The tables and the row that says
    which schema they are form one transaction, so a kill leaves all or nothing. Raises UsageError for a database of
    somebody else.
    """
    if has_schema(db):
        return
    if db.rows("SELECT 1 FROM sqlite_master"):
        raise UsageError(f"{db.path} is a database of something else: use another --store")
    set_journal_mode(db)
    statements = _statements(schema_sql())
    with db.write():
        if not has_schema(db):
            for statement in statements:
                db.run(statement)
            db.run(META, (SCHEMA_VERSION, *meta))


def check_schema(db: Database) -> None:
    """Refuse what is no store, and one of another schema."""
    if not has_schema(db):
        if not db.rows("SELECT 1 FROM sqlite_master"):
            raise StoreUnavailable(f"{db.path}: the store is not made yet")
        raise UsageError(f"{db.path} is no store of limpet's")
    found = db.value("SELECT schema FROM meta")
    if found > SCHEMA_VERSION:
        raise StoreTooNew(f"{db.path} was written by a newer limpet (schema {found}): update limpet")
    if found < SCHEMA_VERSION:  # nothing that was released wrote one
        raise UsageError(f"{db.path} was written before the first release (schema {found}): crawl it anew")


def has_schema(db: Database) -> bool:
    """Whether the tables are there; the random application_id tells them from other programs' tables."""
    return bool(db.value("PRAGMA application_id") == APPLICATION_ID and db.rows(HAS_META))


def _statements(script: str) -> list[str]:
    """The script's statements, one by one: executescript() would commit before it begins."""
    found, current = [], ""
    for line in script.splitlines(keepends=True):
        current += line
        if stdlib_sqlite.complete_statement(current):
            found.append(current)
            current = ""
    return found
