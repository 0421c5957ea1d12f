"""The census counts in many short reads what one long read would have counted."""

from __future__ import annotations

import pytest

from limpet_store import census
from limpet_store.census import Census
from limpet_store.frontier import Frontier, InFrontier
from limpet_store.server import Server
from limpet_store.store import Store, wall_ms

PAGE = """INSERT INTO pages (key, kind, url, canonical, host, depth, state, due_at, round)
VALUES (:key, :kind, :key, :key, :host, 0, :state, :due, 1)"""
HOST = """INSERT INTO hosts (id, scheme, name, port, scope, delay, max_in_flight, blocked_until, rests, logins, paused)
VALUES (?, 'http', 'h' || ?, 80, 1, 0, 0, ?, ?, ?, ?)"""


@pytest.fixture(params=[1, 2, 3, 1000])
def _chunks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(census, "CHUNK", request.param)


@pytest.fixture
def frontier(real_server: Server, store: Store) -> Frontier:
    return Frontier(real_server, store.crawl, store.source.store_id)


def add_pages(store: Store, pages: list[tuple[str, int]], kind: str = "page") -> None:
    top = store.db.value("SELECT coalesce(max(id), 0) FROM pages")
    with store.db.write():
        for n, (state, due) in enumerate(pages, top + 1):
            values = {"key": f"http://h1/{n}", "kind": kind, "host": 1, "state": state, "due": due}
            store.db.run(PAGE, values)


def add_hosts(store: Store, hosts: list[tuple[int, int, int, int]]) -> None:
    with store.db.write():
        for n, facts in enumerate(hosts, 1):
            store.db.run(HOST, (n, n, *facts))


def taken(store: Store, frontier: Frontier | None = None) -> Census:
    return census.take(store, frontier, wall_ms())


@pytest.mark.usefixtures("_chunks")
def test_pages_are_counted_by_state_however_many_are_due_at_once(store: Store) -> None:
    add_pages(store, [("done", 0)] * 5 + [("done", 7)] * 7 + [("done", 8), ("done", 9), ("pending", 7)])
    assert taken(store).pages == dict.fromkeys(census.STATES, 0) | {"done": 14, "pending": 1}


@pytest.mark.usefixtures("_chunks")
def test_an_empty_store_has_no_pages(store: Store) -> None:
    found = taken(store)
    assert set(found.pages.values()) == {0}
    assert not found.hosts


def test_robots_and_sitemaps_are_not_among_the_pages(store: Store) -> None:
    add_hosts(store, [(0, 0, 0, 0)])
    add_pages(store, [("done", 1), ("done", 1), ("dead", 1)])
    add_pages(store, [("done", 1), ("pending", 1)], kind="sitemap")
    add_pages(store, [("done", 1)], kind="robots")
    with store.db.write():
        store.db.run("UPDATE hosts SET robots_page = (SELECT id FROM pages WHERE kind = 'robots')")
    pages = taken(store).pages
    assert (pages["done"], pages["dead"], pages["pending"]) == (2, 1, 0)


def test_hosts_are_counted_by_what_may_be_asked_of_them(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(census, "HOSTS_CHUNK", 2)
    later = wall_ms() + 60_000
    nonsense = wall_ms() + 10**12  # a clock was set back
    add_hosts(
        store,
        [
            (0, 0, 0, 0), (nonsense, 1, 0, 0), (later, 0, 0, 0), (later, 1, 0, 0), (later, 0, 0, 1), (0, 0, 3, 0),
            (0, 0, 1, 1),
        ],
    )  # fmt: skip
    assert taken(store).hosts == {"free": 2, "blocked": 1, "resting": 1, "paused": 2, "held": 1}


@pytest.fixture
def built(store: Store, frontier: Frontier) -> Frontier:
    """A frontier with a cursor and nothing in it."""
    assert frontier.rebuild_begin("t", None) == "ok"
    assert frontier.rebuild_end("t", (0, ""), paused=False)
    return frontier


def test_the_frontier_is_counted_as_ready_leased_and_delayed(
    store: Store, built: Frontier, real_server: Server
) -> None:
    add_hosts(store, [(0, 0, 0, 0)] * 3)
    now = built.status().now
    for host, ready, leased, later in ((1, 3, 1, 2), (2, 0, 0, 4), (3, 2, 0, 0)):
        scores = [now - 5] * ready + [now + 60_000] * (leased + later)
        for n, score in enumerate(scores):
            real_server.command("ZADD", f"{built.prefix}:p:{host}", score, host * 100 + n)
        for n in range(ready, ready + leased):
            real_server.command("ZADD", f"{built.prefix}:l:{host}", now + 60_000, host * 100 + n)
    assert taken(store, built).frontier == InFrontier(ready=5, leased=1, delayed=6)
    real_server.command("HSET", f"{built.prefix}:h:3", "p", "1")
    assert taken(store, built).frontier == InFrontier(ready=3, leased=1, delayed=8), (
        "a paused host gives out none"
    )


def test_a_redis_that_does_not_answer_leaves_the_frontier_out(store: Store) -> None:
    add_hosts(store, [(0, 0, 0, 0)])
    nowhere = Server("unix:///nowhere/at/all.sock")
    found = taken(store, Frontier(nowhere, store.crawl, store.source.store_id))
    assert found.frontier is None
    assert found.hosts == {"free": 1}
