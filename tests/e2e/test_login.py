"""A site for members, crawled by the command: sessions that end, workers that are killed, passwords that are wrong."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from club import PASSWORD, Club, club, site_text
from e2e.helpers import Crawl, eventually

WRONG = "a-word-that-is-wrong"
NEVER = 600  # seconds of lease: whoever waits for one to lapse hangs

Begin = Callable[..., tuple[Club, Crawl]]


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Begin]:
    """A club and a crawl of it."""
    with ExitStack() as stack:

        def begun(*, password: str = PASSWORD, tune: dict[str, float], **options: Any) -> tuple[Club, Crawl]:
            place = stack.enter_context(club(**options))
            text = site_text(place.url, **tune)
            environment = {"CLUB_PASSWORD": password}
            crawl = Crawl(tmp_path / "crawl", text, name="club", environment=environment)
            return place, stack.enter_context(crawl)

        yield begun


def test_two_workers_log_in_one_after_the_other_whenever_their_sessions_end(begin: Begin) -> None:
    place, crawl = begin(products=60, lasts=10, slow=0.05, tune={"threads": 2})
    assert crawl.run() == 0, crawl.said
    assert len(crawl.versions()) == 60
    assert place.overlaps == 0
    assert place.logins >= 61 / 10
    assert set(place.pages.values()) == {1}
    assert crawl.ask("SELECT max(failures), max(lost) FROM pages") == [(0, 0)]


def test_killed_in_the_middle_the_next_worker_logs_in_again(begin: Begin) -> None:
    """With leases that never lapse: what waits for the lock of a dead worker hangs."""
    place, crawl = begin(products=200, pause=0.005, slow=0.1, tune={"lease": NEVER})
    choice = random.Random(4)
    crawl.start()
    for _ in range(3):
        before = sum(place.pages.values()) + choice.randint(1, 15)
        eventually(lambda: sum(place.pages.values()) >= before or place.dancing)  # noqa: B023
        crawl.kill_one_worker(choice)
    for _ in range(2):
        place.forget_everybody()
        eventually(lambda: place.dancing)  # in the middle of a login
        crawl.kill_everything()
        place.dancing.clear()  # those who danced are dead
        crawl.start()
    assert crawl.finish() == 0, crawl.said
    assert len(crawl.versions()) == 200
    repeated = sum(place.pages.values()) - len(place.pages)
    assert repeated <= crawl.in_flight


def secrets_in(crawl: Crawl) -> list[str]:
    """Files of the crawl in which the password is, and what the command said."""
    texts = {str(path): path.read_bytes() for path in crawl.home.rglob("*") if path.is_file()}
    texts["said"] = crawl.said.encode()
    return [name for name, text in texts.items() if any(word.encode() in text for word in (PASSWORD, WRONG))]


def test_the_third_wrong_password_ends_the_crawl_and_a_right_one_finishes_it(begin: Begin) -> None:
    place, crawl = begin(password=WRONG, products=5, tune={"time_scale": 0.01})
    assert crawl.run() == 4, crawl.said
    assert (place.refused, place.overlaps) == (3, 0)
    assert "is held after 3 failed logins; login failed: ValueError: wrong password: secret(" in crawl.said
    assert "mend the login or the secret, then run `limpet crawl" in crawl.said
    assert "stopped early: no login works" in crawl.said
    assert crawl.ask("SELECT sum(failures), sum(lost) FROM pages") == [(0, 0)]
    assert secrets_in(crawl) == []
    crawl._environment["CLUB_PASSWORD"] = PASSWORD
    assert crawl.run() == 0, crawl.said
    assert "logins had failed on 1 host: tried again" in crawl.said
    assert len(crawl.versions()) == 5
    assert crawl.ask("SELECT logins, error FROM hosts") == [(0, None)]
    assert secrets_in(crawl) == []
    assert os.environ.get("CLUB_PASSWORD") is None
