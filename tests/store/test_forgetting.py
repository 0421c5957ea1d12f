"""Forgetting: no more requests, records that are gone, and a page that stays forgotten whoever finds it again."""

from __future__ import annotations

import json

import pytest
from consuming import BASE, Bench, html

from limpet_producer import enqueue
from limpet_store import forgetting, rounds, verify
from limpet_store.items import Link
from limpet_store.scope import Scope
from limpet_store.server import Server
from limpet_store.store import Store, wall_ms

ANSWERS = {
    "/": html('<a href="/p/1">x</a><a href="/p/2">x</a>'),
    "/p/1": html('<p class="price">1</p>'),
    "/p/2": html('<p class="price">2</p>'),
}


@pytest.fixture
def bench(store: Store, any_server: Server) -> Bench:
    return Bench(store, any_server, ANSWERS)


def forget(bench: Bench, *paths: str) -> forgetting.Forgotten:
    wanted = [page for path in paths for page in forgetting.named(bench.store, BASE + path)]
    return forgetting.forget(bench.store, wanted, now=wall_ms())


def told(bench: Bench) -> list[tuple[str, str]]:
    """(kind, key) of each message about a record."""
    lines = [line for (text,) in bench.store.db.rows("SELECT messages FROM outbox WHERE n > 0 ORDER BY seq")
             for line in text.split("\n")]  # fmt: skip
    events = [json.loads(line) for line in lines]
    return [
        (event["type"].rpartition(".")[2], event["data"]["key"]) for event in events if "key" in event["data"]
    ]


def a_round(bench: Bench) -> None:
    worker = bench.worker()
    worker.relay()
    bench.crawl(worker)
    assert not [each for each in verify.verify(bench.store, quiet=True) if each.ok is False]


def test_its_record_is_gone_and_told_once(bench: Bench) -> None:
    a_round(bench)
    done = forget(bench, "/p/1")
    assert (done.pages, done.messages) == (1, 1)
    assert bench.records().keys() == {"2"}
    assert told(bench)[-1] == ("gone", "1")
    assert forget(bench, "/p/1").pages == 0, "it is forgotten already"
    assert told(bench).count(("gone", "1")) == 1


def test_it_stays_forgotten_in_later_rounds_though_it_is_found_again(bench: Bench) -> None:
    a_round(bench)
    forget(bench, "/p/1")
    bench.web.log.clear()
    bench.again()
    a_round(bench)
    assert sorted(bench.web.log) == ["/", "/p/2"]
    assert bench.page("/p/1", "state", "reason") == ("dead", "forgotten")


def test_a_page_that_was_never_visited_is_forgotten_too(bench: Bench) -> None:
    worker = bench.worker()
    worker.turn()
    worker.turn()
    assert forget(bench, "/p/1").pages == 1
    a_round(bench)
    assert sorted(bench.web.log) == ["/", "/p/2"]


def test_what_is_in_flight_is_refused(bench: Bench) -> None:
    worker = bench.worker()
    worker.turn()
    assert bench.web.log == ["/"]
    assert forget(bench, "/").pages == 1
    a_round_of = bench.crawl(worker)
    assert a_round_of.progress.refused == 1
    assert bench.store.db.value("SELECT count(*) FROM pages") == 1, "what it led to is not there"


def test_a_page_that_something_makes_due_again_comes_to_no_request(bench: Bench) -> None:
    a_round(bench)
    forget(bench, "/p/1")
    bench.web.log.clear()
    with bench.store.db.write():
        bench.store.db.run(
            "UPDATE pages SET state = 'pending', reason = NULL WHERE key = ?", (f"{BASE}/p/1",)
        )
    bench.server.command("FLUSHALL")
    worker = bench.worker()
    worker.rebuild()
    bench.crawl(worker)
    assert bench.web.log == []
    assert bench.page("/p/1", "state", "reason") == ("dead", "forgotten")


def test_who_asks_for_it_by_name_has_it_back(bench: Bench) -> None:
    a_round(bench)
    forget(bench, "/p/1")
    rounds.finish(bench.store, wall_ms())
    worker = bench.worker()
    scope = Scope(bench.store.db, bench.site.authorities, bench.site.bounds)
    done = enqueue.links(bench.store, [Link(f"{BASE}/p/1")], scope, worker.hosts, now=wall_ms())
    assert (done.new, done.known) == (1, 0)
    a_round(bench)
    assert bench.records().keys() == {"1", "2"}
    assert told(bench)[-1] == ("created", "1")


def test_a_record_that_another_page_gives_as_well_stays(store: Store, any_server: Server) -> None:
    bench = Bench(store, any_server, ANSWERS)
    a_round(bench)
    (record, part, first), = store.db.rows(
        "SELECT record, part, page FROM parts JOIN pages ON id = page WHERE key = ?", (f"{BASE}/p/1",))  # fmt: skip
    with store.db.write():
        other = store.db.value("SELECT id FROM pages WHERE key = ?", (f"{BASE}/p/2",))
        store.db.many("INSERT INTO also_on VALUES (?, ?, ?)", [(record, part, first), (record, part, other)])
    assert forget(bench, "/p/1").messages == 0
    assert bench.records().keys() == {"1", "2"}
    assert forget(bench, "/p/2").messages == 2


def test_a_pattern_fits_whole_urls(bench: Bench) -> None:
    a_round(bench)
    ids = dict(bench.store.db.rows("SELECT key, id FROM pages"))
    assert list(forgetting.fitting(bench.store, f"{BASE}/p/*")) == [ids[f"{BASE}/p/1"], ids[f"{BASE}/p/2"]]
    assert list(forgetting.fitting(bench.store, "*/p/2")) == [ids[f"{BASE}/p/2"]]
    assert list(forgetting.fitting(bench.store, "/p/2")) == []
    assert list(forgetting.fitting(bench.store, "*/p/[12]")) == []
