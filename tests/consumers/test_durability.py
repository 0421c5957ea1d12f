"""Nothing is told to Redis before it is durable, and a store in trouble loses nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from consuming import Bench, html

from limpet_store.database import Database
from limpet_store.errors import StoreError, StoreUnavailable
from limpet_store.server import Server
from limpet_store.store import Store

SHOP = {"/": html('<a href="/p/1">1</a><a href="/p/2">2</a>'), "/p/1": html('<b class="price">5</b>'),
        "/p/2": html('<b class="price">6</b>')}  # fmt: skip


@pytest.fixture
def bench(store: Store, real_server: Server) -> Bench:
    return Bench(store, real_server, SHOP)


@pytest.fixture
def other(bench: Bench) -> Iterator[Database]:
    """Another process's view of the store."""
    found = Database(bench.store.db.path)
    yield found
    found.close()


def test_a_commit_that_returned_has_been_synced(store: Store) -> None:
    assert store.db.value("PRAGMA synchronous") == 2
    assert store.db.value("PRAGMA journal_mode") in ("wal", "truncate")


def test_rows_are_applied_only_when_others_can_read_them(bench: Bench, other: Database) -> None:
    worker = bench.worker()
    apply, seen = worker.frontier.apply, []

    def looked(cursor: Any, rows: Any) -> bool:
        found = {seq for (seq,) in other.rows("SELECT seq FROM outbox")}
        seen.append(all(row.seq in found for row in rows) and not bench.store.db.in_transaction)
        return apply(cursor, rows)

    worker.frontier.apply = looked  # type: ignore[method-assign]
    bench.crawl(worker)
    assert seen == [True] * len(seen)
    assert len(seen) > 1


def full(db: Database) -> Callable[[], None]:
    db.value(f"PRAGMA max_page_count = {db.value('PRAGMA page_count')}")
    return lambda: db.value("PRAGMA max_page_count = 1000000")


def read_only(db: Database) -> Callable[[], None]:
    db.rows("PRAGMA query_only = 1")
    return lambda: db.rows("PRAGMA query_only = 0") and None


@pytest.mark.parametrize("trouble", [full, read_only])
def test_a_store_that_cannot_write_acks_nothing_and_goes_on_afterwards(
    bench: Bench, trouble: Callable[[Database], Callable[[], None]]
) -> None:
    worker = bench.worker()
    bench.crawl(worker, turns=2)
    mend = trouble(bench.store.db)
    before = worker.frontier.cursor()
    big = html(f'<b class="price">{"9" * 200_000}</b>')  # more than free pages in the file can take
    bench.web.answers |= {"/p/1": big, "/p/2": big}
    with pytest.raises(StoreUnavailable, match="SQLITE_"):
        bench.crawl(worker)
    assert worker.frontier.cursor() == before
    mend()
    bench.web.answers |= SHOP
    bench.crawl(worker)
    assert set(bench.records()) == {"1", "2"}
    assert bench.store.db.value("PRAGMA integrity_check") == "ok"


def test_what_was_leased_when_the_store_failed_is_free_for_others(bench: Bench) -> None:
    worker = bench.worker()
    mend = read_only(bench.store.db)
    with pytest.raises(StoreUnavailable):
        bench.crawl(worker)
    mend()
    assert len(worker.held) == 0
    bench.crawl(bench.worker("another"))
    assert set(bench.records()) == {"1", "2"}


def test_after_a_commit_whose_end_is_unknown_the_work_is_done_again_once(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commit succeeds and its reply is an error, as a failed sync would be."""
    worker = bench.worker()
    db = bench.store.db
    commit = db._commit

    def unknown() -> None:
        commit()
        db._drop()
        raise StoreUnavailable("disk I/O error (SQLITE_IOERR_FSYNC)")

    for turn in range(6):
        monkeypatch.setattr(db, "_commit", unknown if turn % 2 else commit)
        try:
            worker.turn()
        except StoreUnavailable:
            continue
    monkeypatch.setattr(db, "_commit", commit)
    worker.frontier.reap("")
    bench.crawl(bench.worker("another"))
    assert set(bench.records()) == {"1", "2"}
    assert db.rows("SELECT max(version) FROM records") == [(1,)]


def test_a_store_is_made_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Database.run
    calls = iter(range(100))

    def dies(self: Database, sql: str, params: Any = ()) -> int:
        if next(calls) == 12:
            raise KeyboardInterrupt
        return run(self, sql, params)

    monkeypatch.setattr(Database, "run", dies)
    with pytest.raises(KeyboardInterrupt):
        Store.open(tmp_path / "x.db", "shop")
    monkeypatch.undo()
    Store.open(tmp_path / "x.db", "shop").close()


def test_a_store_of_a_newer_limpet_is_refused(store: Store) -> None:
    with store.db.write():
        store.db.run("UPDATE meta SET schema = 99")
    with pytest.raises(StoreError, match="newer limpet"):
        Store.open(store.db.path, "shop")


def test_a_connection_is_refused_in_another_thread(store: Store) -> None:
    import threading

    caught: list[BaseException] = []

    def use() -> None:
        try:
            store.db.rows("SELECT 1")
        except StoreError as error:
            caught.append(error)

    thread = threading.Thread(target=use)
    thread.start()
    thread.join()
    assert "another" in str(caught[0])
