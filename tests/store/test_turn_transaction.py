"""The transaction of a turn: attempts, fences, outcomes, what is refused and what is charged."""

from __future__ import annotations

import pytest
from store_making import NO_ROBOTS, NOW, attempt, done, enqueue, found, page_id, part, turn, visit

from limpet_store import outbox, retry, rounds
from limpet_store.admission import HostRules
from limpet_store.outcome import Kind, Limits, Outcome
from limpet_store.store import Store

A, B, C = (f"http://127.0.0.1/{name}" for name in "abc")


def column(store: Store, url: str, name: str) -> object:
    return store.db.value(f"SELECT {name} FROM pages WHERE key = ?", (url,))


def last_ops(store: Store) -> list[object]:
    return list(outbox.after(store.db, outbox.top(store.db)[0])[-1].ops)


def fail(store: Store, url: str, *, now: int = NOW, host: bool = True, limits: Limits | None = None) -> None:
    outcome = Outcome(attempt=attempt(store, url, now=now), kind=Kind.RETRY, error="500", host_failed=host)
    turn(store, done=[outcome], now=now, limits=limits)


def test_an_attempt_is_marked_open_before_anything_is_sent(store: Store) -> None:
    enqueue(store, A)
    made = attempt(store, A)
    assert (column(store, A, "open"), column(store, A, "fence"), column(store, A, "nonce")) == (
        1,
        made.fence,
        "n",
    )


def test_fences_rise_over_all_pages(store: Store) -> None:
    enqueue(store, A, B, C)
    fences = [attempt(store, url).fence for url in (B, A, C, B)]
    assert fences == sorted(set(fences))


def test_a_commit_under_an_older_fence_is_refused_and_its_neighbours_are_not(store: Store) -> None:
    enqueue(store, A, B)
    stale, good = attempt(store, A), attempt(store, B)
    attempt(store, A, nonce="newer")
    result = turn(store, done=[done(stale, part("a", price=1)), done(good, part("b", price=2))])
    assert result.refused == 1
    assert store.db.rows("SELECT key FROM records") == [("b",)]
    assert column(store, A, "state") == "pending"


def test_a_refused_worker_takes_its_loss_back(store: Store) -> None:
    enqueue(store, A)
    stale = attempt(store, A)
    attempt(store, A, nonce="newer")
    assert column(store, A, "lost") == 1
    turn(store, done=[done(stale)])
    assert column(store, A, "lost") == 0


def test_a_second_commit_of_one_attempt_changes_nothing(store: Store) -> None:
    enqueue(store, A)
    outcome = done(attempt(store, A), part(price=1))
    turn(store, done=[outcome])
    before = outbox.top(store.db)
    assert turn(store, done=[outcome]).refused == 1
    assert outbox.top(store.db) == before


def test_a_page_that_is_not_pending_gets_its_ack_and_no_request(store: Store) -> None:
    enqueue(store, A)
    visit(store, A)
    assert turn(store, pages=[page_id(store, A)]).attempts == []
    assert last_ops(store) == ["k", page_id(store, A), 1, "n"]


def test_a_page_that_is_not_due_yet_gets_its_time(store: Store) -> None:
    enqueue(store, A)
    fail(store, A)
    assert turn(store, pages=[page_id(store, A)]).attempts == []
    assert last_ops(store) == ["p", page_id(store, A), 1, "n", column(store, A, "due_at"), 0]


def test_a_page_of_another_life_of_the_store_gets_its_ack(store: Store) -> None:
    assert turn(store, pages=[777]).attempts == []
    assert last_ops(store) == ["k", 777, 1, "n"]


@pytest.mark.parametrize("fact", ["paused = 1", f"blocked_until = {NOW + 5}"])
def test_a_paused_or_blocked_host_stops_the_attempt(store: Store, fact: str) -> None:
    enqueue(store, A)
    with store.db.write():
        store.db.run(f"UPDATE hosts SET {fact}")
    assert turn(store, pages=[page_id(store, A)]).attempts == []


