"""A few worker processes, kept alive: started by exec, each in a session of its own, replaced when they die.

The supervisor has no thread and blocks in nothing but `poll(wait)` and `stop`: the front calls `poll` from
its own loop, in its main thread. Each worker writes its stdout and stderr into a pipe, and its work-horses
inherit it: the pipe's end says that the worker *and* its horses are gone, by no pid that could be stale.
"""

from __future__ import annotations

import os
import re
import secrets
import select
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from limpet_consumers.signals import DRAIN
from limpet_consumers.tally import mark_of
from limpet_store.errors import LimpetError

QUICK = 3.0  # a worker that ends by itself within so many seconds could not even start
QUICK_LIMIT = 5  # so many times in a row, and it never will
LINGER = 2.0  # how long a dead worker's pipe may stay open: user code may have left a process behind


class _Process:
    """One worker process, from its start until nothing of it is left."""

    def __init__(
        self,
        command: Sequence[str],
        name: str,
        on_line: Callable[[str], None],
        on_report: Callable[[str], None],
        environ: Mapping[str, str],
    ) -> None:
        self.name = name
        self.started = time.monotonic()
        self.tail: deque[str] = deque(maxlen=20)
        self._on_line = on_line
        self._on_report = on_report
        self._report = re.compile(re.escape(mark_of(name).encode()) + rb"([^\n]*)\n")
        self._rest = b""
        self.pipe, ours = os.pipe()
        os.set_blocking(self.pipe, False)
        self._popen = _spawn([*command, "--name", name, "--parent", str(os.getpid())], ours, environ)
        self._ended: float | None = None
        self._silent = False

    @property
    def pid(self) -> int:
        return self._popen.pid

    def look(self) -> bool:
        """Read what it wrote; whether it has ended (its horses may still have to)."""
        if self._ended is None and self._popen.poll() is not None:
            self._ended = time.monotonic()
        self._drain()  # afterwards, so that its last words are read
        return self._ended is not None

    def gone(self) -> bool:
        """Whether it has ended and nothing of it is left; its pipe is then closed."""
        if not self.look() or not (self._silent or self._lingers_too_long()):
            return False
        if self.pipe >= 0:
            os.close(self.pipe)
            self.pipe = -1
        return True

    def has_started(self) -> bool:
        """Whether it has lived long enough to count as one that can run."""
        return time.monotonic() - self.started > QUICK

    def failed_to_start(self) -> bool:
        """Whether it ended by itself as soon as it ran. A SIGKILL is somebody else's doing."""
        assert self._ended is not None
        return self._ended - self.started < QUICK and self._popen.returncode != -signal.SIGKILL

    def send(self, sig: signal.Signals) -> None:
        if self._ended is None:
            self._popen.send_signal(sig)

    def kill_group(self) -> None:
        with suppress(ProcessLookupError, PermissionError):  # macOS: EPERM for a group of zombies
            if self._ended is None:
                os.killpg(self.pid, signal.SIGKILL)

    def _lingers_too_long(self) -> bool:
        return self._ended is not None and time.monotonic() - self._ended > LINGER

    def _drain(self) -> None:
        while not self._silent:
            try:
                chunk = os.read(self.pipe, 65536)
            except BlockingIOError:
                return
            self._silent = not chunk
            self._pass_on(chunk or b"\n" * bool(self._rest))

    def _pass_on(self, chunk: bytes) -> None:
        # A report is taken out wherever it is: a long line of another process may have been cut by it.
        *lines, self._rest = self._report.sub(self._take, self._rest + chunk).split(b"\n")
        for line in lines:
            text = line.decode("utf-8", "backslashreplace")
            self.tail.append(text)
            self._on_line(text)

    def _take(self, report: re.Match[bytes]) -> bytes:
        self._on_report(report[1].decode("utf-8", "backslashreplace"))
        return b""


def _spawn(command: list[str], output: int, environ: Mapping[str, str]) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1", **environ},
        )
    finally:
        os.close(output)


