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

from limpet_store.errors import StoreError, StoreTooNew, StoreUnavailable, WrongProcess

try:  # the wheel bundles a library with the WAL fix; where there is no wheel, the standard library's serves
    import pysqlite3.dbapi2 as sqlite
except ImportError:  # pragma: no cover - depends on the platform
    sqlite = stdlib_sqlite

SCHEMA_VERSION = 1
BUSY_DEADLINE = 30.0  # seconds; a COMMIT that is only "not yet" is repeated for so long
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
        # A lock file of its own, opened here and never inherited: an flock is shared over a fork.
        self._lock = os.open(
            path.with_name(path.name + ".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600
        )
        try:
            self._raw = sqlite.connect(
                str(path), isolation_level=None, timeout=BUSY_DEADLINE, cached_statements=256
            )
            self._prepare()
        except sqlite.Error as error:
            os.close(self._lock)
            raise mapped(error, path) from error
        self.in_transaction = False

    def _prepare(self) -> None:
        wal = wal_is_safe(sqlite.sqlite_version_info)
        with self._locked():  # switching the journal mode needs the file to itself
            self._raw.execute(f"PRAGMA journal_mode={'WAL' if wal else 'TRUNCATE'}")
        self._raw.execute("PRAGMA synchronous=FULL")
        self._raw.execute("PRAGMA foreign_keys=OFF")  # nothing is deleted that others point at
        self._raw.execute("PRAGMA cache_size=-16000")
        self._raw.execute("PRAGMA temp_store=MEMORY")

    @contextmanager
    def _locked(self) -> Iterator[None]:
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(self._lock, fcntl.LOCK_UN)

    def _mine(self) -> None:
        if self._owner != (os.getpid(), threading.get_ident()):
            raise WrongProcess(f"{self.path}: opened by process and thread {self._owner}, used by another")

    def rows(self, sql: str, params: Params = ()) -> list[Row]:
        """All rows of one SELECT."""
        self._mine()
        try:
            return self._raw.execute(sql, params).fetchall()  # type: ignore[no-any-return]
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
        return self._change(lambda: self._raw.execute(sql, params).rowcount)

    def many(self, sql: str, rows: Iterable[Params]) -> int:
        """One changing statement for many rows, inside `write()`; the number of rows changed."""
        return self._change(lambda: self._raw.executemany(sql, rows).rowcount)

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
        what happened is unknown, the connection is gone, and the work is to be done again idempotently.
        """
        self._mine()
        if self.in_transaction:
            raise StoreError("write() inside write()")
        with self._locked():
            try:
                self._raw.execute("BEGIN IMMEDIATE")
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
                self._raw.execute("COMMIT")
                return
            except sqlite.Error as error:
                if getattr(error, "sqlite_errorname", "") == "SQLITE_BUSY" and time.monotonic() < deadline:
                    continue  # a reader is in the way: the transaction stands, SQLite has waited already
                failure = mapped(error, self.path)
                self._raw.close()  # anything else from COMMIT means "unknown"
                raise failure from error

    def _roll_back(self) -> None:
        try:
            if self._raw.in_transaction:  # SQLite itself rolls back on some errors
                self._raw.execute("ROLLBACK")
        except sqlite.Error:
            self._raw.close()  # the first error is the one to report

    def close(self) -> None:
        """Close the connection and the lock file. Safe to call twice."""
        if self._lock >= 0:
            self._raw.close()
            os.close(self._lock)
            self._lock = -1


def schema_sql() -> str:
    """The text of the current schema."""
    return resources.files("limpet_store").joinpath("schema.sql").read_text("utf-8")


def create_schema(db: Database) -> None:
    """Create the tables when the store is empty; refuse one that a newer limpet wrote.

    The tables and the note that they exist are one transaction, so a kill leaves all or nothing.
    """
    if db.rows("SELECT 1 FROM sqlite_master WHERE name = 'meta'"):
        found = db.value("SELECT schema FROM meta")
        if found > SCHEMA_VERSION:
            raise StoreTooNew(f"{db.path} was written by a newer limpet (schema {found}): update limpet")
        return
    statements = _statements(schema_sql())
    with db.write():
        if not db.rows("SELECT 1 FROM sqlite_master WHERE name = 'meta'"):
            for statement in statements:
                db.run(statement)


def _statements(script: str) -> list[str]:
    """The script's statements, one by one: executescript() would commit before it begins."""
    found, current = [], ""
    for line in script.splitlines(keepends=True):
        current += line
        if stdlib_sqlite.complete_statement(current):
            found.append(current)
            current = ""
    return found
