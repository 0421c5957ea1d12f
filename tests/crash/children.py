"""Forked children that answer once: the world is copied by the fork, and what one breaks no other sees."""

from __future__ import annotations

import faulthandler
import gc
import os
import pickle
import signal
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator
from typing import NoReturn, TypeVar

T = TypeVar("T")
AT_ONCE = 2  # one for each core
PATIENCE = 60  # seconds of real time for one child and all that it forks


class Children:
    """At most `most` at a time; `hear` waits for the oldest."""

    def __init__(self, most: int = AT_ONCE) -> None:
        self._most = most
        self._running: list[tuple[int, int, str]] = []

    def fork(self, name: str, job: Callable[[], object]) -> None:
        """Start one. It never returns from `job`; what it leaves behind dies with it."""
        sys.stdout.flush()
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            self._running = []  # they are the parent's
            _be(job, writing)
        os.close(writing)
        self._running.append((pid, reading, name))

    def full(self) -> bool:
        return len(self._running) >= self._most

    def __bool__(self) -> bool:
        return bool(self._running)

    def hear(self) -> tuple[str, object]:
        """(name, answer) of the oldest; an answer that is a string is what went wrong."""
        pid, reading, name = self._running.pop(0)
        with os.fdopen(reading, "rb") as pipe:
            answer = pipe.read()
        os.waitpid(pid, 0)
        return name, pickle.loads(answer) if answer else "the child hung or died without a word"

    def each(self, jobs: Iterable[tuple[str, Callable[[], object]]]) -> Iterator[tuple[str, object]]:
        """Run them all; their answers in order, as they come."""
        for name, job in jobs:
            self.fork(name, job)
            while self.full():
                yield self.hear()
        while self:
            yield self.hear()


def _be(job: Callable[[], object], writing: int) -> NoReturn:
    gc.disable()  # it would copy all that it looks at, and the child is soon over
    faulthandler.register(signal.SIGALRM, all_threads=True, chain=True)
    signal.alarm(PATIENCE)  # one that hangs says where, and dies
    try:
        answer: object = job()
    except BaseException:
        answer = last_words()
    try:
        with os.fdopen(writing, "wb") as pipe:
            pickle.dump(answer, pipe)
    finally:
        os._exit(0)


def last_words() -> str:
    """The exception that is being handled, in one line."""
    return " / ".join(line.strip() for line in traceback.format_exc().strip().splitlines()[-5:])
