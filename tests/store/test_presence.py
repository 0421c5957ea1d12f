"""Who lives on this machine: the lock says it, never the pid."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from limpet_store import presence as presences
from limpet_store.presence import Living, Presence, anyone_working, bereft, bury, living

HOLD = """
import sys
from pathlib import Path
from limpet_store.presence import Presence
with Presence(Path(sys.argv[1]), sys.argv[2]):
    print("held", flush=True)
    sys.stdin.readline()
"""


class Holder:
    """Another process that holds a role until it is let go or killed."""

    def __init__(self, home: Path, role: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", HOLD, str(home), role], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == b"held\n"

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()

    def let_go(self) -> None:
        self.process.communicate(b"\n")


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[Holder]:
    holder = Holder(tmp_path, "worker")
    yield holder
    holder.kill()


def files(home: Path) -> list[str]:
    return sorted(os.listdir(home / "run"))


def test_two_processes_with_one_pid_are_both_seen(
    tmp_path: Path, worker: Holder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "getpid", lambda: worker.process.pid)
    with Presence(tmp_path, "worker"):  # as in containers that share a folder
        assert living(tmp_path) == [Living("worker", worker.process.pid)] * 2
    assert living(tmp_path) == [Living("worker", worker.process.pid)]
    worker.kill()
    assert not anyone_working(tmp_path)
    assert living(tmp_path) == []
    assert files(tmp_path) == []


def test_a_living_process_is_seen_and_one_that_left_is_not(tmp_path: Path, worker: Holder) -> None:
    assert living(tmp_path, ["worker"]) == [Living("worker", worker.process.pid)]
    assert living(tmp_path, ["horse"]) == []
    worker.let_go()
    assert living(tmp_path) == []
    assert files(tmp_path) == []


def test_a_killed_process_is_not_seen_and_its_file_goes(tmp_path: Path, worker: Holder) -> None:
    worker.kill()
    assert files(tmp_path) == [f"worker-{worker.process.pid}"]
    assert living(tmp_path) == []
    assert files(tmp_path) == []


def test_two_lookers_do_not_take_each_other_for_the_owner(tmp_path: Path, worker: Holder) -> None:
    worker.kill()
    with open(tmp_path / "run" / f"worker-{worker.process.pid}") as looked_at:
        fcntl.flock(looked_at, fcntl.LOCK_SH)
        assert living(tmp_path) == []


def test_a_pid_that_lives_again_is_not_taken_for_the_one_that_died(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / f"worker-{os.getpid()}").touch()
    assert not anyone_working(tmp_path)


def test_the_left_file_of_an_earlier_process_of_this_pid_is_taken_over(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / f"horse-{os.getpid()}").touch()
    with Presence(tmp_path, "horse"):
        assert living(tmp_path) == [Living("horse", os.getpid())]
    assert files(tmp_path) == []


def test_foreign_files_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    for name in ("notes.txt", "worker-x", "boss-12"):
        (tmp_path / "run" / name).touch()
    assert living(tmp_path) == []
    assert files(tmp_path) == ["boss-12", "notes.txt", "worker-x"]


def test_a_forked_child_does_not_pass_for_its_dead_parent(tmp_path: Path) -> None:
    """The parent holds a role, forks a child that stays, and is killed."""
    script = HOLD.replace('print("held"', 'pid = __import__("os").fork()\n    if pid: print(pid').replace(
        "sys.stdin.readline()", "sys.stdin.read() if pid else __import__('signal').pause()"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path), "worker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    try:
        assert living(tmp_path) == [Living("worker", parent.pid)]
        parent.kill()
        parent.wait()
        os.kill(child, 0)  # it lives
        deadline = time.monotonic() + 10
        while living(tmp_path):  # it may not have run yet
            assert time.monotonic() < deadline
    finally:
        os.kill(child, signal.SIGKILL)
        parent.communicate()


def test_a_child_that_leaves_does_not_take_its_parents_file(tmp_path: Path) -> None:
    with Presence(tmp_path, "worker") as presence:
        child = os.fork()
        if child == 0:
            presence.close()
            os._exit(0)
        os.waitpid(child, 0)
        assert living(tmp_path) == [Living("worker", os.getpid())]


def test_a_file_that_was_replaced_while_it_was_looked_at_is_not_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    new = Presence(tmp_path, "worker")
    new.path.parent.mkdir()
    new.path.touch()  # stale; opened by the looker below, gone and replaced before it is locked

    def replaced_first(fd: int, how: int) -> bool:
        monkeypatch.undo()
        new.path.unlink()
        new.hold()
        return presences.try_lock(fd, how)

    monkeypatch.setattr(presences, "try_lock", replaced_first)
    living(tmp_path)
    assert living(tmp_path) == [Living("worker", os.getpid())]
    new.close()


def test_a_file_that_was_removed_before_it_was_locked_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    new = Presence(tmp_path, "worker")
    flock = fcntl.flock

    def removed_first(fd: int, how: int) -> None:
        monkeypatch.undo()
        new.path.unlink()
        flock(fd, how)

    monkeypatch.setattr(fcntl, "flock", removed_first)
    with new:
        assert living(tmp_path) == [Living("worker", os.getpid())]


CHURN = """
import sys
from pathlib import Path
from limpet_store.presence import Presence, living
home = Path(sys.argv[1])
for _ in range(300):
    me = Presence(home, "worker")
    me.path.parent.mkdir(exist_ok=True)
    me.path.touch()  # stale, hence about to be removed by whoever looks
    with me:
        assert me.path.name in [f"{who.role}-{who.pid}" for who in living(home)]
