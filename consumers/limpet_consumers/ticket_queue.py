"""The crawl's queue as a worker sees it: tickets are handed out, all else is thrown out."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Any, cast

import redis
from rq import Queue
from rq.exceptions import DequeueTimeout, StopRequested
from rq.job import Job
from rq.serializers import JSONSerializer

from limpet_consumers.allow import Refusal, inspect, inspect_id
from limpet_consumers.tickets import Tickets
from limpet_store.complaints import complaint

log = logging.getLogger("limpet.worker")


class NotNow(Exception):
    """Redis gives out no tickets now; the text says why."""


class TicketQueue(Queue):
    """An RQ queue behind the allow-list. Make it with `of`; `answered` is called when Redis answered a wait.

    Each job is made of the very bytes that were inspected: nobody can exchange them in between.
    """

    tickets: Tickets
    answered: Callable[[], None]

    @classmethod
    def of(cls, tickets: Tickets, answered: Callable[[], None] = lambda: None) -> TicketQueue:
        queue = cls(tickets.queue_name, connection=tickets.client, serializer=JSONSerializer)
        queue.tickets = tickets
        queue.answered = answered
        return queue

    @classmethod
    def dequeue_any(
        cls, queues: Iterable[Queue], timeout: int | None, *args: Any, **kwargs: Any
    ) -> tuple[Job, Queue] | None:
        """RQ's verb, for exactly one queue of this class: waits up to `timeout` seconds, None not at all.

        Raises NotNow, which RQ lets through: of Redis's errors it waits for some, with a line each time, and dies of
        the others.
        """
        (queue,) = queues
        assert isinstance(queue, TicketQueue)
        try:
            while (job_id := queue._pop(timeout)) is not None:
                if (job := queue._admit(job_id)) is not None:
                    return job, queue
        except redis.exceptions.RedisError as error:
            raise NotNow(complaint(error)) from error
        return None

    def _pop(self, timeout: int | None) -> bytes | None:
        # A plain pop: a ticket that is lost with its worker is missed by the count and made anew.
        if timeout is None:
            return cast(bytes | None, self.connection.lpop(self.key))
        reply = self.connection.blpop([self.key], timeout)
        self.answered()
        if reply is None:
            raise DequeueTimeout(timeout, [self.key])
        return cast(bytes, reply[1])

    def _admit(self, job_id: bytes) -> Job | None:
        verdict = inspect_id(job_id) or self._read(job_id)
        if isinstance(verdict, Refusal):
            log.warning("refused job %r, %s: %s", job_id[:40], verdict.reason, verdict.detail)
            self.tickets.refuse(job_id, verdict.reason)
            return None
        return verdict

    def _read(self, job_id: bytes) -> Job | Refusal | None:
        key = b"rq:job:" + job_id
        try:
            raw = cast(dict[bytes, bytes], self.connection.hgetall(key))
        except redis.exceptions.ResponseError as error:
            return Refusal("hash", str(error))
        if not raw:
            return None  # lapsed, or run already
        if self.connection.exists(key + b":dependents"):
            return Refusal("field", "dependents")
        tickets = self.tickets
        refusal = inspect(raw, queue=self.name, crawl=tickets.crawl, function=tickets.function)
        return refusal or self._build(job_id.decode(), raw)

    def _build(self, job_id: str, raw: dict[bytes, bytes]) -> Job | Refusal:
        try:
            job = Job(job_id, connection=self.connection, serializer=JSONSerializer)
            job.restore(raw)
        except StopRequested:
            raise  # a stop arrived meanwhile; the ticket is made anew
        except Exception as error:  # RQ's reader may stumble in any way; that must not end the worker
            return Refusal("hash", f"{type(error).__name__}: {error}"[:100])
        return job
