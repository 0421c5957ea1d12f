"""Tickets on a real server: how many there are, who is counted, what is left behind."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from redis import Redis

from limpet_consumers import tickets as module
from limpet_consumers.tickets import Tickets

pytest_plugins = ["consumers.pool_helpers"]


def queued(tickets: Tickets) -> int:
    return tickets.client.llen(f"rq:queue:{tickets.queue_name}")


def test_what_is_missing_is_enqueued_once(tickets: Tickets) -> None:
    assert tickets.ensure(3) == 3
    assert tickets.ensure(3) == 0
    assert queued(tickets) == 3


def test_an_hour_without_workers_leaves_the_backlog_as_it_is(tickets: Tickets) -> None:
    """A supervisor asks ten times a second; so many times are asked here at once."""
    tickets.ensure(4)
    before = tickets.client.info("commandstats")
    assert {tickets.ensure(4) for _ in range(3_600)} == {0}
    assert queued(tickets) == 4
    after = tickets.client.info("commandstats")
    assert after.get("cmdstat_rpush") == before.get("cmdstat_rpush"), "nothing was enqueued and taken back"


def test_failed_slices_are_counted_and_forgotten_after_an_hour(tickets: Tickets) -> None:
    now = tickets.client.time()[0]
    name = f"rq:failed:{tickets.queue_name}"
    tickets.client.zadd(name, {"old": now - 1, "new": now + 3_000})
    assert tickets.look().failed == 1
    tickets.sweep()
    assert tickets.client.zrange(name, 0, -1) == [b"new"]


def test_ten_supervisors_at_once_make_no_storm(server_url: str, tickets: Tickets) -> None:
    ours = [replace(tickets, client=Redis.from_url(server_url)) for _ in range(10)]
    with ThreadPoolExecutor(10) as pool:
        for _ in range(5):
            list(pool.map(lambda one: one.ensure(4), ours))
    assert queued(tickets) == 4


def test_a_supervisor_that_dies_with_the_lock_stops_nobody_for_long(
    tickets: Tickets, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*args: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Tickets, "_enqueue", die)
        patch.setattr(Tickets, "_script", lambda self, client, *args: _unless_unlock(self, client, *args))
        with pytest.raises(KeyboardInterrupt):
            tickets.ensure(1)
    assert tickets.ensure(1) == 0
    assert 0 < tickets.client.pttl(f"{tickets.prefix}:tickets") <= module.LOCK_MS
    tickets.client.delete(f"{tickets.prefix}:tickets")
    assert tickets.ensure(1) == 1


_script = Tickets._script


def _unless_unlock(tickets: Tickets, client: Redis, *args: str | int) -> object:
    return None if args[0] == "unlock" else _script(tickets, client, *args)


def test_a_lock_of_somebody_else_is_left_alone(tickets: Tickets) -> None:
    lock = f"{tickets.prefix}:tickets"
    tickets.client.set(lock, "theirs")
    tickets._script(tickets.client, "unlock", "ours")
    assert tickets.client.get(lock) == b"theirs"


def test_a_live_slice_counts_as_a_ticket(tickets: Tickets) -> None:
    tickets.touch_slice("w1/1")
    assert tickets.ensure(3) == 2
    tickets.forget_slice("w1/1")
    assert tickets.ensure(3) == 1


def test_live_workers_of_other_supervisors_are_wanted_too(tickets: Tickets) -> None:
    for name in ("a", "b", "c"):
        tickets.touch_worker(name)
    assert tickets.ensure(1) == 3


def test_who_says_nothing_lapses(tickets: Tickets) -> None:
    tickets.touch_worker("w1")
    tickets.touch_slice("w1/1")
    assert tickets.live() == (1, 1)
    milliseconds = int(tickets.client.zscore(f"{tickets.prefix}:slices", "w1/1"))
    tickets.client.zadd(f"{tickets.prefix}:slices", {"w1/1": milliseconds - module.SLICE_LIFE_MS})
    assert tickets.live() == (1, 0)


def test_a_dead_worker_takes_its_own_slices_along(tickets: Tickets) -> None:
    for token in ("w1/1", "w1/2", "w11/1"):
        tickets.touch_slice(token)
    tickets.touch_worker("w1")
    tickets.forget_worker("w1")
    tickets.forget_worker("w1")
    assert tickets.live() == (0, 1)


def test_a_sweep_drops_what_has_lapsed_from_the_sets_of_rq(tickets: Tickets) -> None:
    client, name = tickets.client, tickets.queue_name
    client.hset("rq:worker:alive", "state", "idle")
    client.sadd(f"rq:workers:{name}", "rq:worker:alive", "rq:worker:dead")
    client.zadd(f"rq:wip:{name}", {"job:1": 1, "job:2": 9e12})
    client.zadd(f"rq:failed:{name}", {"job": 1})
    tickets.sweep()
    assert client.smembers(f"rq:workers:{name}") == {b"rq:worker:alive"}
    assert client.zrange(f"rq:wip:{name}", 0, -1) == [b"job:2"]
    assert client.zcard(f"rq:failed:{name}") == 0


def test_a_ticket_names_no_page_and_lapses_by_itself(tickets: Tickets) -> None:
    tickets.ensure(1)
    (job_id,) = tickets.client.lrange(f"rq:queue:{tickets.queue_name}", 0, -1)
    assert 0 < tickets.client.ttl(b"rq:job:" + job_id) <= module.TICKET_TTL


def test_another_life_of_the_store_has_another_queue(tickets: Tickets) -> None:
    tickets.ensure(1)
    assert queued(replace(tickets, store_id="another")) == 0


def test_what_somebody_else_writes_among_the_refused_is_left_out(tickets: Tickets) -> None:
    tickets.refuse(b"x", "not JSON")
    name = f"{tickets.prefix}:refused"
    tickets.client.hset(name, mapping={b"\xff": 1, b"other": b"many", b"third": b"\xb2"})
    assert tickets.look().refused == {"not JSON": 1}