"""


def test_lookers_never_remove_the_file_of_a_process_that_is_just_coming(tmp_path: Path) -> None:
    churning = [subprocess.Popen([sys.executable, "-c", CHURN, str(tmp_path)]) for _ in range(2)]
    while any(process.poll() is None for process in churning):
        living(tmp_path)
    assert [process.returncode for process in churning] == [0, 0]


def test_a_file_that_somebody_removed_is_made_again(tmp_path: Path) -> None:
    with Presence(tmp_path, "front") as presence:
        presence.keep()
        assert files(tmp_path) == [f"front-{os.getpid()}"]
        shutil.rmtree(tmp_path / "run")
        assert living(tmp_path) == []
        presence.keep()
        assert [who.role for who in living(tmp_path)] == ["front"]
    presence.keep()
    assert living(tmp_path) == [], "who has left stays away"


def test_a_home_that_somebody_removed_is_not_made_again(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    with Presence(home, "front") as presence:
        shutil.rmtree(home)
        presence.keep()
        assert not home.exists()


@pytest.mark.parametrize("role", ["worker", "horse", "front"])
def test_workers_horses_and_those_who_have_them_count_as_working(tmp_path: Path, role: str) -> None:
    assert not anyone_working(tmp_path)
    with Presence(tmp_path, role):
        assert anyone_working(tmp_path)
    assert not anyone_working(tmp_path)


def test_who_has_workers_counts_as_working_unless_it_is_the_one_who_asks(tmp_path: Path) -> None:
    with Presence(tmp_path, "front") as own:
        assert not anyone_working(tmp_path, own.path)
        other = named(tmp_path, "front", "")
        assert anyone_working(tmp_path, own.path)
        kill(other)
        assert not anyone_working(tmp_path, own.path)


# -- who is to be buried

NAMED = HOLD.replace("sys.argv[2])", "*sys.argv[2:])")


def named(home: Path, role: str, name: str) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [sys.executable, "-c", NAMED, str(home), role, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"held\n"
    return process


def kill(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.communicate()


def test_a_killed_worker_is_bereft_until_it_is_buried_whoever_looks(tmp_path: Path) -> None:
    first, second = named(tmp_path, "worker", "w1"), named(tmp_path, "worker", "w2")
    assert bereft(tmp_path) == set()
    kill(first)
    assert [who.pid for who in living(tmp_path)] == [second.pid]
    assert bereft(tmp_path) == {"w1"}
    bury(tmp_path, "w2")  # which lives
    bury(tmp_path, "w1")
    assert bereft(tmp_path) == set()
    assert [who.pid for who in living(tmp_path)] == [second.pid]
    kill(second)


def test_a_worker_whose_horse_lives_is_not_bereft_yet(tmp_path: Path) -> None:
    worker, horse = named(tmp_path, "worker", "w1"), named(tmp_path, "horse", "w1/3")
    kill(worker)
    assert bereft(tmp_path) == set()
    kill(horse)
    assert bereft(tmp_path) == {"w1"}


def test_a_worker_that_leaves_by_itself_is_not_bereft(tmp_path: Path) -> None:
    worker = named(tmp_path, "worker", "w1")
    worker.communicate(b"\n")
    assert bereft(tmp_path) == set()
    assert files(tmp_path) == []


def test_a_new_process_of_the_same_pid_does_not_hide_a_bereft_one(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / f"worker-{os.getpid()}").write_text("w1")
    with Presence(tmp_path, "worker", "w2"):
        assert bereft(tmp_path) == {"w1"}
        bury(tmp_path, "w1")
        assert bereft(tmp_path) == set()
        assert anyone_working(tmp_path)
