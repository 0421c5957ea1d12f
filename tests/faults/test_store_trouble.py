"""The store in trouble while a crawl runs: told once, waited out, and nothing lost or doubled."""

from __future__ import annotations

import os
import resource
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from e2e.conftest import OpenShop
from e2e.helpers import Crawl, eventually, wait_for_requests
from front_helpers import limpet

from limpet.demo.shop import ShopServer
from limpet.demo.site_template import site_file
from limpet_store.presence import living

pytest_plugins = ["e2e.conftest"]

WAITING = ": waiting, work goes on by itself"
OVER = "the store works again after"
# SQLite itself says it: the connection is told so before each transaction for as long as the file `fault` is there.
FAULTY = """

from pathlib import Path
from limpet_store.database import Database

FAULT = Path(__file__).with_name("fault")
take_lock = Database._take_lock


def take_lock_and_fail(self):
    take_lock(self)
    self._connect().execute("PRAGMA {sick}" if FAULT.exists() else "PRAGMA {well}")


Database._take_lock = take_lock_and_fail
"""
SAID_BY_SQLITE = {
    "disk full": (
        "max_page_count = 1",
        "max_page_count = 1073741823",
        "database or disk is full (SQLITE_FULL)",
    ),
    "read-only": (
        "query_only = 1",
        "query_only = 0",
        "attempt to write a readonly database (SQLITE_READONLY)",
    ),
}


class Place:
    """A crawl of a slow shop, two workers on it."""

    def __init__(self, crawl: Crawl, shop: ShopServer) -> None:
        self.crawl = crawl
        self.shop = shop
        self.database = crawl.home / "demo-shop.db"

    def begin(self) -> None:
        self.crawl.start()
        wait_for_requests(self.shop, 10, 0)

    def hurts(self, words: str) -> None:
        """Wait until the trouble is told, in these words."""
        try:
            eventually(lambda: WAITING in self.crawl.said, seconds=60)
        except AssertionError:
            raise AssertionError(f"it is not told; it said:\n{self.crawl.said}") from None
        assert words in self.crawl.said, self.crawl.said
        self.crawl.note_in_flight()

    def ends_well(self, told: int) -> None:
        """It goes on by itself to its end; the trouble was told once, whoever met it."""
        assert self.crawl.finish() == 0, self.crawl.said
        assert self.crawl.problems(self.shop) == []
        assert self.crawl.said.count(WAITING) == told, self.crawl.said
        assert self.crawl.said.count(OVER) == told, self.crawl.said
        assert "Traceback" not in self.crawl.said
        assert limpet("verify", self.crawl.site).code == 0


@pytest.fixture
def make(open_shop: OpenShop, tmp_path: Path) -> Iterator[Callable[..., Place]]:
    """`make(more)`: with `more` added to the site file."""
    shop = open_shop(5, 95, 0.02)
    text = site_file(shop.first_page, lease=3, max_in_flight=2)
    crawls: list[Crawl] = []

    def place(more: str = "") -> Place:
        crawls.append(Crawl(tmp_path / "site", text + more, workers=2))
        return Place(crawls[0], shop)

    yield place
    crawls[0].__exit__()


@contextmanager
def locked(database: Path) -> Iterator[None]:
    """Somebody who does not know limpet's lock is in a transaction."""
    with closing(sqlite3.connect(database, isolation_level=None, timeout=30)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


def test_a_lock_of_somebody_elses_is_waited_for_without_a_word(make: Callable[..., Place]) -> None:
    place = make()
    place.begin()
    with locked(place.database):
        threading.Event().wait(2)
    place.ends_well(told=0)


@pytest.mark.prove
def test_a_lock_of_thirty_seconds_is_told_once(make: Callable[..., Place]) -> None:
    place = make()
    place.begin()
    with locked(place.database):
        threading.Event().wait(30)
        place.hurts("database is locked (SQLITE_BUSY)")
    place.ends_well(told=1)


@pytest.mark.parametrize("fault", SAID_BY_SQLITE)
def test_what_sqlite_refuses_is_tried_again_until_it_takes_it(make: Callable[..., Place], fault: str) -> None:
    sick, well, words = SAID_BY_SQLITE[fault]
    place = make(FAULTY.format(sick=sick, well=well))
    place.begin()
    place.crawl.site.with_name("fault").touch()
    place.hurts(words)
    place.crawl.site.with_name("fault").unlink()
    place.ends_well(told=1)


def test_an_input_output_error_is_waited_out(make: Callable[..., Place]) -> None:
    """The kernel lets no file of theirs grow: a real error of a real write."""
    place = make()
    place.begin()
    log = place.database.with_name(place.database.name + "-wal")
    limit(place, log.stat().st_size)
    place.hurts("disk I/O error (SQLITE_IOERR")
    limit(place, resource.RLIM_INFINITY)
    place.ends_well(told=1)


def limit(place: Place, size: int) -> None:
    """The largest file that any process of the crawl may write, and those that it starts."""
    assert place.crawl.process is not None
    for pid in (place.crawl.process.pid, *(who.pid for who in living(place.crawl.home))):
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def test_a_stop_while_the_store_is_of_no_use_ends_in_time(make: Callable[..., Place]) -> None:
    sick, well, words = SAID_BY_SQLITE["disk full"]
    place = make(FAULTY.format(sick=sick, well=well))
    place.begin()
    place.crawl.site.with_name("fault").touch()
    place.hurts(words)
    assert place.crawl.process is not None
    place.crawl.process.terminate()
    assert place.crawl.process.wait(8) == 143
    place.crawl.site.with_name("fault").unlink()
    assert place.crawl.run() == 0, place.crawl.said
    assert place.crawl.problems(place.shop) == []


def test_a_store_that_is_full_from_the_beginning_is_one_line(
    make: Callable[..., Place], tmp_path: Path
) -> None:
    place = make()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    parent = os.getpid()
    resource.prlimit(parent, resource.RLIMIT_FSIZE, (4096, hard))
    try:
        place.crawl.start()
    finally:
        resource.prlimit(parent, resource.RLIMIT_FSIZE, (soft, hard))
    assert place.crawl.finish() == 1, place.crawl.said
    assert "Traceback" not in place.crawl.said
    assert place.crawl.run() == 0, place.crawl.said
