"""When the next page can go, and what a crawl's standing says."""

from __future__ import annotations

import pytest
from store_making import NOW, attempt, enqueue, turn, visit

from limpet_store import summary
from limpet_store.admission import HostRules
from limpet_store.outcome import Kind, Outcome
from limpet_store.retry import LONGEST
from limpet_store.store import Store

A, B = "http://127.0.0.1/a", "http://127.0.0.1/b"


def change(store: Store, statement: str) -> None:
    with store.db.write():
        store.db.run(statement)


def test_nothing_is_next_when_nothing_is_pending(store: Store) -> None:
    assert summary.next_due(store, NOW) is None
    enqueue(store, A)
    visit(store, A)
    assert summary.next_due(store, NOW) is None


def test_a_due_page_is_next_now(store: Store) -> None:
    enqueue(store, A)
    assert summary.next_due(store, NOW) == NOW


def test_a_retry_is_next_when_it_is_due(store: Store) -> None:
    enqueue(store, A)
    turn(store, done=[Outcome(attempt=attempt(store, A), kind=Kind.RETRY)])
    assert summary.next_due(store, NOW) == NOW + 10_000


def test_a_blocked_host_is_waited_for(store: Store) -> None:
    enqueue(store, A)
    change(store, f"UPDATE hosts SET blocked_until = {NOW + 7_000}")
    assert summary.next_due(store, NOW) == NOW + 7_000


def test_pages_of_a_host_without_robots_wait_for_them(store: Store) -> None:
    enqueue(store, A, rules=HostRules())
    change(store, f"UPDATE pages SET due_at = {NOW + 9_000} WHERE kind = 'robots'")
    assert summary.next_due(store, NOW) == NOW + 9_000


def test_a_time_beyond_every_allowed_delay_is_now(store: Store) -> None:
    enqueue(store, A)
    change(store, f"UPDATE pages SET due_at = {NOW + 2 * LONGEST}")
    assert summary.next_due(store, NOW) == NOW


def test_a_crawl_whose_hosts_are_all_paused_has_no_next(store: Store) -> None:
    enqueue(store, A)
    change(store, "UPDATE hosts SET paused = 1")
    assert summary.next_due(store, NOW) is None


def test_broken_links_do_not_spoil_a_crawl_and_dead_pages_do(store: Store) -> None:
    enqueue(store, A, B)
    turn(store, done=[Outcome(attempt=attempt(store, A), kind=Kind.DEAD, reason="broken link")])
    assert not summary.summarise(store, {}).imperfect
    turn(store, done=[Outcome(attempt=attempt(store, B), kind=Kind.DEAD, reason="failed")])
    assert summary.summarise(store, {}).imperfect


def test_pages_by_handler_are_counted_over_chunks_or_left_out(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(summary, "CODES_CHUNK", 2)
    urls = [f"http://a.example/{n}" for n in range(5)]
    enqueue(store, *urls)
    for url in urls:
        visit(store, url)

    assert summary.codes_used(store) == {"h:1": 5}
    assert summary.summarise(store, {"h": "2"}).stale == 5
    assert summary.summarise(store, {"h": "2"}, patience=-1).stale is None
    assert summary.summarise(store, {"h": "2"}, patience=-1).unmatched is None
