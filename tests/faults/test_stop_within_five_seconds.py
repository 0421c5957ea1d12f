"""A clean stop is over within five seconds, whatever a worker is doing, and has put back what was in hand."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path

import pytest
from e2e.helpers import Crawl
from faults.misbehaving import WHERE, hanging

from limpet.demo import killing

pytest_plugins = ["e2e.conftest"]

PROMISED = 5.0  # seconds
BUSY = 3.0  # more that a machine may need which does much else; what hangs here does so for ten minutes
NEVER = 600  # seconds of lease


def ended(process: subprocess.Popen[bytes]) -> int:
    """The exit code of a command that was asked to stop just now."""
    return process.wait(PROMISED + BUSY)


def is_put_back(crawl: Crawl) -> bool:
    """Whether nothing is in anybody's hand, and nothing counts as lost."""
    return not crawl.has("SELECT 1 FROM pages WHERE open = 1 OR lost > 0")


def test_a_stop_ends_what_hangs_in_headers_bodies_handlers_and_the_resolver(tmp_path: Path) -> None:
    with hanging(tmp_path, "header", "body", "loop", "regex", "resolver") as crawl:
        crawl.process.send_signal(signal.SIGTERM)
        assert ended(crawl.process) == 143, crawl.said
        assert is_put_back(crawl)
        assert killing.nothing_lives(crawl.home)


@pytest.mark.prove
@pytest.mark.parametrize("threads", [1, 8])
@pytest.mark.parametrize("place", WHERE)
def test_a_stop_ends_what_hangs(tmp_path: Path, place: str, threads: int) -> None:
    with hanging(tmp_path, place, threads=threads) as crawl:
        asked_at = time.monotonic()
        crawl.process.send_signal(signal.SIGINT)
        assert ended(crawl.process) == 130, crawl.said
        print(f"{place}, {threads} threads: {time.monotonic() - asked_at:.1f} s")
        assert is_put_back(crawl)
        assert killing.nothing_lives(crawl.home)
