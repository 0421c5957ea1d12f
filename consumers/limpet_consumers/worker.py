"""The RQ worker that runs slices: one queue, one function, one fork per slice, and never a reason to stop.

A worker opens no SQL store. It takes a ticket (`ticket_queue`), gives the slice a token and
forks a work-horse that runs the slice. It keeps the count of live slices, and when a horse ended otherwise
than by returning it says so, for the leases under that token to be released at once.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any

import redis
from rq import Queue, Worker
from rq.exceptions import InvalidJobOperation, StopRequested
from rq.job import Job
from rq.serializers import JSONSerializer
from rq.utils import now as utc_now
from rq.worker import WorkerStatus

from limpet_consumers.outage import REDIS, Backoff, Tell, on_its_own
from limpet_consumers.process import die_with_parent, orphaned
from limpet_consumers.rq_manners import TimeLimit, hush
from limpet_consumers.signals import DRAIN, StopFlag, held_back, let_through
from limpet_consumers.ticket_queue import NotNow, TicketQueue
from limpet_consumers.tickets import Tickets
from limpet_store.complaints import complaint

WORKER_TTL = 20  # seconds; RQ waits for a ticket for 15 less, then says again that the worker lives
SIGN_OF_LIFE = 5  # seconds between two signs of life of a running slice
SWEEP = 60.0  # seconds
MANY = 3  # slices in a row that gave up: then the worker waits before the next
LONGEST_CALM = 60.0  # seconds
BIRTH, TICKETS, SLICES = "birth", "tickets", "slices"  # what a worker needs Redis for

log = logging.getLogger("limpet.worker")


@dataclass(frozen=True, slots=True)
class SliceContext:
    """What a slice knows of its worker: its token, and whether it is to end (ask before each lease): at once, or
    when what it has leased is finished."""

    token: str
    should_stop: Callable[[], bool]
    draining: Callable[[], bool] = lambda: False


# Set before each fork, so that the horse finds its own; None outside of a worker.
current: SliceContext | None = None


class SliceWorker(Worker):
    """A fork worker for one crawl's tickets.

    `on_horse_death(token)` is called after a work-horse ended otherwise than by returning from its slice; the
    slice may hold nothing any more. `name` must never have been used before: tokens are made of it. `tell` hears of a
    Redis in trouble, which is waited for however long it takes.
    """

    death_penalty_class = TimeLimit

    def __init__(
        self,
        tickets: Tickets,
        name: str,
        *,
        parent: int,
        on_horse_death: Callable[[str], None],
        tell: Tell | None = None,
    ) -> None:
        self.tickets = tickets
        self._parent = parent
        self._on_horse_death = on_horse_death
        self._tell = tell or on_its_own(log.warning)
        self._backoff = Backoff()
        self._troubled: set[str] = set()  # what Redis does not do for it now
        self._stopping, self._draining = StopFlag(), StopFlag()
        self._waiting = False
        self._slices = 0
        self._gave_up = 0  # slices in a row that ended by themselves, and badly
        self._horse_ended_with: int | None = None
        self._swept_at = float("-inf")
        hush()
        super().__init__(
            [TicketQueue.of(tickets, lambda: self._well(TICKETS))],
            name=name,
            connection=tickets.client,
            queue_class=TicketQueue,
            serializer=JSONSerializer,
            default_result_ttl=0,
            worker_ttl=WORKER_TTL,
            maintenance_interval=10,
            job_monitoring_interval=SIGN_OF_LIFE,
            log_job_description=False,
        )

    @property
    def stopping(self) -> bool:
        """Whether it was asked to end."""
        return bool(self._stopping) or bool(self._draining)

    # -- life: register, say so, leave

    def bootstrap(self, *args: Any, **kwargs: Any) -> None:
        """Register; no log handlers of RQ's, and no listening for commands: a thread makes forks unsafe.

        Raises StopRequested when it was told to stop before Redis took its name.
        """
        self._install_signal_handlers()  # who sees that this worker is there may stop it
        while not self._registered():
            self._rest(self._backoff())
            if self.stopping:
                raise StopRequested
        self.set_state(WorkerStatus.STARTED)

    def _registered(self) -> bool:
        try:
            # Of an earlier try whose reply was lost: nobody else has this name.
            self.connection.delete(self.key)
            self.register_birth()  # type: ignore[no-untyped-call]
            self.tickets.touch_worker(self.name)
        except redis.exceptions.RedisError as error:
            self._trouble(BIRTH, complaint(error))
            return False
        self._well(BIRTH)
        return True

    def _trouble(self, what: str, text: str) -> None:
        self._troubled.add(what)
        self._tell(REDIS, text)

    def _well(self, what: str) -> None:
        if what in self._troubled:
            self._troubled.discard(what)
            if not self._troubled:
                self._backoff.over()
                self._tell(REDIS, None)

    def run_maintenance_tasks(self) -> None:
        """Say that this worker lives; once a minute sweep RQ's sets."""
        if orphaned(self._parent):
            raise StopRequested  # where the kernel does not see to it
        with self._or_not("no sign of life"):
            self.tickets.touch_worker(self.name)
            if time.monotonic() - self._swept_at > SWEEP:
                self.tickets.sweep()
                self._swept_at = time.monotonic()
        self.last_cleaned_at = utc_now()  # type: ignore[assignment]

    def register_death(self) -> None:
        """Leave nothing behind. What cannot be removed now lapses."""
        with self._or_not("not signed off"):
            self.tickets.forget_worker(self.name)

    @contextmanager
    def _or_not(self, what: str) -> Iterator[None]:
        """Around what a Redis that is away or full may miss: its keys lapse, and only the wait for the next ticket
        has to wait for it."""
        try:
            yield
        except redis.exceptions.RedisError as error:
            log.info("worker %s: %s: %s", self.name, what, error)

    def set_state(self, *args: Any, **kwargs: Any) -> None:
        """RQ's verb; it is there for people to look at."""
        with self._or_not("state not shown"):
            super().set_state(*args, **kwargs)

    def heartbeat(self, *args: Any, **kwargs: Any) -> None:
        """RQ's verb; our own signs of life are the tickets'."""
        with self._or_not("no heartbeat"):
            super().heartbeat(*args, **kwargs)

    def check_for_suspension(self, *args: Any, **kwargs: Any) -> None:
        """RQ's verb."""
        with self._or_not("not known whether suspended"):
            super().check_for_suspension(*args, **kwargs)

    # -- one slice

    def dequeue_job_and_maintain_ttl(self, *args: Any, **kwargs: Any) -> tuple[Job, Queue] | None:
        """RQ's verb; a stop interrupts it, and no trouble of Redis's ends it."""
        while True:
            self._waiting = True
            try:
                if self.stopping:
                    raise StopRequested
                return super().dequeue_job_and_maintain_ttl(*args, **kwargs)
            except NotNow as error:
                self._trouble(TICKETS, str(error))
            finally:
                self._waiting = False
            self._rest(self._backoff())

    def execute_job(self, job: Job, queue: Queue) -> None:
        """Fork a work-horse for one slice, wait for it, report it if it died."""
        global current
        self._slices += 1
        token = f"{self.name}/{self._slices}"
        current = SliceContext(token, self._should_stop(os.getpid()), self._draining.__bool__)
        self._horse_ended_with = None
        try:
            self.tickets.touch_slice(token)
            super().execute_job(job, queue)
            self._well(SLICES)
        except redis.exceptions.RedisError as error:  # its ticket is gone: the supervisor makes another
            self._trouble(SLICES, complaint(error))
            self._rest(self._backoff())
        finally:
            if self._horse_ended_with is not None:
                self._slice_ended(token)

    def _should_stop(self, worker: int) -> Callable[[], bool]:
        return lambda: bool(self._stopping) or orphaned(worker)

    def _slice_ended(self, token: str) -> None:
        status = self._horse_ended_with
        if status != os.EX_OK:
            log.warning("slice %s ended with wait status %s", token, status)
            self._on_horse_death(token)
        with self._or_not(f"slice {token} not signed off"):
            self.tickets.forget_slice(token)
        # One that was killed is replaced at once; one that gave up by itself would only do so again.
        self._gave_up = (
            self._gave_up + 1 if status is not None and os.waitstatus_to_exitcode(status) > 0 else 0
        )
        if self._gave_up >= MANY:
            self._calm_down(min(2.0 ** (self._gave_up - MANY), LONGEST_CALM))

    def _calm_down(self, seconds: float) -> None:
        """Wait before the next slice, saying that the worker lives; a stop interrupts it."""
        log.warning("%d slices in a row failed; the next one in %.0f s", self._gave_up, seconds)
        self._rest(seconds)

    def _rest(self, seconds: float) -> None:
        """Wait, saying that the worker lives; a stop ends it."""
        self._waiting = True
        try:
            until = time.monotonic() + seconds
            while not self.stopping and (left := until - time.monotonic()) > 0:
                time.sleep(min(left, SIGN_OF_LIFE))
                if not self._troubled:
                    with self._or_not("no sign of life"):
                        self.tickets.touch_worker(self.name)
        finally:
            self._waiting = False

    def wait_for_horse(self) -> tuple[int | None, int | None, Any]:
        """RQ's verb; keeps how the horse ended (-1: somebody else reaped it)."""
        pid, status, usage = super().wait_for_horse()
        self._horse_ended_with = -1 if status is None else status
        return pid, status, usage

    def maintain_heartbeats(self, *args: Any, **kwargs: Any) -> None:
        """Signs of life of a running slice. A Redis that is away is no reason to leave the horse alone."""
        with self._or_not("no sign of life"):
            super().maintain_heartbeats(*args, **kwargs)
            self.tickets.touch_worker(self.name)
            self.tickets.touch_slice(f"{self.name}/{self._slices}")

    def get_heartbeat_ttl(self, job: Job, working_time: float = 0.0) -> int:
        """Seconds after which a running job without sign of life is lost to RQ (to us: `SLICE_LIFE_MS`)."""
        return 6 * SIGN_OF_LIFE

    # -- in the work-horse

    def fork_work_horse(self, job: Job, queue: Queue) -> None:
        """RQ's verb; a stop that arrives meanwhile is delivered when both sides know each other."""
        with held_back():
            super().fork_work_horse(job, queue)

    def setup_work_horse_signals(self) -> None:
        """Die with the worker. SIGTERM ends the slice softly, whoever sends it; Ctrl-C is for others."""
        assert self.pid is not None
        die_with_parent(self.pid)
        signal.signal(signal.SIGTERM, self._stopping.handle)
        signal.signal(DRAIN, self._draining.handle)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        let_through()

    def prepare_job_execution(self, job: Job, remove_from_intermediate_queue: bool = False) -> None:
        """RQ's verb; the hash of a running job gets a time to live again: it may die with its worker."""
        assert job.timeout is not None
        with self._or_not("slice not written down"):
            super().prepare_job_execution(job, remove_from_intermediate_queue)
            self.connection.expire(job.key, int(job.timeout) + 60)

    def perform_job(self, *args: Any, **kwargs: Any) -> bool:
        """RQ's verb; a slice that raised is an abnormal end for the worker too: its leases are still held."""
        ended_well = super().perform_job(*args, **kwargs)
        sys.stdout.flush()  # RQ ends the horse with os._exit
        if not ended_well:
            os._exit(1)
        return True

    def handle_execution_ended(self, *args: Any, **kwargs: Any) -> None:
        """RQ's verb."""
        with self._or_not("end of a slice not written down"):
            super().handle_execution_ended(*args, **kwargs)

    def handle_job_success(self, *args: Any, **kwargs: Any) -> None:
        """RQ's verb; a slice that ended well has, also when its ticket is gone because Redis was wiped, or half of what
        RQ keeps of it has lapsed because Redis hung (a KeyError of RQ's)."""
        try:
            with self._or_not("end of a slice not written down"):
                super().handle_job_success(*args, **kwargs)
        except (InvalidJobOperation, KeyError) as error:
            log.info("worker %s: %r", self.name, error)

    # -- stopping

    def _install_signal_handlers(self) -> None:
        super()._install_signal_handlers()  # type: ignore[no-untyped-call]
        signal.signal(DRAIN, self.request_drain)

    def request_drain(self, signum: int, frame: FrameType | None) -> None:
        """No more tickets; the running slice finishes what it has leased."""
        self._draining.set()
        self._stop_requested = True
        if self.horse_pid:
            self._signal_horse(DRAIN)
        if self._waiting:
            raise StopRequested

    def request_stop(self, signum: int, frame: FrameType | None) -> None:
        """First signal: no more tickets, the running slice ends by itself. The next one ends all at once."""
        self._shutdown_requested_date = utc_now()
        signal.signal(signal.SIGINT, self.request_force_stop)
        signal.signal(signal.SIGTERM, self.request_force_stop)
        self._stopping.set()
        self._stop_requested = True
        self.handle_warm_shutdown_request()
        if self._waiting:
            raise StopRequested

    def handle_warm_shutdown_request(self) -> None:
        """Tell the work-horse to end its slice."""
        if self.horse_pid:
            self._signal_horse(signal.SIGTERM)

    def kill_horse(self, sig: signal.Signals = signal.SIGKILL) -> None:
        """Kill the horse, and the processes it may have started: they are in its group."""
        try:
            os.killpg(self.horse_pid, sig)
        except ProcessLookupError:
            self._signal_horse(sig)  # it has not made its group yet

    def _signal_horse(self, sig: signal.Signals) -> None:
        try:
            os.kill(self.horse_pid, sig)
        except ProcessLookupError:
            pass
