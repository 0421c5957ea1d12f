"""Every verb of the frontier, with the same expected replies from fakeredis and from a real server."""

from __future__ import annotations

import time
from typing import Any

import pytest
from store_making import built, fold, host, lease, pages, row

from limpet_store import retry
from limpet_store.attempts import Lease
from limpet_store.frontier import CursorMissing, Frontier
from limpet_store.ops import shift
from limpet_store.server import Server

LATER = int(time.time() * 1000) + retry.HORIZON // 2  # the whole suite takes less
HORIZON_PASSED = int(time.time() * 1000) + retry.HORIZON + 600_000


def test_a_page_is_leased_once_and_leaves_with_its_ack(any_server: Server) -> None:
    frontier = built(any_server, row(1, host(), pages(1, 2)))
    assert lease(frontier, "a") == [1, 2]
    assert lease(frontier, "b") == []
    fold(frontier, row(2, ("k", 1, 1, "a")))
    assert not frontier.holds(1, 1)
    assert frontier.holds(2, 1)


def test_a_lease_call_that_is_repeated_gives_the_same_pages_and_no_more(any_server: Server) -> None:
    frontier = built(any_server, row(1, host(), pages(1, 4)))
    assert lease(frontier, "a", want=2) == [1, 2]
    assert lease(frontier, "a", want=2) == [1, 2]
    assert lease(frontier, "b") == [3, 4]


def test_a_lease_lapses_by_itself(any_server: Server) -> None:
    frontier = built(any_server, row(1, host(), pages(1, 1)))
    assert lease(frontier, "a", length=30) == [1]
    deadline = time.monotonic() + 5
    taken: list[int] = []
    while not taken and time.monotonic() < deadline:
        taken = lease(frontier, f"b{time.monotonic_ns()}")
    assert taken == [1]


def test_the_ack_of_a_lapsed_holder_leaves_the_new_holder_alone(any_server: Server) -> None:
    frontier = built(any_server, row(1, host(), pages(1, 1)))
    lease(frontier, "old", length=1)
    while not lease(frontier, "new"):
        pass
    fold(frontier, row(2, ("k", 1, 1, "old")))
    assert frontier.holds(1, 1)
    assert frontier.renew([Lease(1, 1, "new"), Lease(1, 1, "old")], 20_000) == [True, False]


def test_a_row_without_a_nonce_takes_the_page_from_anybody(any_server: Server) -> None:
    frontier = built(any_server, row(1, host(), pages(1, 1)))
    lease(frontier, "a")
    fold(frontier, row(2, ("k", 1, 1, "")))
    assert not frontier.holds(1, 1)


def test_a_released_page_is_visible_at_once_and_a_foreign_one_is_left(any_server: Server) -> None:
    frontier = built(any_server, row(1, host(), pages(1, 2)))
    lease(frontier, "a")
    assert frontier.release([Lease(1, 1, "a"), Lease(2, 1, "not mine")]) == 1
    assert lease(frontier, "b") == [1]


def test_reaping_a_worker_ends_its_leases_alone(any_server: Server) -> None:
    frontier = built(any_server, row(1, host(), pages(1, 3)))
    lease(frontier, "w1/1-a", want=2)
    lease(frontier, "w2/1-a", want=1)
    assert frontier.reap("w1/") == 2
    assert sorted(lease(frontier, "w3/1-a")) == [1, 2]


def test_a_host_with_a_delay_gives_one_page_until_its_slot_comes(any_server: Server) -> None:
    frontier = built(any_server, row(1, host(delay=60_000, limit=1), pages(1, 3)))
    assert lease(frontier, "a") == [1]
    fold(frontier, row(2, ("k", 1, 1, "a")))
    reply = frontier.lease("b", 10, 10, lease=20_000, slack=100)
    assert reply.leases == []
    assert reply.next_at is not None
    assert 59_000 < reply.next_at - reply.now <= 60_100


