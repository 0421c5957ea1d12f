"""The one helper that opens transactions (R-8), and what it refuses."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from importlib import resources
from pathlib import Path

import pytest

from limpet_store.database import Database, wal_is_safe
from limpet_store.errors import StoreError, StoreUnavailable, WrongProcess


@pytest.fixture
def counter(tmp_path: Path) -> Database:
    db = Database(tmp_path / "x.db")
    with db.write():
        db.run("CREATE TABLE t (n INTEGER)")
        db.run("INSERT INTO t VALUES (0)")
    return db


INCREMENT = """
import sys; from pathlib import Path; from limpet_store.database import Database
db = Database(Path(sys.argv[1]))
for _ in range(int(sys.argv[2])):
    with db.write():
        db.run("UPDATE t SET n = ?", (db.value("SELECT n FROM t") + 1,))
"""


def test_writers_of_several_processes_lose_nothing(counter: Database) -> None:
    command = [sys.executable, "-c", INCREMENT, str(counter.path), "150"]
    writers = [subprocess.Popen(command) for _ in range(3)]
    assert [writer.wait(60) for writer in writers] == [0, 0, 0]
    assert counter.value("SELECT n FROM t") == 450


def test_a_writer_that_is_killed_holds_nobody_up(counter: Database) -> None:
    stuck = INCREMENT.replace(
        "+ 1,))", "+ 1,))\n        print('in', flush=True); import time; time.sleep(600)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", stuck, str(counter.path), "1"], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"in\n"
        process.send_signal(signal.SIGKILL)
        process.wait()
    with counter.write():
        counter.run("UPDATE t SET n = n + 10")
    assert counter.value("SELECT n FROM t") == 10


def test_an_exception_rolls_back_and_the_connection_goes_on(counter: Database) -> None:
    def fails() -> None:
        with counter.write():
            counter.run("UPDATE t SET n = 7")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fails()
    assert counter.value("SELECT n FROM t") == 0
    assert not counter.in_transaction


def test_a_change_outside_a_transaction_is_refused(counter: Database) -> None:
    with pytest.raises(StoreError, match="outside write"):
        counter.run("UPDATE t SET n = 7")


def test_a_transaction_inside_another_is_refused(counter: Database) -> None:
    with counter.write(), pytest.raises(StoreError, match="inside write"), counter.write():
        pass


def test_a_connection_that_came_with_a_fork_is_refused(counter: Database) -> None:
    child = os.fork()
    if child == 0:
        try:
            counter.rows("SELECT 1")
        except WrongProcess:
            os._exit(42)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 42


def test_a_missing_store_is_not_made_when_it_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match="no such store"):
        Database(tmp_path / "x.db", create=False)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("version", "safe"),
    [
        ((3, 40, 1), False),
        ((3, 44, 5), False),
        ((3, 44, 6), True),
        ((3, 50, 6), False),
        ((3, 50, 7), True),
        ((3, 51, 2), False),
        ((3, 51, 3), True),
        ((3, 52, 0), False),
        ((3, 53, 4), True),
    ],
)
def test_wal_is_used_only_on_a_library_with_the_fix(version: tuple[int, ...], safe: bool) -> None:
    assert wal_is_safe(version) is safe


def test_only_these_scripts_move_pages_in_the_frontier() -> None:
    """R-10: the relay's verb, the rebuild's, and lease, renew, release and the reaping of the dead."""
    folder = resources.files("limpet_store") / "lua"
    moves = re.compile(r'"(ZADD|ZREM)", (P \.\. ":p:"|pages)')
    found = {path.name for path in folder.iterdir() if moves.search(path.read_text("utf-8"))}
    assert found == {"apply.lua", "lease.lua", "reap.lua", "rebuild_pages.lua", "release.lua", "renew.lua"}
