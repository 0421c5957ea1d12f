"""The demo: a small shop, real processes, and what it makes of them."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest
from front_helpers import limpet, running
from rich.console import Console

from limpet.demo import checking, table
from limpet.demo.checking import Traffic
from limpet.demo.killing import nothing_lives
from limpet.demo.run import Wish, demo
from limpet.demo.screen import Screen
from limpet.demo.shop import Request, Shop
from limpet.demo.state import Kill, State
from limpet.exits import Exit
from limpet_store.errors import UsageError

GOODS = Shop(listings=3, products=60)
SMALL = """
import sys
from pathlib import Path
from limpet.demo.run import Wish, demo
from limpet.demo.shop import Shop
from limpet.exits import guarded
wish = Wish(folder=Path(sys.argv[1]), workers=1, seed=1, kills=2, longest=0.3)
sys.exit(guarded(lambda: demo(wish, Shop(listings=4, products=80))))
"""


def test_every_row_is_right_and_only_what_was_in_flight_is_repeated(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert (
        demo(Wish(folder=tmp_path / "demo", workers=1, seed=1, kills=2, longest=0.3), GOODS) is Exit.COMPLETE
    )
    naive, worker, everything = legs(tmp_path / "demo")
    assert worker["rows"] == everything["rows"] == 60
    assert naive["rows"] > 60, "the naive scraper must have something to show"
    assert "rows doubled" in naive["problems"][0]
    for leg in (worker, everything):
        assert leg["repeated"] <= sum(kill["in_flight"] for kill in leg["kills"])
        assert leg["requests"] == 63 + leg["repeated"]
    assert len(everything["kills"]) == 2
    assert len(everything["kills"][0]["pids"]) >= 4, "command, worker, work-horse and Valkey at least"
    said = capfd.readouterr()
    assert "all 240 values as the site shows them" in said.out
    assert "kill -9" in said.err
    assert "\x1b" not in said.out + said.err, "no colours where there is no terminal"
    assert nothing_lives(tmp_path / "demo" / ".limpet")


def test_a_wrong_row_fails_the_demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = checking.our_rows
    monkeypatch.setattr(checking, "our_rows", lambda store: honest(store)[1:])
    assert (
        demo(Wish(folder=tmp_path / "demo", workers=1, kills=0), Shop(listings=1, products=4)) is Exit.FAILED
    )


def test_a_demo_that_was_killed_is_finished_when_it_is_run_again(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    with small_demo(folder) as first:
        eventually(lambda: any(leg["kills"] for leg in legs(folder) if leg["target"] == "everything"))
        first.kill()
    again = subprocess.run([sys.executable, "-c", SMALL, str(folder)], capture_output=True, text=True)
    assert again.returncode == 0, again.stderr
    first_line = again.stderr.splitlines()[0]
    assert re.search(r"pid \d+, seed 1, .*it is finished now", first_line)
    assert all(leg["done"] for leg in legs(folder))
    assert nothing_lives(folder / ".limpet")


def test_ctrl_c_leaves_nothing_running(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    with small_demo(folder) as process:
        eventually(lambda: any(leg["kills"] for leg in legs(folder) if leg["target"] == "worker"))
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
    assert nothing_lives(folder / ".limpet")
    port = json.loads((folder / "run.json").read_text())["port"]
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", port), 1).close()


def test_a_folder_with_something_else_in_it_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(UsageError, match="holds something else"):
        demo(Wish(folder=tmp_path))
    assert (tmp_path / "thesis.tex").exists()


@pytest.mark.parametrize("folder", ["file", "file/demo"])
def test_a_folder_that_cannot_be_made_is_wrong_use(tmp_path: Path, folder: str) -> None:
    (tmp_path / "file").touch()
    ran = limpet("demo", "--folder", tmp_path / folder)
    assert (ran.code, len(ran.said)) == (2, 1), ran.err


def test_a_count_that_has_not_moved_is_not_said_again(capfd: pytest.CaptureFixture[str]) -> None:
    screen = Screen()
    for rows in (0, 0, 5, 5, 5):
        screen.count(rows, 60, f"{rows} rows")
    assert [line.strip() for line in capfd.readouterr().err.splitlines()] == ["0 rows", "5 rows"]


def test_the_shop_is_served_until_ctrl_c(tmp_path: Path) -> None:
    with running("demo", "--serve", "--port", 0) as serving:
        assert serving.stderr is not None
        said = serving.stderr.readline()
        first_page = re.search(r"http://127\.0\.0\.1:\d+/list/0", said)
        assert first_page, said
        with urlopen(first_page[0]) as answer:
            assert b"/product/0" in answer.read()
        port = urlsplit(first_page[0]).port
        taken = limpet("demo", "--serve", "--port", port)
        assert (taken.code, len(taken.said)) == (2, 1), taken.err
        assert f"port {port} cannot be had: Address already in use" in taken.err
        serving.send_signal(signal.SIGINT)
        assert serving.wait(30) == 130
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", port), 1).close()


def test_the_comparison_tells_missing_doubled_and_wrong_rows_apart() -> None:
    expected = {"a": {"price": "1"}, "b": {"price": "2"}, "c": {"price": "3"}}
    assert checking.compare(list(expected.items()), expected) == []
    rows = [("a", {"price": "1"}), ("a", {"price": "1"}), ("b", {"price": "9"}), ("d", {"price": "4"})]
    assert checking.compare(rows, expected) == [
        "1 rows missing",
        "1 rows doubled",
        "1 rows not on the site",
        "1 rows wrong",
    ]


def test_requests_are_counted_by_the_site_and_robots_txt_is_left_out() -> None:
    paths = ["/robots.txt", "/list/0", "/product/1", "/product/1", "/robots.txt"]
    seen = checking.traffic(Request(0.0, 1, 200, path) for path in paths)
    assert (seen.requests, seen.pages, seen.repeated) == (3, 2, 1)


def test_a_repeat_that_no_kill_explains_is_a_problem() -> None:
    assert checking.request_problems(Traffic(requests=12, pages=10), 10, in_flight=2) == []
    (problem,) = checking.request_problems(Traffic(requests=12, pages=10), 10, in_flight=1)
    assert "2 requests repeated, but 1 pages in flight" in problem
    assert checking.request_problems(Traffic(requests=9, pages=9), 10, in_flight=0)


def test_the_state_survives_being_written_and_read(tmp_path: Path) -> None:
    state = State(seed=7, runs=2, workers=3, port=4711)
    state.legs[1].kills.append(Kill("one worker", [1, 2], 30, 4))
    state.save(tmp_path / "run.json")
    assert State.load(tmp_path / "run.json") == state
    assert State.load(tmp_path / "nothing.json") is None


def test_a_state_that_is_not_the_demos_is_refused(tmp_path: Path) -> None:
    for text in ("", "[]", '{"format": 99}', '{"format": 1, "legs": [{}]}'):
        (tmp_path / "run.json").write_text(text)
        with pytest.raises(UsageError, match="to start over"):
            State.load(tmp_path / "run.json")


def test_five_runs_stand_beside_the_published_ones(capsys: pytest.CaptureFixture[str]) -> None:
    found = State(seed=1, runs=5, workers=2).legs
    table.show(found, Console(width=80), published=True)
    said = capsys.readouterr().out
    assert said.count("one worker") == said.count("everything") == 5
    assert "published, 2026-10-02" in said
    assert "2,165" in said
    assert "…" not in said, "it fits into 80 columns"


def legs(folder: Path) -> list[dict[str, object]]:
    path = folder / "run.json"
    return json.loads(path.read_text())["legs"] if path.exists() else []


class small_demo:
    """A demo of a small shop in a process of its own, ended with the block."""

    def __init__(self, folder: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", SMALL, str(folder)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    def __enter__(self) -> subprocess.Popen[bytes]:
        return self.process

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()


def eventually(what: Callable[[], object], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.01)