@pytest.mark.parametrize(("jitter", "most"), [(0.0, 60_000), (0.5, 66_000), (1.0, 72_000)])
def test_jitter_comes_on_top_of_a_delay_and_never_shortens_it(
    any_server: Server, jitter: float, most: int
) -> None:
    frontier = built(any_server, row(1, host(delay=60_000, limit=2), pages(1, 3)))
    first = frontier.lease("a", 1, 1, lease=20_000, slack=0, jitter=jitter)
    assert first.next_at == first.now + most


def test_a_host_that_was_asked_again_within_a_lease_gives_nothing_before_that_slot(
    any_server: Server,
) -> None:
    frontier = built(any_server, row(1, host(delay=1, limit=1), pages(1, 2)))
    assert lease(frontier, "a", want=1) == [1]
    fold(frontier, row(2, ("s", 1, LATER), ("s", 1, LATER - 60_000), ("k", 1, 1, "a")))
    reply = frontier.lease("b", 10, 10, lease=20_000, slack=0)
    assert (reply.leases, reply.next_at) == ([], LATER)


@pytest.mark.parametrize("there", [0, 2**52], ids=["none yet", "one of a clock set back"])
def test_a_slot_that_an_op_names_beyond_every_allowed_delay_is_none(any_server: Server, there: int) -> None:
    frontier = built(any_server, row(1, host(delay=1_000, limit=1)))
    any_server.command("HSET", f"{frontier.prefix}:h:1", "s", there)
    fold(frontier, row(2, ("s", 1, LATER + retry.LONGEST), pages(1, 1)))
    assert lease(frontier) == [1]


def test_no_more_polite_pages_are_given_than_can_start_at_once(any_server: Server) -> None:
    hosts = [host(h, delay=1_000, limit=1) for h in range(1, 6)]
    frontier = built(any_server, row(1, *hosts, *(pages(h, h, of=h) for h in range(1, 6))))
    assert len(lease(frontier, "a", want=10, polite=2)) == 2


def test_the_in_flight_limit_holds_over_workers(any_server: Server) -> None:
    frontier = built(any_server, row(1, host(limit=3), pages(1, 10)))
    assert len(lease(frontier, "a", want=2)) == 2
    assert len(lease(frontier, "b", want=2)) == 1
    assert lease(frontier, "c", want=2) == []
    fold(frontier, row(2, ("k", 1, 1, "a")))
    assert len(lease(frontier, "d", want=2)) == 1


def test_a_host_with_many_pages_does_not_starve_the_others(any_server: Server) -> None:
    frontier = built(any_server, row(1, host(1), host(2), pages(1, 100), pages(101, 102, of=2)))
    given = [lease(frontier, f"n{n}", want=2) for n in range(3)]
    assert {101, 102} <= {page for pages_ in given for page in pages_}


@pytest.mark.parametrize("facts", [{"paused": 1}, {"until": LATER}], ids=["paused", "blocked"])
def test_a_paused_or_blocked_host_gives_nothing(any_server: Server, facts: dict[str, int]) -> None:
    frontier = built(any_server, row(1, host(**facts), pages(1, 1)))
    assert lease(frontier) == []
    fold(frontier, row(2, host()))
    assert lease(frontier, "later") == [1]


def test_a_host_whose_robots_are_unknown_gives_that_page_alone(any_server: Server) -> None:
    frontier = built(any_server, row(1, host(robots=9), pages(1, 3), pages(9, 9)))
    assert lease(frontier, "a") == [9]
    assert lease(frontier, "b") == []
    fold(frontier, row(2, host(), ("k", 9, 1, "a")))
    assert lease(frontier, "c") == [1, 2, 3]


def test_a_host_that_is_probed_gives_one_page_at_a_time(any_server: Server) -> None:
    frontier = built(any_server, row(1, host(probe=1), pages(1, 3)))
    assert len(lease(frontier, "a")) == 1
    assert lease(frontier, "b") == []


def test_a_page_put_back_is_visible_when_it_is_due(any_server: Server) -> None:
    frontier = built(any_server, row(1, host(), pages(1, 1)))
    lease(frontier, "a")
    fold(frontier, row(2, ("p", 1, 1, "a", LATER, 0)))
    assert lease(frontier, "b") == []
    fold(frontier, row(3, ("p", 1, 1, "", 0, 0)))
    assert lease(frontier, "c") == [1]


