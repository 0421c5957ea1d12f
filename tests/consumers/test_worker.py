"""Real workers, each in a process of its own, on a real server."""

from __future__ import annotations

import json
import logging
import os
import pickle
import signal
import subprocess
import sys
import time
import zlib
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest
from consumers.pool_helpers import (  # noqa: TID251
    FUNCTION,
    Stage,
    alive,
    eventually,
    one_worker,
    serving,
)
from redis import Redis
from redis import TimeoutError as RedisTimeout

from limpet_consumers.entry import connect
from limpet_consumers.rq_manners import in_a_line
from limpet_consumers.tickets import Tickets
from limpet_consumers.worker import MANY, SliceWorker

pytest_plugins = ["consumers.pool_helpers"]

EVIL = "consumers.pool_helpers.evil"


def packed(*call: object) -> bytes:
    return zlib.compress(json.dumps(call).encode())


# What is written into a good ticket's hash by hand; each must be refused for the reason given.
FORBIDDEN: list[tuple[str, dict[str, str | bytes]]] = [
    ("field", {"success_callback_name": EVIL}),
    ("field", {"failure_callback_name": EVIL}),
    ("field", {"stopped_callback_name": EVIL}),
    ("field", {"dependency_ids": '["x"]'}),
    ("field", {"dependency_id": "x"}),
    ("field", {"repeats_left": "3", "repeat_intervals": "[1]"}),
    ("field", {"retries_left": "3", "retry_intervals": "[0]"}),
    ("field", {"webhooks": '[{"url": "http://127.0.0.1:9/"}]'}),
    ("field", {"meta": pickle.dumps({})}),
    ("field", {"origin": "limpet:other"}),
    ("field", {"timeout": "soon"}),
    ("field", {"status": "no such status"}),
    ("field", {"result_ttl": "500"}),
    ("field", {"retries_left": b"\xff"}),
    ("function", {"data": packed(EVIL, None, ["shop"], {})}),
    ("function", {"data": packed("os.getcwd", None, [], {})}),
    ("arguments", {"data": packed(FUNCTION, None, ["other"], {})}),
    ("arguments", {"data": packed(FUNCTION, "instance", ["shop"], {})}),
    ("data", {"data": pickle.dumps((EVIL, None, (), {}))}),
    ("data", {"data": zlib.compress(pickle.dumps((EVIL, None, (), {})))}),
    ("data", {"data": b"\x00\xff"}),
    ("hash", {"created_at": "yesterday"}),
    ("hash", {"enqueued_at": b"\xff"}),
]


def push(tickets: Tickets, job_id: bytes) -> None:
    tickets.client.rpush(f"rq:queue:{tickets.queue_name}", job_id)


def forge(tickets: Tickets, fields: dict[str, str | bytes]) -> None:
    """Enqueue a good ticket, then write into its hash."""
    tickets.ensure(tickets.client.llen(f"rq:queue:{tickets.queue_name}") + 1)
    (job_id,) = tickets.client.lrange(f"rq:queue:{tickets.queue_name}", -1, -1)
    tickets.client.hset(b"rq:job:" + job_id, mapping=fields)


def test_each_forbidden_thing_is_refused_and_counted_and_the_worker_goes_on(
    server_url: str, tickets: Tickets, stage: Stage
) -> None:
    wanted: dict[str, int] = {}
    for reason, fields in FORBIDDEN:
        forge(tickets, fields)
        wanted[reason] = wanted.get(reason, 0) + 1
    for garbage in (b"\xff\xfe", b"", b"a b", b"x" * 5000):
        push(tickets, garbage)
    push(tickets, b"never-enqueued")
    tickets.client.set(f"rq:job:string-{tickets.store_id}", "not a hash")
    push(tickets, f"string-{tickets.store_id}".encode())
    wanted |= {"id": 4, "hash": wanted["hash"] + 1}
    jobs = set(tickets.client.keys("rq:job:*"))
    tickets.ensure(tickets.client.llen(f"rq:queue:{tickets.queue_name}") + 1)

    with one_worker(server_url, tickets) as worker:
        eventually(lambda: stage.heard("ended"))
        assert worker.poll() is None
    assert stage.heard("ended") == ["w1/1"]
    assert tickets.refused() == wanted
    assert stage.heard("evil") == []
    assert jobs & set(tickets.client.keys("rq:job:*")) == set()


