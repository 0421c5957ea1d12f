"""Tickets: payload-free RQ jobs that say "work on this crawl for a while", and the count of who is at work.

RQ's own recovery is not relied on. Live workers and live slices are counted in keys of ours, with deadlines
that lapse; whoever supervises calls `Tickets.ensure`, which enqueues what is missing. Any ticket may be lost,
repeated or abandoned: it holds nothing, and a surplus one finds nothing to do and ends.

Keys, all under `{<crawl>:<store_id>}`:
    :workers   sorted set   worker name -> deadline, Redis milliseconds
    :slices    sorted set   slice token, `<worker name>/<n>` -> deadline
    :tickets   string       the lock of `ensure`, lapses by itself
    :refused   hash         reason -> number of jobs that were refused
What RQ writes for a ticket has a time to live, or is in a set that `sweep` and `forget_worker` keep short.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from redis import Redis
from redis.client import Pipeline
from rq import Queue
from rq.serializers import JSONSerializer

from limpet_consumers.allow import JOB_FUNCTION

WORKER_LIFE_MS = 45_000  # a worker says that it lives every 15 s at least
SLICE_LIFE_MS = 15_000  # and that its slice does every 5 s
LOCK_MS = 2_000
TICKET_TTL = 3_600  # seconds: of a ticket that nobody took, and of a failed one


def queue_name(crawl: str, store_id: str) -> str:
    """The RQ queue of a crawl; another store, or another life of the store, has another queue."""
    return f"limpet:{crawl}:{store_id}"


@dataclass(frozen=True, slots=True)
class Standing:
    """Live workers and slices, tickets that wait for one, those whose slice failed within the last hour, and jobs that
    were refused, by reason."""

    workers: int
    slices: int
    queued: int
    failed: int
    refused: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Tickets:
    """The tickets, slices and workers of one crawl. Any method may raise redis.RedisError, and be repeated.

    `client` must return bytes (RQ needs that). `slice_seconds` is the length of a slice; RQ ends a job after
    twice that and a minute, which no slice should ever meet.
    """

    client: Redis
    crawl: str
    store_id: str
    slice_seconds: float = 30.0
    function: str = JOB_FUNCTION

    @property
    def prefix(self) -> str:
        return f"{{{self.crawl}:{self.store_id}}}"

    @property
    def queue_name(self) -> str:
        return queue_name(self.crawl, self.store_id)

    def ensure(self, wanted: int) -> int:
        """Enqueue what queued tickets and live slices lack to be `wanted`; returns how many that were.

        At least as many as there are live workers are wanted, so that supervisors on several machines need
        not know of each other. Of callers at the same moment one enqueues, the others return 0. One round
        trip when nothing is missing: call it several times a second. It does not know whether the crawl is
        done: do not call it then.
        """
        if self._missing(wanted) == 0:
            return 0
        token = secrets.token_hex(8)
        if not self.client.set(f"{self.prefix}:tickets", token, nx=True, px=LOCK_MS):
            return 0
        try:
            # Counted again: another caller may have enqueued between the first count and the lock.
            return self._enqueue(self._missing(wanted))
        finally:
            self._script(self.client, "unlock", token)

    def live(self) -> tuple[int, int]:
        """How many workers and how many slices are alive."""
        workers, slices = self._script(self.client, "live")
        return int(workers), int(slices)

    def look(self) -> Standing:
        """The same and more, changing nothing."""
        seconds, micros = self.client.time()
        alive = f"({seconds * 1000 + micros // 1000}"
        with self.client.pipeline(transaction=False) as pipe:
            pipe.zcount(f"{self.prefix}:workers", alive, "+inf")
            pipe.zcount(f"{self.prefix}:slices", alive, "+inf")
            pipe.llen(f"rq:queue:{self.queue_name}")
            pipe.zcount(f"rq:failed:{self.queue_name}", f"({seconds}", "+inf")  # scored by when they lapse
            workers, slices, queued, failed = pipe.execute()
        return Standing(int(workers), int(slices), int(queued), int(failed), self.refused())

    def touch_worker(self, name: str) -> None:
        """A worker is alive, for `WORKER_LIFE_MS` from now."""
        self._script(self.client, "touch", "workers", name, WORKER_LIFE_MS)

    def touch_slice(self, token: str) -> None:
        """A slice is alive, for `SLICE_LIFE_MS` from now."""
        self._script(self.client, "touch", "slices", token, SLICE_LIFE_MS)

    def forget_slice(self, token: str) -> None:
        """A slice has ended, in whatever way."""
        self.client.zrem(f"{self.prefix}:slices", token)

    def forget_worker(self, name: str) -> None:
        """A worker is dead or leaves: its slices, and what RQ keeps about it, go."""
        key, slices = f"rq:worker:{name}", f"{self.prefix}:slices"
        members: list[Any] = self.client.zrange(slices, 0, -1)
        tokens = [member for member in members if member.startswith(f"{name}/".encode())]
        with self.client.pipeline() as pipe:
            pipe.zrem(f"{self.prefix}:workers", name)
            if tokens:
                pipe.zrem(slices, *tokens)
            pipe.delete(key, f"{key}:executions")
            pipe.srem("rq:workers", key)
            pipe.srem(f"rq:workers:{self.queue_name}", key)
            pipe.execute()

    def refuse(self, job_id: bytes, reason: str) -> None:
        """Delete a job that is not to be run, and count it."""
        with self.client.pipeline() as pipe:
            pipe.delete(b"rq:job:" + job_id, b"rq:job:" + job_id + b":dependents")
            pipe.hincrby(f"{self.prefix}:refused", reason, 1)
            pipe.execute()

    def refused(self) -> dict[str, int]:
        """How many jobs were refused so far, by reason; what somebody else wrote there is left out."""
        counts: dict[Any, Any] = self.client.hgetall(f"{self.prefix}:refused")
        return {
            reason.decode(): int(number)
            for reason, number in counts.items()
            if reason.isascii() and number.isdigit()
        }

    def sweep(self) -> None:
        """Drop from RQ's sets what has lapsed: workers of dead machines, jobs that died with their worker.

        Takes the place of RQ's own clean-up, which calls the failure callback that an abandoned job names.
        """
        now = self.client.time()[0]
        dead = self._dead_workers()
        with self.client.pipeline() as pipe:
            pipe.zremrangebyscore(f"rq:wip:{self.queue_name}", 0, now)
            pipe.zremrangebyscore(f"rq:failed:{self.queue_name}", 0, now)
            if dead:
                pipe.srem("rq:workers", *dead)
                pipe.srem(f"rq:workers:{self.queue_name}", *dead)
            pipe.execute()

    def _dead_workers(self) -> list[bytes]:
        keys: list[Any] = list(self.client.smembers(f"rq:workers:{self.queue_name}"))
        with self.client.pipeline(transaction=False) as pipe:
            for key in keys:
                pipe.exists(key)
            return [key for key, found in zip(keys, pipe.execute(), strict=True) if not found]

    def _missing(self, wanted: int) -> int:
        with self.client.pipeline(transaction=False) as pipe:
            self._script(pipe, "live")
            pipe.llen(f"rq:queue:{self.queue_name}")
            (workers, slices), queued = pipe.execute()
        return max(0, max(wanted, int(workers)) - int(slices) - int(queued))

    def _enqueue(self, number: int) -> int:
        queue = Queue(self.queue_name, connection=self.client, serializer=JSONSerializer)
        with self.client.pipeline() as pipe:
            for _ in range(number):
                queue.enqueue(
                    self.function,
                    args=(self.crawl,),
                    job_timeout=int(self.slice_seconds * 2) + 60,
                    result_ttl=0,
                    failure_ttl=TICKET_TTL,
                    ttl=TICKET_TTL,
                    description="a slice",
                    pipeline=pipe,
                )
            pipe.execute()
        return number

    def _script(self, client: Redis | Pipeline, *args: str | int) -> Any:
        return client.eval(_source(), 1, self.prefix, *args)


@cache
def _source() -> str:
    return resources.files("limpet_store").joinpath("lua", "tickets.lua").read_text()