def test_a_page_due_beyond_the_horizon_waits_in_sql(any_server: Server) -> None:
    frontier = built(any_server, row(1, host(), pages(1, 1), ("p", 1, 1, "", HORIZON_PASSED, 0)))
    assert not frontier.holds(1, 1)
    fold(frontier, row(2, ("p", 1, 1, "-", HORIZON_PASSED, 0), ("f", HORIZON_PASSED)))
    assert not frontier.holds(1, 1)
    fold(frontier, row(3, ("p", 1, 1, "-", HORIZON_PASSED, 0)))
    assert frontier.holds(1, 1)


def test_a_time_beyond_every_allowed_delay_counts_as_now(any_server: Server) -> None:
    far = int(time.time() * 1000) + retry.LONGEST + 10**9
    frontier = built(any_server, row(1, host(until=far), pages(1, 1, due=far)))
    assert lease(frontier) == [1]


def test_a_higher_priority_goes_first_among_the_due(any_server: Server) -> None:
    frontier = built(
        any_server, row(1, host(), pages(1, 2, due=10**12), pages(3, 3, due=10**12, shift=shift(1)))
    )
    assert lease(frontier, want=1) == [3]


def test_new_pages_leave_known_ones_as_they_are(any_server: Server) -> None:
    frontier = built(any_server, row(1, host(), pages(1, 1, due=LATER)))
    fold(frontier, row(2, pages(1, 2)))
    assert lease(frontier) == [2]


def test_a_range_of_a_thousand_pages_is_one_op(any_server: Server) -> None:
    frontier = built(any_server, row(1, host(), pages(1, 1000)))
    assert frontier.holds(1000, 1)
    fold(frontier, row(2, ("r", 1, 1000, 1, LATER, 0)))
    assert lease(frontier) == []


def test_rows_are_applied_in_their_place_or_not_at_all(any_server: Server) -> None:
    frontier = built(any_server, row(1, host(), pages(1, 1)))
    assert not frontier.apply((0, ""), [row(2, pages(5, 5))])
    assert not frontier.apply((1, "another mark"), [row(2, pages(5, 5))])
    assert not frontier.holds(5, 1)
    assert frontier.cursor() == (1, "m1")


def test_messages_are_in_the_stream_once_in_order_of_seq(any_server: Server) -> None:
    frontier = built(any_server, row(1, messages=["a", "b"]), row(2), row(3, messages=["c"]))
    entries = any_server.command("XRANGE", f"{frontier.prefix}:stream", "-", "+")
    assert [(id_, fields[1]) for id_, fields in entries] == [(b"1-0", b"a"), (b"1-1", b"b"), (b"3-0", b"c")]


def test_without_a_cursor_nothing_is_leased_renewed_or_applied(any_server: Server) -> None:
    frontier = built(any_server, row(1, host(), pages(1, 1)))
    any_server.command("FLUSHALL")
    for verb in (
        lambda: lease(frontier),
        lambda: frontier.renew([Lease(1, 1, "n")], 1000),
        lambda: frontier.apply((1, "m1"), [row(2)]),
    ):
        with pytest.raises(CursorMissing):
            verb()
    assert frontier.cursor() is None


def test_a_cursor_of_another_run_of_the_server_is_none(any_server: Server) -> None:
    frontier = built(any_server, row(1, host(), pages(1, 1)))
    any_server.command("HSET", f"{frontier.prefix}:cursor", "run", "a server before this one")
    with pytest.raises(CursorMissing):
        lease(frontier)
    assert frontier.rebuild_begin("t2", None) == "ok"