def test_a_ticket_with_dependents_written_by_hand_is_refused(
    server_url: str, tickets: Tickets, stage: Stage
) -> None:
    tickets.ensure(1)
    (job_id,) = tickets.client.lrange(f"rq:queue:{tickets.queue_name}", -1, -1)
    tickets.client.sadd(b"rq:job:" + job_id + b":dependents", "x")
    tickets.ensure(2)
    with one_worker(server_url, tickets):
        eventually(lambda: stage.heard("ended"))
    assert tickets.refused() == {"field": 1}


def test_a_slice_that_ends_well_leaves_nothing_in_redis(
    server_url: str, tickets: Tickets, stage: Stage
) -> None:
    before = set(tickets.client.keys("*"))
    with one_worker(server_url, tickets) as worker:
        tickets.ensure(2)
        eventually(lambda: stage.heard("ended") == ["w1/1", "w1/2"])
        eventually(lambda: tickets.live() == (1, 0))
        worker.terminate()
        assert worker.wait(20) == 0
    left = set(tickets.client.keys("*")) - before
    assert {key for key in left if not key.startswith(b"stage:")} == {b"rq:queues"}
    assert stage.heard("deaths") == []


def test_a_killed_horse_is_reported_by_its_token_and_the_next_ticket_runs(
    server_url: str, tickets: Tickets, stage: Stage
) -> None:
    stage.set_mode("hold")
    with one_worker(server_url, tickets) as worker:
        tickets.ensure(1)
        eventually(lambda: stage.heard("started"))
        os.kill(int(stage.heard("started")[0].split()[1]), signal.SIGKILL)
        eventually(lambda: stage.heard("deaths") == ["w1/1"])
        stage.set_mode("return")
        eventually(lambda: tickets.live() == (1, 0))
        tickets.ensure(1)
        eventually(lambda: stage.heard("ended") == ["w1/2"])
        assert worker.poll() is None


def test_a_slice_that_raises_is_reported_and_the_next_ticket_runs(
    server_url: str, tickets: Tickets, stage: Stage
) -> None:
    stage.set_mode("raise")
    with one_worker(server_url, tickets):
        tickets.ensure(1)
        eventually(lambda: stage.heard("deaths") == ["w1/1"])
        stage.set_mode("return")
        eventually(lambda: tickets.live() == (1, 0))
        tickets.ensure(1)
        eventually(lambda: stage.heard("ended") == ["w1/2"])


def test_slices_that_fail_one_after_the_other_are_spaced_out_and_a_stop_is_heard_meanwhile(
    server_url: str, tickets: Tickets, stage: Stage
) -> None:
    stage.set_mode("raise")
    with one_worker(server_url, tickets) as worker:

        def kept_busy() -> int:
            tickets.ensure(1)
            return len(stage.heard("deaths"))

        eventually(lambda: kept_busy() >= MANY + 1)  # by now it waits for seconds
        seen = len(stage.heard("deaths"))
        for _ in range(20):
            tickets.ensure(1)
            time.sleep(0.02)
        assert len(stage.heard("deaths")) <= seen + 1, "without a pause there would be dozens"
        worker.terminate()
        assert worker.wait(timeout=5) == 0


def test_the_slice_is_told_its_token_and_runs_in_a_child(
    server_url: str, tickets: Tickets, stage: Stage
) -> None:
    with one_worker(server_url, tickets) as worker:
        tickets.ensure(1)
        eventually(lambda: stage.heard("ended"))
        token, pid, parent = stage.heard("started")[0].split()
        assert token == "w1/1"
        assert int(parent) == worker.pid != int(pid)


