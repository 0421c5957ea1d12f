"""The supervisor with real workers and work-horses; each test looks at pids, as an operator would."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from consumers.pool_helpers import Stage, alive, command, eventually  # noqa: TID251

from limpet_consumers.supervisor import Supervisor
from limpet_consumers.tickets import Tickets
from limpet_store.errors import LimpetError

pytest_plugins = ["consumers.pool_helpers"]


@contextmanager
def supervised(command: list[str], workers: int, deaths: list[str] | None = None) -> Iterator[Supervisor]:
    seen: list[str] = [] if deaths is None else deaths
    supervisor = Supervisor(command, workers, on_worker_death=seen.append)
    supervisor.start()
    try:
        yield supervisor
    finally:
        supervisor.stop(timeout=0.0)


def until(supervisor: Supervisor, what: Callable[[], object]) -> None:
    eventually(lambda: (supervisor.poll(wait=0.05), what())[1])


def gone(horse: int) -> None:
    # Its files are closed, so it runs no more; the kernel may need a moment to list it as dead.
    eventually(lambda: not alive(horse))


def holders(stage: Stage) -> list[tuple[str, int, int]]:
    """Token, pid of the horse and pid of the worker, of each slice that was started."""
    return [
        (token, int(horse), int(worker)) for token, horse, worker in map(str.split, stage.heard("started"))
    ]


def test_a_killed_worker_is_replaced_and_reported_and_its_horse_is_dead(
    server_url: str, tickets: Tickets, stage: Stage
) -> None:
    stage.set_mode("hold")
    deaths: list[str] = []
    with supervised(command(server_url, tickets), 2, deaths) as supervisor:
        tickets.ensure(2)
        until(supervisor, lambda: len(holders(stage)) == 2)
        token, horse, worker = holders(stage)[0]
        os.kill(worker, signal.SIGKILL)
        until(supervisor, lambda: deaths)
        assert deaths == [token.split("/")[0]]
        gone(horse)
        assert worker not in supervisor.pids()
        tickets.forget_worker(deaths[0])
        until(supervisor, lambda: tickets.ensure(2) or len(holders(stage)) == 3)
        assert len(supervisor.pids()) == 2


def test_a_death_is_not_reported_while_a_horse_lives(tmp_path: Path) -> None:
    # The first worker leaves a child that holds its pipe, as a horse does that has not died yet.
    program = (
        "import os, sys, time\n"
        "if os.path.exists(sys.argv[1]) or os.fork() == 0: time.sleep(60)\n"
        "open(sys.argv[1], 'w').close()\n"
    )
    deaths: list[str] = []
    with supervised([sys.executable, "-c", program, str(tmp_path / "once")], 1, deaths) as supervisor:
        (first,) = supervisor.pids()
        until(supervisor, lambda: supervisor.pids() != [first])
        assert deaths == []
        os.killpg(first, signal.SIGKILL)
        until(supervisor, lambda: deaths)


def test_a_warm_stop_lets_slices_end_by_themselves(server_url: str, tickets: Tickets, stage: Stage) -> None:
    stage.set_mode("hold")
    with supervised(command(server_url, tickets), 2) as supervisor:
        tickets.ensure(2)
        until(supervisor, lambda: len(holders(stage)) == 2)
        pids = supervisor.pids()
        assert supervisor.stop(timeout=20.0)
    assert len(stage.heard("ended")) == 2
    assert stage.heard("deaths") == []
    assert not any(map(alive, pids))
    assert tickets.live() == (0, 0)


def test_what_does_not_stop_is_killed_with_its_horse(server_url: str, tickets: Tickets, stage: Stage) -> None:
    stage.set_mode("hold")
    deaths: list[str] = []
    with supervised(command(server_url, tickets), 1, deaths) as supervisor:
        tickets.ensure(1)
        until(supervisor, lambda: holders(stage))
        token, horse, worker = holders(stage)[0]
        os.kill(horse, signal.SIGSTOP)
        assert not supervisor.stop(timeout=0.1)
        assert not alive(worker)
        gone(horse)
    assert deaths == [token.split("/")[0]]


def test_a_killed_supervisor_takes_workers_and_horses_along(
    server_url: str, tickets: Tickets, stage: Stage
) -> None:
    stage.set_mode("hold")
    program = (
        "import sys; from limpet_consumers.supervisor import Supervisor\n"
        "supervisor = Supervisor(sys.argv[1:], 2, on_worker_death=print)\n"
        "supervisor.start()\n"
        "while True: supervisor.poll(0.1)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program, *command(server_url, tickets)]) as supervisor:
        tickets.ensure(2)
        eventually(lambda: len(holders(stage)) == 2)
        supervisor.kill()
    pids = [pid for _, horse, worker in holders(stage) for pid in (horse, worker)]
    eventually(lambda: not any(map(alive, pids)))
    assert stage.heard("ended") == []


def test_a_worker_whose_supervisor_is_gone_already_does_not_start(server_url: str, tickets: Tickets) -> None:
    arguments = [*command(server_url, tickets), "--name", "w1", "--parent", str(os.getpid() + 1)]
    assert subprocess.run(arguments, check=False).returncode == -signal.SIGKILL
    assert tickets.live() == (0, 0)


def test_workers_that_cannot_start_are_given_up_with_their_last_words() -> None:
    program = [sys.executable, "-c", "raise SystemExit('no such site')"]
    with supervised(program, 1) as supervisor, pytest.raises(LimpetError, match="no such site"):
        until(supervisor, lambda: False)


def test_a_worker_that_is_killed_again_and_again_is_started_again_and_again(
    server_url: str, tickets: Tickets
) -> None:
    deaths: list[str] = []
    with supervised(command(server_url, tickets), 1, deaths) as supervisor:
        for number in range(1, 8):
            os.kill(supervisor.pids()[0], signal.SIGKILL)
            until(supervisor, lambda number=number: len(deaths) == number)
    assert len(set(deaths)) == 8


def test_what_workers_write_is_passed_on_line_by_line() -> None:
    lines: list[str] = []
    program = "import os, time; os.write(1, b'one\\ntw'); os.write(2, b'o\\n\\xff\\nlast'); time.sleep(60)"
    supervisor = Supervisor(
        [sys.executable, "-c", program], 1, on_worker_death=lambda name: None, on_line=lines.append
    )
    supervisor.start()
    try:
        eventually(lambda: (supervisor.poll(0.05), len(lines) == 3)[1])
    finally:
        supervisor.stop(0.0)
    assert lines == ["one", "two", "\\xff", "last"]


def test_a_terminals_interrupt_reaches_the_supervisor_alone(server_url: str, tickets: Tickets) -> None:
    with supervised(command(server_url, tickets), 1) as supervisor:
        (pid,) = supervisor.pids()
        assert os.getsid(pid) == pid != os.getsid(0)