def test_only_one_rebuilds_and_a_chunk_without_the_token_does_nothing(any_server: Server) -> None:
    frontier = Frontier(any_server, "shop", "s1")
    assert frontier.rebuild_begin("mine", None) == "ok"
    assert frontier.rebuild_begin("other", None) == "busy"
    assert frontier.rebuild_chunk("hosts", "mine", 0, 1, 0, 0, 0, 0, 0, 0)
    any_server.command("FLUSHALL")
    assert not frontier.rebuild_chunk("pages", "mine", 20_000, retry.LONGEST, 0, 1, 1, 0, 0, "")
    assert not frontier.rebuild_end("mine", (5, "m5"), paused=False)
    assert frontier.cursor() is None


def test_a_standing_frontier_is_rebuilt_only_when_its_cursor_is_named(any_server: Server) -> None:
    frontier = built(any_server, row(1, host()))
    assert frontier.rebuild_begin("t", None) == "standing"
    assert frontier.rebuild_begin("t", (1, "another")) == "standing"
    assert frontier.rebuild_begin("t", (1, "m1")) == "ok"


@pytest.mark.parametrize("free", [0, 1], ids=["a worker may live", "nobody works"])
def test_a_rebuild_leases_open_pages_to_their_holder_unless_nobody_works(
    any_server: Server, free: int
) -> None:
    frontier = Frontier(any_server, "shop", "s1")
    frontier.rebuild_begin("t", None)
    frontier.rebuild_chunk("hosts", "t", 0, 1, 0, 0, 0, 0, 0, 0)
    chunk: list[Any] = [20_000, retry.LONGEST, free, 1, 1, 0, 0, "holder", 2, 1, 0, 0, ""]
    frontier.rebuild_chunk("pages", "t", *chunk)
    frontier.rebuild_end("t", (3, "m3"), paused=False)
    assert frontier.renew([Lease(1, 1, "holder")], 20_000) == [not free]
    assert sorted(lease(frontier)) == ([1, 2] if free else [2])


def test_a_host_waits_a_full_delay_after_a_rebuild(any_server: Server) -> None:
    frontier = Frontier(any_server, "shop", "s1")
    frontier.rebuild_begin("t", None)
    frontier.rebuild_chunk("hosts", "t", 0, 1, 60_000, 1, 0, 0, 0, 0)
    frontier.rebuild_chunk("pages", "t", 20_000, retry.LONGEST, 1, 1, 1, 0, 0, "")
    frontier.rebuild_end("t", (3, "m3"), paused=False)
    assert lease(frontier) == []


def test_a_rebuilt_stream_has_every_message_once(any_server: Server) -> None:
    frontier = built(any_server, row(1, messages=["a"]), row(2, messages=["b"]))
    frontier.rebuild_begin("t", (2, "m2"))
    assert frontier.rebuild_chunk("stream", "t", 100, "1-0", "a", "2-0", "b", "2-1", "c", "3-0", "d")
    frontier.rebuild_end("t", (3, "m3"), paused=False)
    entries = any_server.command("XRANGE", f"{frontier.prefix}:stream", "-", "+")
    assert [fields[1] for _, fields in entries] == [b"a", b"b", b"c", b"d"]


def test_a_clock_that_was_set_back_holds_nothing_up(any_server: Server) -> None:
    """The keys as they would be had the last calls been made an hour later than now."""
    frontier = built(any_server, row(1, host(delay=1_000, limit=1), pages(1, 2)))
    hour_ahead = int(time.time() * 1000) + 3_600_000
    for key, member in (("p:1", 1), ("p:1", 2), ("hosts", 1)):
        any_server.command("ZADD", f"{frontier.prefix}:{key}", hour_ahead, member)
    any_server.command("HSET", f"{frontier.prefix}:h:1", "s", hour_ahead)
    any_server.command("SET", f"{frontier.prefix}:clock", hour_ahead)
    assert lease(frontier) == [1]


def test_a_slot_further_ahead_than_any_allowed_delay_holds_nothing_up(any_server: Server) -> None:
    frontier = built(any_server, row(1, host(delay=1_000, limit=1)))
    any_server.command("HSET", f"{frontier.prefix}:h:1", "s", 2**52)
    fold(frontier, row(2, pages(1, 1)))
    assert lease(frontier) == [1]