def test_a_running_slice_is_counted(server_url: str, tickets: Tickets, stage: Stage) -> None:
    stage.set_mode("hold")
    with one_worker(server_url, tickets):
        tickets.ensure(1)
        eventually(lambda: stage.heard("started"))
        assert tickets.live() == (1, 1)
        assert tickets.ensure(1) == 0


def test_a_warm_stop_lets_the_running_slice_end_by_itself(
    server_url: str, tickets: Tickets, stage: Stage
) -> None:
    stage.set_mode("hold")
    with one_worker(server_url, tickets) as worker:
        tickets.ensure(1)
        eventually(lambda: stage.heard("started"))
        worker.terminate()
        assert worker.wait(20) == 0
    assert stage.heard("ended") == ["w1/1"]
    assert stage.heard("deaths") == []


def test_sigterm_to_everybody_at_once_kills_no_slice(server_url: str, tickets: Tickets, stage: Stage) -> None:
    stage.set_mode("hold")
    with one_worker(server_url, tickets) as worker:
        tickets.ensure(1)
        eventually(lambda: stage.heard("started"))
        horse = int(stage.heard("started")[0].split()[1])
        os.killpg(horse, signal.SIGTERM)
        os.killpg(worker.pid, signal.SIGTERM)
        assert worker.wait(20) == 0
    assert stage.heard("ended") == ["w1/1"]
    assert stage.heard("deaths") == []


def test_an_idle_worker_stops_at_once(server_url: str, tickets: Tickets) -> None:
    with one_worker(server_url, tickets) as worker:
        eventually(lambda: tickets.live() == (1, 0))
        worker.send_signal(signal.SIGINT)
        assert worker.wait(20) == 0
    assert tickets.live() == (0, 0)


def test_a_second_signal_ends_a_slice_that_does_not_listen(
    server_url: str, tickets: Tickets, stage: Stage
) -> None:
    stage.set_mode("hold")
    with one_worker(server_url, tickets) as worker:
        tickets.ensure(1)
        eventually(lambda: stage.heard("started"))
        horse = int(stage.heard("started")[0].split()[1])
        os.kill(horse, signal.SIGSTOP)
        # RQ takes two signals within a second for one that came twice.
        eventually(lambda: not alive(horse) or worker.terminate())
        assert worker.wait(20) == 0
    assert stage.heard("deaths") == ["w1/1"]


def test_a_pop_ends_before_the_socket_times_out(server_url: str, tickets: Tickets) -> None:
    client = connect(server_url)
    client.ping()
    worker = SliceWorker(replace(tickets, client=client), "w1", parent=0, on_horse_death=print)
    # The connection that the ping opened, since it is the one that will be used.
    assert client.connection_pool.get_connection().socket_timeout > worker.dequeue_timeout + 5


def test_a_horse_dies_with_its_worker(server_url: str, tickets: Tickets, stage: Stage) -> None:
    stage.set_mode("hold")
    with one_worker(server_url, tickets) as worker:
        tickets.ensure(1)
        eventually(lambda: stage.heard("started"))
        horse = int(stage.heard("started")[0].split()[1])
        worker.kill()
        eventually(lambda: not alive(horse))
    assert stage.heard("ended") == []


def test_a_wiped_server_does_not_end_the_worker(server_url: str, tickets: Tickets, stage: Stage) -> None:
    stage.set_mode("hold")
    with one_worker(server_url, tickets) as worker:
        tickets.ensure(1)
        eventually(lambda: stage.heard("started"))
        tickets.client.flushall()
        eventually(lambda: stage.heard("ended") == ["w1/1"])
        eventually(lambda: tickets.ensure(1))
        eventually(lambda: stage.heard("ended") == ["w1/1", "w1/2"])
        assert worker.poll() is None
    assert stage.heard("deaths") == []


