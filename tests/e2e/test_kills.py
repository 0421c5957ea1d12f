"""Killed anywhere, started again: every row once, and no request too many."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from e2e.conftest import OpenShop
from e2e.helpers import Crawl, eventually, wait_for_requests

from limpet.demo import killing
from limpet.demo.site_template import site_file
from limpet_store.presence import living
from limpet_store.server import connect
from limpet_store.valkey import socket_path

NEVER = 600  # seconds of lease: whoever waits for one to lapse hangs
PAUSE = 0.01  # seconds that the shop takes for an answer, so that kills find requests in flight


def test_a_worker_process_is_killed_three_times(open_shop: OpenShop, tmp_path: Path) -> None:
    shop, choice = open_shop(5, 150, PAUSE), random.Random(1)
    with Crawl(tmp_path, site_file(shop.first_page, lease=NEVER, max_in_flight=2)) as crawl:
        crawl.start()
        for _ in range(3):
            wait_for_requests(shop, choice.randint(5, 30), shop.mark())
            crawl.kill_one_worker(choice)
        assert crawl.finish() == 0, crawl.said
        assert crawl.problems(shop) == []


def test_everything_is_killed_three_times(open_shop: OpenShop, tmp_path: Path) -> None:
    shop, choice = open_shop(5, 150, PAUSE), random.Random(2)
    with Crawl(tmp_path, site_file(shop.first_page, lease=NEVER)) as crawl:
        for _ in range(3):
            mark = shop.mark()
            crawl.start()
            wait_for_requests(shop, choice.randint(5, 40), mark)
            crawl.kill_everything()
        assert crawl.run() == 0, crawl.said
        assert crawl.problems(shop) == []
        assert crawl.in_flight > 0, "no kill hit anything"


def test_everything_is_killed_fifty_times_at_random(open_shop: OpenShop, tmp_path: Path) -> None:
    """Also while it starts, recovers or has just begun; every fifth time after some work."""
    shop, choice = open_shop(25, 500, PAUSE), random.Random(3)
    with Crawl(tmp_path, site_file(shop.first_page, lease=NEVER, max_in_flight=2)) as crawl:
        for kill in range(50):
            mark = shop.mark()
            process = crawl.start()
            if kill % 5 == 0:
                wait_for_requests(shop, choice.randint(1, 30), mark)
            else:
                _let_live(
                    process.poll, choice.uniform(0.3, 0.8) if kill % 5 == 1 else choice.uniform(0.0, 0.3)
                )
            assert process.poll() is None, f"it ended by itself at kill {kill}: {crawl.said}"
            crawl.kill_everything()
        assert crawl.run() == 0, crawl.said
        assert crawl.problems(shop) == []


def _let_live(poll: Callable[[], int | None], seconds: float) -> None:
    """A random moment of its life is what is wanted here: time, not an event."""
    until = time.monotonic() + seconds
    while time.monotonic() < until and poll() is None:
        time.sleep(0.01)


def test_redis_is_wiped_five_times(open_shop: OpenShop, tmp_path: Path) -> None:
    shop, choice = open_shop(8, 200, PAUSE), random.Random(4)
    with Crawl(tmp_path, site_file(shop.first_page, lease=2, max_in_flight=2)) as crawl:
        crawl.start()
        for _ in range(5):
            wait_for_requests(shop, choice.randint(5, 30), shop.mark())
            with connect(f"unix://{socket_path(crawl.home)}") as client:
                client.flushall()
            crawl.note_in_flight()
        assert crawl.finish() == 0, crawl.said
        assert crawl.problems(shop) == []


def test_the_crawl_goes_on_by_itself_when_valkey_is_killed(open_shop: OpenShop, tmp_path: Path) -> None:
    shop = open_shop(5, 95, PAUSE)
    with Crawl(tmp_path, site_file(shop.first_page, lease=2, max_in_flight=2)) as crawl:
        crawl.start()
        for _ in range(2):
            wait_for_requests(shop, 20, shop.mark())
            (pid,) = killing.valkey_pids(crawl.home)
            os.kill(pid, signal.SIGKILL)
            crawl.note_in_flight()
        assert crawl.finish() == 0, crawl.said
        assert crawl.problems(shop) == []


def test_workers_end_with_their_supervisor(open_shop: OpenShop, tmp_path: Path) -> None:
    shop = open_shop(5, 95, PAUSE)
    with Crawl(tmp_path, site_file(shop.first_page, lease=NEVER)) as crawl:
        process = crawl.start()
        wait_for_requests(shop, 30, 0)
        process.kill()
        process.wait()
        eventually(lambda: not living(crawl.home), "its workers live on")
        crawl.note_in_flight()
        assert killing.valkey_pids(crawl.home), "the server is nobody's child: the next run finds it"
        assert crawl.run() == 0, crawl.said
        assert crawl.problems(shop) == []


@pytest.mark.parametrize("answering", [True, False], ids=["site answers", "site hangs"])
def test_ctrl_c_puts_back_what_is_in_hand(open_shop: OpenShop, tmp_path: Path, answering: bool) -> None:
    shop = open_shop(5, 95, PAUSE)
    with Crawl(tmp_path, site_file(shop.first_page, lease=NEVER)) as crawl:
        process = crawl.start()
        wait_for_requests(shop, 30, 0)
        if not answering:
            shop.delay_answers(3600)
            mark = shop.mark()
            wait_for_requests(shop, 1, mark)
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130, crawl.said
        assert "goes on from here" in crawl.said
        assert crawl.ask("SELECT id FROM pages WHERE open = 1 OR lost > 0") == []
        crawl.in_flight = crawl.put_back()
        assert not living(crawl.home)
        assert killing.nothing_lives(crawl.home), "the server was this command's to stop"
        shop.delay_answers(0)
        assert crawl.run() == 0, crawl.said
        assert crawl.problems(shop) == []


def test_what_a_crash_leaves_half_made_is_replaced(open_shop: OpenShop, tmp_path: Path) -> None:
    shop = open_shop(2, 20)
    with Crawl(tmp_path, site_file(shop.first_page, lease=NEVER)) as crawl:
        crawl.home.mkdir()
        (crawl.home / ".gitignore").touch()
        (crawl.home / "demo-shop.db").touch()  # killed before the first transaction
        (crawl.home / "valkey.lock").write_text("/tmp/limpet-half-a-pa")
        (crawl.home / "valkey.log").write_text("half a li")
        (crawl.home / "run").mkdir()
        (crawl.home / "run" / "worker-1").touch()  # a pid that lives, and is not ours
        Path(socket_path(crawl.home)).touch()  # neither a socket nor anybody's
        assert crawl.run() == 0, crawl.said
        assert crawl.problems(shop) == []


def test_a_database_that_is_removed_under_a_crawl_ends_it_with_an_error(
    open_shop: OpenShop, tmp_path: Path
) -> None:
    shop = open_shop(10, 190, PAUSE)
    with Crawl(tmp_path, site_file(shop.first_page)) as crawl:
        mark = shop.mark()
        crawl.start()
        wait_for_requests(shop, 10, mark)
        for path in crawl.home.glob("demo-shop.db*"):
            path.unlink()
        assert crawl.finish() == 1
        assert "was removed or replaced while it was in use" in crawl.said
