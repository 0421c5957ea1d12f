"""Copies of a store: whole, of one moment, and put back as a new life, or not at all."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import threading
from pathlib import Path

import pytest
from store_making import enqueue, part, visit

from limpet_store import backup, database, verify
from limpet_store.database import Database
from limpet_store.errors import StoreError, UsageError
from limpet_store.store import Store

URL = "http://127.0.0.1/p/%d"


def filled(store: Store, end: int = 3, begin: int = 0) -> None:
    for n in range(begin, end):
        enqueue(store, URL % n)
        visit(store, URL % n, part(key=str(n), price=n))


def sound(store: Store) -> bool:
    return not [each for each in verify.verify(store, quiet=True) if each.ok is False]


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_a_copy_is_one_whole_file_and_the_store_is_as_it_was(store: Store, tmp_path: Path) -> None:
    filled(store)
    target = tmp_path / "copies" / "copy.db"
    target.parent.mkdir()
    assert backup.take(store, target) == target.stat().st_size
    assert names(target.parent) == {"copy.db"}
    with sqlite3.connect(f"file:{target}?mode=ro&immutable=1", uri=True) as copy:
        assert copy.execute("SELECT count(*) FROM records").fetchone() == (3,)
        assert copy.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert sound(store)


def test_a_copy_that_is_taken_while_others_write_is_of_one_moment(store: Store, tmp_path: Path) -> None:
    filled(store, 200)
    stop = threading.Event()

    def write() -> None:
        with_own = Store.open(store.db.path, "shop", create=False)
        n = 200
        while not stop.is_set():
            enqueue(with_own, URL % n)
            visit(with_own, URL % n, part(key=str(n), price=n))
            n += 1
        with_own.close()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for n in range(5):
            backup.take(store, tmp_path / f"copy{n}.db")
    finally:
        stop.set()
        writer.join()
    for n in range(5):
        copy = Store.open(tmp_path / f"copy{n}.db", "shop", create=False)
        assert sound(copy)
        copy.close()


def test_a_copy_that_fails_leaves_the_older_one(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(store)
    folder = tmp_path / "copies"
    folder.mkdir()
    backup.take(store, folder / "copy.db")
    before = (folder / "copy.db").read_bytes()
    filled(store, 9, 3)

    def full(self: Database, other: Database) -> None:
        other.path.write_bytes(b"half")
        raise StoreError("disk full")

    monkeypatch.setattr(Database, "copy_to", full)
    with pytest.raises(StoreError, match="disk full"):
        backup.take(store, folder / "copy.db")
    assert (folder / "copy.db").read_bytes() == before
    assert names(folder) == {"copy.db"}


def test_what_is_put_back_is_a_new_life_that_tells_of_the_gap(store: Store, tmp_path: Path) -> None:
    filled(store)
    old = store.source
    backup.take(store, tmp_path / "copy.db")
    filled(store, 9, 3)
    store.close()
    found = backup.put_back(tmp_path / "copy.db", store.db.path, "shop")
    try:
        assert found.source.store_id != old.store_id
        assert found.source.epoch > old.epoch
        assert found.db.value("SELECT count(*) FROM records") == 3
        (text,) = found.db.rows("SELECT messages FROM outbox ORDER BY seq DESC LIMIT 1")[0]
        assert json.loads(text)["type"].endswith("gap")
        assert found.db.value("SELECT life FROM meta") == found.db.value("SELECT max(seq) - 1 FROM outbox")
        assert sound(found)
        assert found.db.value("PRAGMA journal_mode") == (
            "wal" if database.wal_is_safe(database.SQLITE) else "truncate"
        )
    finally:
        found.close()
    (kept_as,) = (path for path in tmp_path.glob("shop.db.before-restore-*") if path.suffix != ".lock")
    kept = Store.open(kept_as, "shop", create=False)
    assert kept.db.value("SELECT count(*) FROM records") == 9
    assert kept.source == old
    kept.close()
    assert (tmp_path / "copy.db").exists()


def test_a_store_that_was_killed_with_commits_in_its_log_is_kept_with_them(
    store: Store, tmp_path: Path
) -> None:
    filled(store)
    backup.take(store, tmp_path / "copy.db")
    filled(store, 9, 3)
    killed = tmp_path / "killed"
    killed.mkdir()
    for path in tmp_path.glob("shop.db*"):  # as it lies there after a kill
        shutil.copy(path, killed / path.name)
    backup.put_back(tmp_path / "copy.db", killed / "shop.db", "shop").close()
    kept = Store.open(min(killed.glob("shop.db.before-restore-*")), "shop", create=False)
    assert kept.db.value("SELECT count(*) FROM records") == 9
    kept.close()


def test_a_copy_with_its_log_beside_it_is_put_back_whole(store: Store, tmp_path: Path) -> None:
    filled(store)
    for path in tmp_path.glob("shop.db*"):
        shutil.copy(path, tmp_path / path.name.replace("shop", "other"))
    found = backup.put_back(tmp_path / "other.db", tmp_path / "new.db", "shop")
    assert found.db.value("SELECT count(*) FROM records") == 3
    found.close()


@pytest.mark.parametrize("what", ["nothing", "text", "empty", "half", "other crawl", "other database"])
def test_what_is_no_whole_store_of_this_crawl_is_not_put_back(
    store: Store, tmp_path: Path, what: str
) -> None:
    filled(store, 30)
    copy = tmp_path / "copy.db"
    if what == "text":
        copy.write_text("no database at all" * 1000)
    elif what == "empty":
        copy.touch()
    elif what == "half":
        backup.take(store, copy)
        os.truncate(copy, copy.stat().st_size // 2)
    elif what == "other crawl":
        Store.open(copy, "other").close()
    elif what == "other database":
        with sqlite3.connect(copy) as other:
            other.execute("CREATE TABLE t (x)")
        other.close()
    before = names(tmp_path) | {"shop.db.lock"}
    with pytest.raises(UsageError, match=r"copy\.db") as caught:
        backup.put_back(copy, store.db.path, "shop")
    assert ".part" not in str(caught.value)
    assert names(tmp_path) | {"shop.db.lock"} == before
    assert store.db.value("SELECT count(*) FROM records") == 30


def test_each_store_that_was_replaced_is_kept(store: Store, tmp_path: Path) -> None:
    backup.take(store, tmp_path / "copy.db")
    store.close()
    for _ in range(3):
        backup.put_back(tmp_path / "copy.db", store.db.path, "shop").close()
    assert len(list(tmp_path.glob("shop.db.before-restore-*"))) == 3


def test_a_database_that_is_open_elsewhere_is_told_from_one_that_is_not(store: Store, tmp_path: Path) -> None:
    assert database.is_open_elsewhere(store.db.path)
    store.close()
    assert not database.is_open_elsewhere(store.db.path)
    assert not database.is_open_elsewhere(tmp_path / "nothing.db")
    (tmp_path / "text.db").write_text("no database" * 100)
    assert not database.is_open_elsewhere(tmp_path / "text.db")
    assert Store.open(store.db.path, "shop", create=False).db.value("PRAGMA journal_mode") in (
        "wal",
        "truncate",
    )