def _to_stderr(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


class Supervisor:
    """Keeps `workers` processes of `command` running; `--name NAME --parent PID` is added to each.

    `on_worker_death(name)` is called once for each worker that ended, in whatever way, when its
    work-horses are gone too: everything under a token that begins with `<name>/` can be released. It may
    also be called for one that had released all of its own. Names are never used twice. `on_line` gets
    each line that a worker wrote to stdout or stderr, and `on_report` what its `Tally` sent. `environ` is added
    to their environment: secrets belong there, since everybody can read a command line.
    """

    def __init__(
        self,
        command: Sequence[str],
        workers: int,
        *,
        on_worker_death: Callable[[str], None],
        on_line: Callable[[str], None] = _to_stderr,
        on_report: Callable[[str], None] = lambda report: None,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self._command = list(command)
        self._wanted = workers
        self._on_worker_death = on_worker_death
        self._on_line = on_line
        self._on_report = on_report
        self._environ = dict(environ or {})
        self._running: list[_Process] = []
        self._leaving: list[_Process] = []
        self._failures = 0

    def start(self) -> None:
        """Start what is missing. Raises OSError when the command cannot be run."""
        while len(self._running) < self._wanted:
            name = f"w{secrets.token_hex(6)}"
            self._running.append(_Process(self._command, name, self._on_line, self._on_report, self._environ))

    def poll(self, wait: float = 0.0) -> int:
        """Pass on what workers wrote, replace the dead ones; returns how many had died.

        Waits up to `wait` seconds for something to happen. Raises LimpetError, with the last lines that
        were written, when workers cannot start: five ended by themselves right away, one after the other.
        The others run on then: call `stop`.
        """
        self._await_news(wait)
        dead = [process for process in self._running if process.look()]
        for process in dead:
            self._running.remove(process)
            self._leaving.append(process)
            self._note_end(process)
        if not dead and all(process.has_started() for process in self._running):
            self._failures = 0
        self._bury()
        self.start()
        return len(dead)

    def drain(self) -> None:
        """Ask all workers to end when they have finished what they have leased; `poll` until none is `left`, then
        `stop`."""
        self._let_go(DRAIN)

    @property
    def left(self) -> int:
        """Workers of which anything is left, those that were asked to end included."""
        return len(self._running) + len(self._leaving)

    def _let_go(self, sig: signal.Signals) -> None:
        self._wanted = 0
        self._leaving += self._running
        self._running = []
        for process in self._leaving:
            process.send(sig)

    def stop(self, timeout: float = 5.0) -> bool:
        """End all workers: ask, wait up to `timeout` seconds, kill. Whether nothing had to be killed.

        Every worker and every work-horse is gone afterwards, and `on_worker_death` was called for each.
        """
        self._let_go(signal.SIGTERM)
        if self._wait_until_buried(timeout):
            return True
        for process in self._leaving:
            process.kill_group()
        self._wait_until_buried(2 * LINGER)
        return False

    def pids(self) -> list[int]:
        """The pids of the workers that run."""
        return [process.pid for process in self._running]

    def _note_end(self, process: _Process) -> None:
        self._failures = self._failures + 1 if process.failed_to_start() else 0
        if self._failures >= QUICK_LIMIT:
            raise LimpetError("workers cannot start; the last one said:\n" + "\n".join(process.tail))

    def _await_news(self, wait: float) -> None:
        pipes = [process.pipe for process in self._running + self._leaving if process.pipe >= 0]
        select.select(pipes, [], [], wait)

    def _bury(self) -> None:
        for process in [process for process in self._leaving if process.gone()]:
            self._leaving.remove(process)
            self._on_worker_death(process.name)

    def _wait_until_buried(self, timeout: float) -> bool:
        deadline = time.monotonic() + timeout
        self._bury()
        while self._leaving and (left := deadline - time.monotonic()) > 0:
            self._await_news(min(left, 0.05))
            self._bury()
        return not self._leaving
