"""What people look at RQ with shows our queue and workers as ordinary ones: `rq info`, and the calls of dashboards."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from consumers.pool_helpers import Stage, eventually, one_worker  # noqa: TID251
from redis import Redis
from rq import Queue, Worker
from rq.job import Job
from rq.registry import (
    CanceledJobRegistry,
    DeferredJobRegistry,
    FailedJobRegistry,
    FinishedJobRegistry,
    ScheduledJobRegistry,
    StartedJobRegistry,
)
from rq.serializers import JSONSerializer

from limpet_consumers.tickets import Tickets

pytest_plugins = ["consumers.pool_helpers"]
REGISTRIES = [
    CanceledJobRegistry, DeferredJobRegistry, FailedJobRegistry, FinishedJobRegistry, ScheduledJobRegistry,
    StartedJobRegistry,
]  # fmt: skip


def rq_info(url: str, *options: str) -> str:
    rq = Path(sys.executable).with_name("rq")
    done = subprocess.run(
        [str(rq), "info", "--url", url, *options], capture_output=True, text=True, timeout=30, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def busy(client: Redis) -> bool:
    return [worker.get_state() for worker in Worker.all(connection=client)] == ["busy"]


def test_rq_info_shows_the_queue_its_registries_and_a_worker_at_work(
    server_url: str, tickets: Tickets, stage: Stage
) -> None:
    stage.set_mode("hold")
    with one_worker(server_url, tickets):
        tickets.ensure(2)
        eventually(lambda: stage.heard("started") and busy(tickets.client))
        shown = rq_info(server_url, "--raw")
        assert f"queue {tickets.queue_name} 1" in shown
        assert "busy" in shown
        people = rq_info(server_url)
        assert "1 workers, 1 queues" in people
        assert re.search(rf"^w1 .*busy.*{tickets.queue_name}", people, re.M)


def test_an_idle_worker_is_shown_as_idle(server_url: str, tickets: Tickets, stage: Stage) -> None:
    with one_worker(server_url, tickets):
        eventually(lambda: [w.get_state() for w in Worker.all(connection=tickets.client)] == ["idle"])
        assert "idle" in rq_info(server_url)


@pytest.mark.parametrize("serializer", [None, JSONSerializer])
def test_what_dashboards_ask_rq_is_answered(
    server_url: str, tickets: Tickets, stage: Stage, serializer: type | None
) -> None:
    client = tickets.client
    stage.set_mode("hold")
    with one_worker(server_url, tickets):
        tickets.ensure(2)
        eventually(lambda: stage.heard("started") and busy(client))
        (worker,) = Worker.all(connection=client, serializer=serializer)
        assert worker.name == "w1"
        assert [queue.name for queue in worker.queues] == [tickets.queue_name]
        assert worker.birth_date is not None
        assert worker.last_heartbeat is not None
        assert worker.python_version
        running = worker.get_current_job()
        assert running is not None
        assert running.description == "a slice"
        (queue,) = Queue.all(connection=client, serializer=serializer)
        assert queue.name == tickets.queue_name
        assert queue.count == 1
        (waiting,) = queue.get_jobs()
        assert waiting.get_status() == "queued"
        for registry in REGISTRIES:
            found = registry(queue.name, connection=client, serializer=serializer)
            assert found.count == len(found.get_job_ids()) == (registry is StartedJobRegistry)
        for job_id in (running.id, waiting.id):
            job = Job.fetch(job_id, connection=client, serializer=serializer)
            assert job.origin == tickets.queue_name
            assert job.created_at is not None
            assert job.latest_result() is None
            assert job.timeout
        assert Job.fetch(waiting.id, connection=client, serializer=JSONSerializer).args == ["shop"]
