"""Crawls that are long enough to show what grows: run by `make prove`, since they take minutes."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

LONG = Path(__file__).parents[2] / "bench/long.py"


def long_crawl(*options: str) -> None:
    """The ruler prints its table, and ends with 1 when something has grown that must not."""
    ran = subprocess.run([sys.executable, str(LONG), *options], stdout=subprocess.PIPE, text=True)
    print(ran.stdout)
    assert ran.returncode == 0, ran.stdout


@pytest.mark.prove
def test_two_hundred_thousand_pages_end_as_fast_as_they_began_and_redis_is_as_small() -> None:
    long_crawl("--pages", "200000")


@pytest.mark.prove
def test_a_work_horse_that_reads_fifty_thousand_pages_holds_no_more_than_after_five_thousand() -> None:
    """Two of them read 100,000: a slice that is not cut short, so nothing is hidden by a fresh process."""
    long_crawl("--pages", "100000", "--slice", "3600")


def test_the_ruler_sees_what_grows() -> None:
    begun, tenth, steady = (sample(0), sample(100, cpu=1.0), sample(200, cpu=2.05))
    assert ruler().problems([begun, tenth, steady]) == []
    slow_machine = sample(200, cpu=2.6, yardstick=0.003)
    assert ruler().problems([begun, tenth, slow_machine]) == []
    grown = sample(200, cpu=2.2, redis=21_000_000, worker=21_000_000)
    assert [line.split()[0] for line in ruler().problems([begun, tenth, grown])] == ["a", "Redis", "a"]


def ruler() -> Any:
    spec = importlib.util.spec_from_file_location("long_crawl_ruler", LONG)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def sample(pages: int, *, cpu: float = 0.0, yardstick: float = 0.002, redis: int = 0, worker: int = 0) -> Any:
    return ruler().Sample(
        pages=pages, clock=pages / 1000, cpu=cpu, yardstick=yardstick, redis=redis,
        worker=worker, supervisor=0, database=0,
    )  # fmt: skip
