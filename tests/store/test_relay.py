"""Relay and rebuild on a real store, against fakeredis and a real server."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from store_making import NO_ROBOTS, enqueue, found, lease, page_id, part, turn, visit

from limpet_store import net, outbox, retry, rounds
from limpet_store.attempts import Lease
from limpet_store.feeder import feed
from limpet_store.frontier import CursorMissing, Frontier
from limpet_store.rebuild import rebuild
from limpet_store.relay import Relay
from limpet_store.server import Server
from limpet_store.store import Store, StoreReborn, wall_ms
from limpet_store.witness import Witness

A, B = "http://127.0.0.1/a", "http://127.0.0.1/b"


class World:
    """One store, one server, and whoever relays or rebuilds between them."""

    def __init__(self, store: Store, server: Server) -> None:
        self.store, self.server = store, server
        self.frontier = Frontier(server, store.crawl, store.source.store_id)
        self.witness = Witness(store.db.path)
        self.relay = Relay(store, self.frontier, self.witness)

    def rebuild(self, *, nobody_works: bool = True, drop: tuple[int, str] | None = None) -> Any:
        return rebuild(
            self.store,
            self.frontier,
            self.witness,
            lease=20_000,
            drop=drop,
            nobody_works=lambda: nobody_works,
        )

    def stream(self) -> list[str]:
        entries = self.server.command("XRANGE", f"{self.frontier.prefix}:stream", "-", "+")
        return [fields[1].decode() for _, fields in entries]

    def messages(self) -> list[str]:
        return [m for r in outbox.after(self.store.db, 0, 10_000) for m in r.messages]


@pytest.fixture
def world(store: Store, any_server: Server) -> Iterator[World]:
    enqueue(store, A, B, now=wall_ms())
    made = World(store, any_server)
    made.rebuild()
    yield made
    made.witness.close()


def test_what_is_committed_is_in_the_frontier_after_the_relay(world: World) -> None:
    enqueue(world.store, "http://127.0.0.1/c", now=wall_ms())
    assert world.relay.run() == 1
    assert len(lease(world.frontier)) == 3


def test_a_second_relay_finds_nothing_left(world: World) -> None:
    visit(world.store, A, part(price=1), now=wall_ms())
    other = Relay(world.store, world.frontier, world.witness)
    assert world.relay.run() > 0
    assert other.run() == 0
    assert world.stream() == world.messages()


def test_a_relay_that_was_overtaken_goes_on_from_the_others_cursor(world: World) -> None:
    world.relay.run()
    other = Relay(world.store, world.frontier, world.witness)
    visit(world.store, A, part(price=1), now=wall_ms())
    other.run()
    visit(world.store, B, part("2", price=1), now=wall_ms())
    world.relay.run()
    assert world.stream() == world.messages()
    assert world.frontier.cursor() == outbox.top(world.store.db)


def test_many_rows_and_messages_go_in_several_calls_in_order(world: World) -> None:
    visit(world.store, A, *(part(str(n), price=n) for n in range(1_500)), now=wall_ms())
    world.relay.run()
    assert world.stream() == world.messages()
    assert len(world.messages()) == 1_500


def test_a_lost_frontier_is_rebuilt_with_its_stream(world: World) -> None:
    visit(world.store, A, part(price=1), now=wall_ms())
    world.relay.run()
    world.server.command("FLUSHALL")
    with pytest.raises(CursorMissing):
        Relay(world.store, world.frontier, world.witness).run()
    assert world.rebuild() is not None
    assert lease(world.frontier) == [page_id(world.store, B)]
    assert world.stream() == world.messages()
    assert world.frontier.cursor() == outbox.top(world.store.db)


def test_an_open_page_stays_with_its_holder_over_a_wipe(world: World) -> None:
    page = page_id(world.store, A)
    turn(world.store, pages=[page], nonce="holder", now=wall_ms())
    world.server.command("FLUSHALL")
    world.rebuild(nobody_works=False)
    assert lease(world.frontier) == [page_id(world.store, B)]
    assert world.frontier.renew([Lease(page, 1, "holder")], 20_000) == [True]


def test_a_rebuild_that_is_overtaken_by_a_wipe_leaves_no_cursor(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.server.command("FLUSHALL")
    chunk = world.frontier.rebuild_chunk

    def wiped(what: str, *args: Any) -> bool:
        if what == "pages":
            world.server.command("FLUSHALL")
        return chunk(what, *args)

    monkeypatch.setattr(world.frontier, "rebuild_chunk", wiped)
    assert world.rebuild() is None
    assert world.frontier.cursor() is None
    monkeypatch.undo()
    assert world.rebuild() is not None
    assert len(lease(world.frontier)) == 2


def test_a_page_due_beyond_the_horizon_comes_in_through_the_feeder(world: World) -> None:
    now = world.frontier.status().now
    with world.store.db.write():
        world.store.db.run("UPDATE pages SET due_at = ?", (now + retry.HORIZON + 60_000,))
    world.server.command("FLUSHALL")
    world.rebuild()
    page = page_id(world.store, A)
    assert not world.frontier.holds(page, 1)
    assert feed(world.store, world.frontier.fed(), now) == 0
    assert feed(world.store, world.frontier.fed(), now + retry.HORIZON) == 2
    world.relay.run()
    assert world.frontier.holds(page, 1)


def test_pages_that_the_frontier_lost_are_found_by_the_net(world: World) -> None:
    world.relay.run()
    world.server.command("DEL", f"{world.frontier.prefix}:p:1", f"{world.frontier.prefix}:hosts")
    rebuilt: list[Any] = []

    def again(cursor: tuple[int, str] | None) -> None:
        rebuilt.append(world.rebuild(drop=cursor))

    assert net.check(world.store, world.frontier, wall_ms() + 10, again)
    assert rebuilt[0].pages == 2
    assert not net.check(world.store, world.frontier, wall_ms() + 10, again)


def test_the_net_waits_while_rows_are_on_their_way(world: World) -> None:
    enqueue(world.store, "http://127.0.0.1/0", now=1)
    assert not net.check(world.store, world.frontier, wall_ms() + 10, lambda _: None)


@pytest.mark.parametrize("redis_too", [False, True], ids=["Redis stands", "Redis is empty too"])
@pytest.mark.parametrize("overtaken", [False, True], ids=["shorter", "longer than what was published"])
def test_a_store_that_was_copied_back_speaks_as_a_new_source(
    tmp_path: Path, any_server: Server, redis_too: bool, overtaken: bool
) -> None:
    store = Store.open(tmp_path / "x.db", "shop")
    enqueue(store, A, B, now=wall_ms())
    store.close()
    shutil.copy(tmp_path / "x.db", tmp_path / "backup")
    store = Store.open(tmp_path / "x.db", "shop")
    world = World(store, any_server)
    world.rebuild()
    visit(store, A, part(price=1), now=wall_ms())
    world.relay.run()
    old = store.source
    store.close()
    for left in ("x.db-wal", "x.db-shm"):
        (tmp_path / left).unlink(missing_ok=True)
    shutil.copy(tmp_path / "backup", tmp_path / "x.db")
    if redis_too:
        any_server.command("FLUSHALL")

    store = Store.open(tmp_path / "x.db", "shop")
    if overtaken:
        for n in range(9):
            store.enqueue(found(f"http://127.0.0.1/{n}"), NO_ROBOTS, now=wall_ms(), why="x")
    world = World(store, any_server)
    with pytest.raises(StoreReborn):
        world.rebuild() if redis_too else world.relay.run()
    with pytest.raises(StoreReborn):  # whoever still works under the old life is told
        turn(store, now=wall_ms())
    new = store.source = store.identity()
    assert new.store_id != old.store_id
    assert new.epoch > old.epoch
    world = World(store, any_server)
    world.rebuild()
    assert ["limpet.gap" in message for message in world.stream()] == [True]
    visit(store, A, part(price=1), now=wall_ms())
    assert f":{new.epoch}.1" in world.messages()[-1]
    store.close()


def test_two_that_see_it_begin_one_new_life(store: Store, tmp_path: Path) -> None:
    from limpet_store import life

    old = store.source.store_id
    assert life.begin(store, Witness(store.db.path), old)
    assert not life.begin(store, Witness(store.db.path), old)


def test_an_unfinished_refresh_goes_on_where_it_was(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    urls = [f"http://127.0.0.1/{n}" for n in range(5)]
    enqueue(store, *urls)
    for url in urls:
        visit(store, url)
    rounds.finish(store, wall_ms())
    rounds.start(store, "test", wall_ms())
    monkeypatch.setattr(rounds, "CHUNK", 2)
    calls = iter([True, False])

    def dies_in_the_second(*_: Any) -> Any:
        if next(calls):
            return real(*_)
        raise KeyboardInterrupt

    real = rounds.ranges
    monkeypatch.setattr(rounds, "ranges", dies_in_the_second)
    with pytest.raises(KeyboardInterrupt):
        rounds.refresh(store, wall_ms())
    monkeypatch.setattr(rounds, "ranges", real)
    assert store.db.value("SELECT count(*) FROM pages WHERE state = 'pending'") == 2
    assert rounds.refresh(store, wall_ms()) == 3
    assert not rounds.finish(store, wall_ms())