def test_a_block_that_lies_beyond_every_allowed_delay_is_none(store: Store) -> None:
    enqueue(store, A)
    with store.db.write():
        store.db.run("UPDATE hosts SET blocked_until = ?", (NOW + 2 * retry.LONGEST,))
    assert len(turn(store, pages=[page_id(store, A)]).attempts) == 1


def test_a_lease_that_has_nearly_lapsed_is_given_back(store: Store) -> None:
    enqueue(store, A)
    result = turn(store, pages=[page_id(store, A)], fresh=False)
    assert result.attempts == []
    assert [lease.page for lease in result.unsettled] == [page_id(store, A)]


def test_what_robots_disallow_dies_without_a_request(store: Store) -> None:
    enqueue(store, A)
    assert turn(store, pages=[page_id(store, A)], allowed=False).attempts == []
    assert (column(store, A, "state"), column(store, A, "reason")) == ("dead", "robots")


def test_a_limited_run_stops_at_its_last_fence(store: Store) -> None:
    enqueue(store, A, B, C)
    ids = [page_id(store, url) for url in (A, B, C)]
    result = turn(store, pages=ids, last_fence=2)
    assert [a.page.id for a in result.attempts] == ids[:2]
    assert [lease.page for lease in result.unsettled] == ids[2:]


def test_a_page_that_kills_its_workers_goes_alone_and_then_dies(store: Store) -> None:
    enqueue(store, A, B)
    ids = [page_id(store, A), page_id(store, B)]
    for _ in range(3):
        attempt(store, A)  # and the worker is gone
    assert column(store, A, "lost") == 2
    company = turn(store, pages=[ids[1], ids[0]])
    assert [a.page.id for a in company.attempts] == [ids[1]]
    assert [lease.page for lease in company.unsettled] == [ids[0]]
    assert turn(store, pages=[ids[0]], busy=True).attempts == []
    alone = turn(store, pages=ids)
    assert alone.suspect
    assert [a.page.id for a in alone.attempts] == [ids[0]]
    for _ in range(Limits().max_lost - 4):
        attempt(store, A)
    assert turn(store, pages=[ids[0]]).attempts == []
    assert (column(store, A, "state"), column(store, A, "reason")) == ("dead", "poison")
    assert column(store, B, "state") == "pending"


def test_what_is_put_back_is_neither_a_failure_nor_a_loss(store: Store) -> None:
    enqueue(store, A)
    turn(store, done=[Outcome(attempt=attempt(store, A), kind=Kind.PUT_BACK)])
    assert [column(store, A, name) for name in ("state", "open", "failures", "lost")] == ["pending", 0, 0, 0]
    attempt(store, A)
    assert column(store, A, "lost") == 0


def test_an_outcome_sets_losses_to_nought(store: Store) -> None:
    enqueue(store, A)
    attempt(store, A)
    visit(store, A)
    assert column(store, A, "lost") == 0


def test_retries_are_spread_and_end_with_a_dead_page(store: Store) -> None:
    enqueue(store, A)
    now, waits = NOW, []
    for _ in range(Limits().max_attempts):
        fail(store, A, now=now, host=False)
        waits.append(int(str(column(store, A, "due_at"))) - now)
        now = int(str(column(store, A, "due_at")))
    assert waits[:4] == [10_000, 60_000, 600_000, 3_600_000]
    assert (column(store, A, "state"), column(store, A, "reason")) == ("dead", "failed")


def test_after_five_failures_in_a_row_the_host_rests_and_no_page_is_charged(store: Store) -> None:
    urls = [f"http://127.0.0.1/{n}" for n in range(12)]
    enqueue(store, *urls)
    for url in urls[:5]:
        fail(store, url)
    assert [column(store, url, "failures") for url in urls[:5]] == [1, 1, 1, 1, 0]
    assert store.db.rows("SELECT blocked_until, rests FROM hosts") == [(NOW + 60_000, 1)]
    now = NOW + 60_000
    fail(store, urls[5], now=now)
    assert column(store, urls[5], "failures") == 0
    assert store.db.rows("SELECT blocked_until, rests FROM hosts") == [(now + 120_000, 2)]


