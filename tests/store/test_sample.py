"""A sample: what is held, and who lets it go."""

from __future__ import annotations

from store_making import NO_ROBOTS, NOW, attempt, done, enqueue, found, turn

from limpet_store import sample
from limpet_store.admission import chosen
from limpet_store.store import Store

HOME = "http://127.0.0.1/"
URLS = [f"{HOME}{n}" for n in range(40)]


def states(store: Store) -> dict[str, str]:
    return dict(store.db.rows("SELECT key, state FROM pages WHERE key <> ?", (HOME,)))


def led_to(store: Store) -> None:
    """A page that was read under a sample of 25 % has led to the others."""
    discoveries = [d for url in URLS for d in found(url, held=None if chosen(url, 0.25) else "sample")]
    turn(store, done=[done(attempt(store, HOME), discoveries=discoveries)])


def test_what_a_worker_holds_by_an_old_share_is_let_in_if_no_sample_is_asked_for_by_now(store: Store) -> None:
    enqueue(store, HOME)
    led_to(store)
    assert set(states(store).values()) == {"pending"}


def test_a_larger_share_lets_go_and_a_page_that_is_asked_for_by_name_too(store: Store) -> None:
    enqueue(store, HOME)
    sample.choose(store, 0.25, NOW)
    led_to(store)
    held = [url for url, state in states(store).items() if state == "held"]
    assert held == [url for url in URLS if not chosen(url, 0.25)]
    more = [url for url in held if chosen(url, 0.5)]
    assert sample.choose(store, 0.5, NOW) == len(more) > 0
    assert sample.choose(store, 0.5, NOW) == 0
    last = [url for url, state in states(store).items() if state == "held"]
    assert store.enqueue(found(last[0]), NO_ROBOTS, now=NOW, why="enqueued") == 0
    assert states(store)[last[0]] == "pending"


def test_two_who_let_the_same_pages_go_make_them_due_once(store: Store) -> None:
    from limpet_store import pages

    enqueue(store, HOME)
    sample.choose(store, 0.25, NOW)
    led_to(store)
    rows = pages.left_out(store.db, found(*URLS))
    with store.db.write():
        first = pages.let_go(store.db, rows, NOW, 1)
        again = pages.let_go(store.db, rows, NOW, 1)
    assert len(first) == len(rows) > 0
    assert again == []
