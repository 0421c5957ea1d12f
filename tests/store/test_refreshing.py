"""Pages that are due again by themselves: when, how spread, and what a change of the site file does."""

from __future__ import annotations

import pytest
from store_making import NO_ROBOTS, NOW, enqueue, part, visit

from limpet_store import refreshing
from limpet_store.admission import discovery
from limpet_store.canonical import admit
from limpet_store.items import Link
from limpet_store.periods import NO_PERIODS, Periods, next_at
from limpet_store.store import Store

HOUR = 3_600_000
URL = "http://127.0.0.1/p/%d"
HOURLY = Periods(lambda handler, url: HOUR if "/p/" in url else 0, HOUR, "hourly")


def finished(store: Store, count: int, *more: str) -> None:
    urls = [URL % n for n in range(count)] + list(more)
    enqueue(store, *urls)
    for url in urls:
        visit(store, url, part(price=1))
    assert refreshing.reschedule(store, HOURLY, NOW) == count


def states(store: Store) -> set[str]:
    return {state for (state,) in store.db.rows("SELECT state FROM pages WHERE kind = 'page'")}


def test_a_page_is_never_older_than_its_period_and_its_slots_lie_a_period_apart() -> None:
    for n in range(200):
        first = next_at(URL % n, HOUR, NOW)
        assert first is not None
        assert NOW < first <= NOW + HOUR
        assert next_at(URL % n, HOUR, first) == first + HOUR
        assert next_at(URL % n, HOUR, first + 5_000) == first + HOUR, (
            "a visit that took its time moves no slot"
        )


def test_pages_that_were_fetched_together_are_spread_over_the_period() -> None:
    found = [next_at(URL % n, HOUR, NOW) or 0 for n in range(6_000)]
    sixths = [sum(NOW + HOUR * k // 6 < at <= NOW + HOUR * (k + 1) // 6 for at in found) for k in range(6)]
    assert sum(sixths) == 6_000
    assert all(850 < each < 1_150 for each in sixths), sixths


def test_what_has_a_period_is_due_again_once_and_the_rest_is_left_alone(store: Store) -> None:
    finished(store, 5, "http://127.0.0.1/about")
    assert refreshing.make_due(store, NOW, HOUR) == 0
    assert refreshing.make_due(store, NOW + HOUR, HOUR) == 5
    assert refreshing.make_due(store, NOW + HOUR, HOUR) == 0
    assert store.db.rows("SELECT canonical FROM pages WHERE state = 'done' AND kind = 'page'") == [
        ("http://127.0.0.1/about",)
    ]


def test_each_comes_when_it_is_its_turn(store: Store) -> None:
    finished(store, 40)
    first = refreshing.soonest(store.db)
    assert first is not None
    assert refreshing.make_due(store, first - 1, HOUR) == 0
    assert refreshing.make_due(store, first, HOUR) >= 1
    came = [refreshing.make_due(store, NOW + HOUR * k // 8, HOUR) for k in range(1, 9)]
    assert sum(came) < 40
    assert max(came) < 20, came


def test_a_page_that_is_pending_meanwhile_is_not_made_due_twice(store: Store) -> None:
    finished(store, 1)
    with store.db.write():
        store.db.run("UPDATE pages SET state = 'pending' WHERE kind = 'page'")
    assert refreshing.make_due(store, NOW + HOUR, HOUR) == 0
    assert refreshing.soonest(store.db) is None, "its next time is set when it is finished"


def test_a_time_further_ahead_than_every_period_is_of_a_clock_that_was_set_back(store: Store) -> None:
    finished(store, 3)
    assert refreshing.make_due(store, NOW - 30 * HOUR, HOUR) == 3


def test_a_period_that_the_site_file_drops_ends(store: Store) -> None:
    finished(store, 3)
    assert refreshing.reschedule(store, HOURLY, NOW) == 0, "it is known already"
    assert refreshing.reschedule(store, NO_PERIODS, NOW) == 3
    assert refreshing.soonest(store.db) is None
    assert refreshing.make_due(store, NOW + 100 * HOUR, HOUR) == 0


@pytest.mark.parametrize("reason", ["robots", "excluded"])
def test_what_somebody_has_decided_about_is_not_scheduled(store: Store, reason: str) -> None:
    finished(store, 1)
    with store.db.write():
        store.db.run("UPDATE pages SET state = 'dead', reason = ?, refresh_at = NULL", (reason,))
        store.db.run("UPDATE meta SET periods = NULL")
    assert refreshing.reschedule(store, HOURLY, NOW) == 0
    assert refreshing.soonest(store.db) is None


def test_thousands_come_in_order_and_in_chunks_that_are_each_whole(store: Store) -> None:
    many = [discovery(Link(URL % n), admit(URL % n), parent=None, depth=0) for n in range(2_500)]
    store.enqueue(many, NO_ROBOTS, now=NOW, why="test")
    with store.db.write():
        store.db.run("UPDATE pages SET state = 'done', refresh_at = id")
    before = store.db.value("SELECT count(*) FROM outbox")
    assert refreshing.make_due(store, NOW, HOUR) == 2_500
    assert states(store) == {"pending"}
    kinds = store.db.rows("SELECT kind FROM outbox ORDER BY seq")[before:]
    assert len(kinds) >= 3
    assert set(kinds) == {("refresh",)}