def test_a_server_that_dies_as_a_slice_ends_is_waited_for_without_a_traceback(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    socket = f"/tmp/limpet-pool-{uuid4().hex[:8]}.sock"
    url = f"unix://{socket}"
    tickets = Tickets(Redis.from_url(url), "shop", uuid4().hex, function=FUNCTION)
    stage = Stage(tickets.client, tickets.store_id)
    with ExitStack() as worker_ends:
        with serving(socket, tmp_path):
            stage.set_mode("deaf")
            worker = worker_ends.enter_context(one_worker(url, tickets))
            tickets.ensure(1)
            eventually(lambda: stage.heard("started"))
            horse = int(stage.heard("started")[0].split()[1])
        os.kill(horse, signal.SIGTERM)
        eventually(lambda: not alive(horse))
        with serving(socket, tmp_path):
            eventually(lambda: tickets.live() == (1, 0))
            tickets.ensure(1)
            eventually(lambda: stage.heard("ended") == ["w1/2"])
            assert worker.poll() is None
            assert stage.heard("deaths") == []
    Path(socket).unlink(missing_ok=True)
    assert "Traceback" not in capfd.readouterr().err


def test_a_full_server_ends_no_worker_and_needs_no_traceback(
    server_url: str, tickets: Tickets, stage: Stage, capfd: pytest.CaptureFixture[str]
) -> None:
    stage.set_mode("deaf")
    with one_worker(server_url, tickets) as worker:
        tickets.ensure(1)
        eventually(lambda: stage.heard("started"))
        tickets.client.config_set("maxmemory", 1)
        try:
            os.kill(int(stage.heard("started")[0].split()[1]), signal.SIGTERM)
            eventually(lambda: tickets.live() == (1, 0))
        finally:
            tickets.client.config_set("maxmemory", 0)
        stage.set_mode("return")
        tickets.ensure(1)
        eventually(lambda: stage.heard("ended") == ["w1/2"])
        assert worker.poll() is None
        assert stage.heard("deaths") == []
    assert "Traceback" not in capfd.readouterr().err


def test_a_stuck_process_ends_with_its_traceback_although_it_holds_the_gil() -> None:
    program = (
        "from collections import deque; from itertools import repeat\n"
        "from limpet_consumers.process import rearm\n"
        "def stuck(): deque(repeat(1), maxlen=0)\n"
        "rearm(60); rearm(0.1); stuck()\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60, check=False)
    assert ended.returncode == 1
    assert b"in stuck" in ended.stderr


def test_a_watchdog_that_was_called_off_bites_nobody() -> None:
    program = (
        "import time; from limpet_consumers.process import disarm, rearm\n"
        "rearm(0.01); disarm(); time.sleep(0.1)\n"
    )
    subprocess.run([sys.executable, "-c", program], timeout=60, check=True)


@pytest.mark.parametrize(
    "trace", ["", "\nTraceback (most recent call last):\n  File x\nredis.exceptions.TimeoutError: slow\n"]
)
def test_what_rq_says_of_a_redis_in_trouble_is_one_line(trace: str) -> None:
    info = None if trace else (RedisTimeout, RedisTimeout("slow"), None)
    record = logging.LogRecord("rq.worker", logging.ERROR, "x", 1, "job failed%s", (trace,), info)
    assert in_a_line(record)
    assert record.getMessage().startswith("job failed: ")
    assert record.getMessage().count("\n") == 0
    assert record.exc_info is None


def test_what_rq_says_of_a_mistake_of_ours_keeps_its_traceback() -> None:
    trace = "\nTraceback (most recent call last):\n  File x\nValueError: a bug\n"
    record = logging.LogRecord("rq.worker", logging.ERROR, "x", 1, "job failed%s", (trace,), None)
    assert in_a_line(record)
    assert record.getMessage() == f"job failed{trace}"