def test_a_failure_of_a_request_that_began_before_the_rest_charges_nobody(store: Store) -> None:
    urls = [f"http://127.0.0.1/{n}" for n in range(6)]
    enqueue(store, *urls)
    early = attempt(store, urls[5])
    for url in urls[:5]:
        fail(store, url)
    turn(store, done=[Outcome(attempt=early, kind=Kind.RETRY, host_failed=True)])
    assert store.db.value("SELECT rests FROM hosts") == 1
    assert column(store, urls[5], "failures") == 0


def test_an_answer_ends_the_rest(store: Store) -> None:
    urls = [f"http://127.0.0.1/{n}" for n in range(6)]
    enqueue(store, *urls)
    for url in urls[:5]:
        fail(store, url)
    visit(store, urls[5], now=NOW + 60_000)
    assert store.db.rows("SELECT streak, rests, blocks FROM hosts") == [(0, 0, 0)]
    assert last_ops(store)[:1] == ["h"]


def test_parallel_blocks_are_one_block(store: Store) -> None:
    urls = [f"http://127.0.0.1/{n}" for n in range(8)]
    enqueue(store, *urls)
    attempts = [attempt(store, url) for url in urls]
    turn(store, done=[Outcome(attempt=a, kind=Kind.BLOCKED, retry_after=7_000) for a in attempts])
    assert store.db.rows("SELECT blocks, blocked_until FROM hosts") == [(1, NOW + 30_000)]
    assert {column(store, url, "failures") for url in urls} == {0}
    assert {column(store, url, "state") for url in urls} == {"pending"}


def test_a_longer_retry_after_is_the_hosts_own_word(store: Store) -> None:
    enqueue(store, A)
    turn(store, done=[Outcome(attempt=attempt(store, A), kind=Kind.BLOCKED, retry_after=99_000)])
    assert store.db.value("SELECT blocked_until FROM hosts") == NOW + 99_000


def test_a_page_with_many_links_has_its_ack_in_the_last_row(store: Store) -> None:
    enqueue(store, A)
    links = found(*(f"http://127.0.0.1/p{n}" for n in range(1_300)))
    top = outbox.top(store.db)[0]
    visit(store, A, discoveries=links)
    rows = outbox.after(store.db, top + 1)
    assert len(rows) > 1
    assert [("k" in r.ops) for r in rows] == [False] * (len(rows) - 1) + [True]


def test_the_first_discovery_of_a_page_wins(store: Store) -> None:
    enqueue(store, A, data='{"n":1}')
    assert enqueue(store, A, data='{"n":2}') == 0
    assert column(store, A, "data") == '{"n":1}'


def test_a_new_host_brings_its_robots_page(store: Store) -> None:
    enqueue(store, A, rules=HostRules())
    assert store.db.rows("SELECT kind, url FROM pages ORDER BY id") == [
        ("robots", "http://127.0.0.1/robots.txt"),
        ("page", A),
    ]
    ops = outbox.after(store.db, 0)[0].ops
    assert ops[:8] == ["h", 1, 0, 0, 0, 0, 1, 0]


def test_known_rules_let_the_host_give_its_pages(store: Store) -> None:
    enqueue(store, A, rules=HostRules())
    (robots,) = turn(store, pages=[1]).attempts
    turn(store, done=[Outcome(attempt=robots, kind=Kind.DONE, status=200, robots="x", crawl_delay=2_000)])
    assert last_ops(store)[:8] == ["h", 1, 2_000, 1, 0, 0, 0, 0]


def test_a_site_that_changes_its_delay_changes_the_host(store: Store) -> None:
    enqueue(store, A)
    assert store.follow(HostRules(delay=3, robots=False), now=NOW) == 1
    assert last_ops(store) == ["h", 1, 3_000, 1, 0, 0, 0, 0]
    assert store.follow(HostRules(delay=3, robots=False), now=NOW) == 0


