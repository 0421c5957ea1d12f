"""RQ as it is to behave here: what it logs, and how it ends a job that takes too long."""

from __future__ import annotations

import faulthandler
import logging
import os
from types import FrameType

from redis.exceptions import RedisError
from rq.timeouts import JobTimeoutException, UnixSignalDeathPenalty


class TimeLimit(UnixSignalDeathPenalty):
    """RQ's time limits. A slice that is over its own ends with its process: an exception could come in the middle of
    anything, and a site's `except Exception` would swallow it."""

    def handle_death_penalty(self, signum: int, frame: FrameType | None) -> None:
        if self._exception is JobTimeoutException:
            faulthandler.dump_traceback()
            os._exit(1)
        super().handle_death_penalty(signum, frame)  # type: ignore[no-untyped-call]


def hush() -> None:
    """Of RQ's log lines only those that an operator can use, each a line."""
    for name in ("rq.worker", "rq.job", "rq.queue", "rq.registry"):
        logging.getLogger(name).setLevel(logging.WARNING)
    logging.getLogger("rq.worker").addFilter(in_a_line)


def in_a_line(record: logging.LogRecord) -> bool:
    """A Redis that is away or full needs no traceback, nor a line each time that it is tried again."""
    if record.getMessage().endswith("seconds..."):
        return False
    error = record.exc_info[1] if record.exc_info else None
    text, _, trace = record.getMessage().partition("\nTraceback ")
    last = trace.rstrip().rpartition("\n")[2]  # RQ has put it into words in some places
    if isinstance(error, RedisError) or last.startswith("redis.exceptions."):
        record.msg, record.args, record.exc_info = "%s: %s", (text, error or last), None
    return True
