"""What a work-horse counts reaches its supervisor whole, whatever else is written into the same pipe."""

from __future__ import annotations

import select
import sys
from collections import Counter

import pytest

from limpet_consumers.supervisor import Supervisor
from limpet_consumers.tally import BUCKETS, Tally, mark_of, reported


def sent(tally: Tally, lines: list[bytes]) -> dict[tuple[str, ...], float]:
    tally.send()
    found: Counter[tuple[str, ...]] = Counter()
    for line in lines:
        assert line.startswith(mark_of("w1").encode())
        assert line.endswith(b"\n")
        found.update(reported(line.decode().removeprefix(mark_of("w1"))))
    return dict(found)


def test_a_report_has_what_was_added_since_the_last_one() -> None:
    lines: list[bytes] = []
    tally = Tally("w1", lambda line: lines.append(line) is None)
    tally.add("pages", "done", "")
    tally.add("pages", "done", "")
    tally.add("body_bytes", by=12)
    assert sent(tally, lines) == {("pages", "done", ""): 2, ("body_bytes",): 12}
    lines.clear()
    tally.add("repeats")
    assert sent(tally, lines) == {("repeats",): 1}
    lines.clear()
    tally.send()
    assert not lines, "nothing new is no line"


def test_a_value_falls_into_the_first_bucket_that_holds_it() -> None:
    lines: list[bytes] = []
    tally = Tally("w1", lambda line: lines.append(line) is None)
    bounds = BUCKETS["group_pages"]
    for value in (1, 2, 3, bounds[-1], bounds[-1] + 1):
        tally.observe("group_pages", value)
    assert sent(tally, lines) == {
        ("group_pages", "0"): 1, ("group_pages", "1"): 1, ("group_pages", "2"): 1, ("group_pages", "6"): 1,
        ("group_pages", "7"): 1, ("group_pages", "sum"): 135,
    }  # fmt: skip


def test_a_long_report_goes_in_lines_that_are_written_in_one_piece() -> None:
    lines: list[bytes] = []
    tally = Tally("w1", lambda line: lines.append(line) is None)
    wanted = {("pages", "dead", f"a reason of some length {n}"): float(n + 1) for n in range(500)}
    for key, value in wanted.items():
        tally.add(*key, by=value)
    assert sent(tally, lines) == wanted
    assert len(lines) > 1
    assert all(len(line) <= select.PIPE_BUF for line in lines)


def test_what_finds_no_room_is_kept_for_the_next_time() -> None:
    lines: list[bytes] = []
    room = False

    def write(line: bytes) -> bool:
        if room:
            lines.append(line)
        return room

    tally = Tally("w1", write)
    tally.add("leases", by=3)
    tally.send()
    tally.add("leases", by=4)
    room = True
    assert sent(tally, lines) == {("leases",): 7}


@pytest.mark.parametrize(
    "payload", ["", "{}", "[1]", "[[]]", '[["a"]]', '[["a", "b", "c"]]', "[[1, 2]]", "[[", "3"]
)
def test_what_is_no_report_is_refused(payload: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        reported(payload)


WORKER = r"""
import os, sys
name = sys.argv[sys.argv.index("--name") + 1]
report = f"\x1e{name} [[\"leases\", 1]]\n".encode()
long = b"x" * 10_000
for piece in (b"before\n" + report, long[:7_000] + report, report + long[7_000:] + b"\n"):
    os.write(2, piece)
for piece in (b"half " + report, b"a line\n"):
    os.write(2, piece)
os.write(2, b"\x1ewother [[\"leases\", 1000]]\n" + report[:9])
os.write(2, report[9:] + b"no end")
"""


def test_a_report_is_taken_out_of_the_line_that_it_cut() -> None:
    lines: list[str] = []
    reports: list[str] = []
    deaths: list[str] = []
    supervisor = Supervisor(
        [sys.executable, "-c", WORKER], 1, on_worker_death=deaths.append, on_line=lines.append,
        on_report=reports.append,
    )  # fmt: skip
    supervisor.start()
    while not deaths:
        supervisor.poll(0.1)
    supervisor.stop(0.0)
    assert reports[:5] == ['[["leases", 1]]'] * 5
    assert lines[:5] == ["before", "x" * 10_000, "half a line", '\x1ewother [["leases", 1000]]', "no end"]