def test_a_round_is_finished_once_with_one_message(store: Store) -> None:
    enqueue(store, A)
    assert not rounds.finish(store, NOW)
    visit(store, A)
    assert rounds.finish(store, NOW)
    assert not rounds.finish(store, NOW)
    messages = [m for r in outbox.after(store.db, 0) for m in r.messages]
    assert len([m for m in messages if "limpet.round.finished" in m]) == 1


def test_a_refresh_makes_every_finished_page_due_once(store: Store) -> None:
    enqueue(store, A, B)
    visit(store, A)
    visit(store, B)
    rounds.finish(store, NOW)
    rounds.start(store, "test", NOW + 1)
    assert rounds.refresh(store, NOW + 1) == 2
    assert rounds.refresh(store, NOW + 1) == 0
    assert last_ops(store) == ["r", 1, 2, 1, NOW + 1, 0]
    assert store.enqueue(found(A), NO_ROBOTS, now=NOW, why="again") == 0


def test_what_a_stopped_worker_had_in_hand_is_put_back_for_it(store: Store) -> None:
    enqueue(store, A, B)
    attempt(store, A, nonce="w1/1-x")
    attempt(store, B, nonce="w2/1-x")
    assert store.put_back("w1/", now=NOW) == 1
    assert (column(store, A, "open"), column(store, B, "open")) == (0, 1)
    assert last_ops(store) == ["p", page_id(store, A), 1, "w1/1-x", NOW, 0]
    attempt(store, A)
    assert column(store, A, "lost") == 0


def test_a_loss_is_taken_back_even_when_the_newer_attempt_was_put_back(store: Store) -> None:
    enqueue(store, A)
    stale = attempt(store, A)
    newer = attempt(store, A, nonce="newer")
    turn(store, done=[Outcome(attempt=newer, kind=Kind.PUT_BACK)])
    turn(store, done=[done(stale)])
    assert column(store, A, "lost") == 0


def test_a_robots_page_that_fails_rests_the_host_at_once(store: Store) -> None:
    enqueue(store, A, rules=HostRules())
    (robots,) = turn(store, pages=[1]).attempts
    turn(store, done=[Outcome(attempt=robots, kind=Kind.RETRY, host_failed=True)])
    assert store.db.rows("SELECT blocked_until, rests FROM hosts") == [(NOW + 60_000, 1)]
    assert store.db.value("SELECT failures FROM pages WHERE id = 1") == 0


def test_a_few_pages_that_always_fail_die_and_do_not_hold_their_host_for_ever(store: Store) -> None:
    enqueue(store, A, B)
    now, tries = NOW, 0
    while store.db.one("SELECT 1 FROM pages WHERE state = 'pending'"):
        now = max(now + 1, int(store.db.value("SELECT min(due_at) FROM pages WHERE state = 'pending'")))
        now = max(now, int(store.db.value("SELECT blocked_until FROM hosts")))
        url = store.db.value("SELECT key FROM pages WHERE state = 'pending' ORDER BY due_at LIMIT 1")
        fail(store, url, now=now)
        tries += 1
        assert tries < 50
    assert {column(store, url, "reason") for url in (A, B)} == {"failed"}


def test_a_page_that_always_blocks_dies_and_does_not_hold_its_host_for_ever(store: Store) -> None:
    enqueue(store, A)
    now, tries = NOW, 0
    while column(store, A, "state") == "pending":
        now = max(
            int(str(column(store, A, "due_at"))), int(store.db.value("SELECT blocked_until FROM hosts"))
        )
        turn(store, done=[Outcome(attempt=attempt(store, A, now=now), kind=Kind.BLOCKED)], now=now)
        tries += 1
        assert tries < 50
    assert column(store, A, "reason") == "failed"


def test_the_probe_of_a_resting_host_is_another_page_each_time(store: Store) -> None:
    urls = [f"http://127.0.0.1/{n}" for n in range(7)]
    enqueue(store, *urls)
    for url in urls[:5]:
        fail(store, url)
    due = {url: int(str(column(store, url, "due_at"))) for url in (urls[4], urls[5])}
    assert due[urls[4]] > due[urls[5]]
