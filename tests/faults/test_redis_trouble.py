"""Redis in every kind of trouble while a crawl runs: told once, waited out, and nothing lost or doubled."""

from __future__ import annotations

import os
import shutil
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from e2e.conftest import OpenShop
from e2e.helpers import Crawl, eventually, wait_for_requests
from faults.servers import Valkey, Way, valkey, way_to
from front_helpers import limpet
from redis.exceptions import RedisError

from limpet.demo.shop import ShopServer
from limpet.demo.site_template import site_file

pytest_plugins = ["e2e.conftest"]

LEASE = 2
LONG = pytest.mark.prove  # what differs by its words alone
WAITING = ": waiting, work goes on by itself"
OVER = "Redis works again after"


@dataclass
class Place:
    """A crawl of a slow shop that has begun, the server that it is on, and the way there."""

    crawl: Crawl
    shop: ShopServer
    server: Valkey
    way: Way
    folder: Path

    def begin(self, requests: int = 20) -> None:
        self.crawl.start()
        wait_for_requests(self.shop, requests, 0)

    def hurts(self, words: str) -> None:
        """Wait until the trouble is told, in these words, and what was in flight is committed."""
        until(lambda: WAITING in self.crawl.said, self.crawl)
        assert words in self.crawl.said, self.crawl.said
        eventually(lambda: not self.crawl.has("SELECT 1 FROM pages WHERE open = 1"), "in flight for ever")

    def ends_well(self, told: int = 1, code: int = 0) -> None:
        """It goes on by itself to its end; each outage was told once, whoever met it."""
        self.crawl.note_in_flight()
        assert self.crawl.finish() == code, self.crawl.said
        assert self.crawl.problems(self.shop) == []
        assert self.crawl.said.count(WAITING) == told, self.crawl.said
        assert self.crawl.said.count(OVER) == told, self.crawl.said
        assert "Traceback" not in self.crawl.said, self.crawl.said
        environment = {"LIMPET_REDIS_URL": self.way.url}
        assert limpet("verify", self.crawl.site, env=environment).code == 0


def until(what: Callable[[], object], crawl: Crawl) -> None:
    """Wait for it; what the crawl said, if it never comes."""
    try:
        eventually(what, seconds=60)
    except AssertionError:
        raise AssertionError(f"it never came; it said:\n{crawl.said}") from None


@pytest.fixture
def place(open_shop: OpenShop, tmp_path: Path) -> Iterator[Place]:
    with ExitStack() as stack:
        server = stack.enter_context(valkey(tmp_path / "valkey"))
        way = stack.enter_context(way_to(server))
        shop = open_shop(5, 95, 0.02)
        text = site_file(shop.first_page, lease=LEASE, max_in_flight=2)
        crawl = stack.enter_context(
            Crawl(tmp_path / "site", text, workers=2, environment={"LIMPET_REDIS_URL": way.url})
        )
        yield Place(crawl, shop, server, way, tmp_path)


# -- down, and back without its memory, or with an old one


def test_it_is_restarted_empty(place: Place) -> None:
    place.begin()
    place.server.kill()
    place.hurts("Redis does not answer")
    place.server.start()
    place.ends_well()


def test_it_is_restarted_from_an_older_snapshot(place: Place) -> None:
    place.begin(10)
    snapshot = place.server.save()
    wait_for_requests(place.shop, 15, place.shop.mark())
    place.server.kill()
    place.hurts("Redis does not answer")
    shutil.copy(snapshot, place.server.folder / "dump.rdb")
    place.server.start()
    assert place.server.client().dbsize() > 0, "it has its old memory"
    place.ends_well()


def test_a_replica_that_lacks_the_last_writes_takes_over(place: Place) -> None:
    place.begin(10)
    with valkey(place.folder / "replica") as replica:
        replica.client().replicaof("127.0.0.1", place.server.port)
        eventually(
            lambda: replica.client().info("replication")["master_link_status"] == "up", "it does not follow"
        )
        eventually(lambda: replica.client().dbsize() > 0, "it has nothing")
        replica.client().replicaof("NO", "ONE")  # it hears nothing more
        wait_for_requests(place.shop, 30, place.shop.mark())
        place.server.kill()
        place.way.cut()
        place.hurts("Redis does not answer")
        place.way.port = replica.port
        place.ends_well()


# -- there, and of no use


def read_only(server: Valkey) -> Callable[[], object]:
    server.client().replicaof("127.0.0.1", 1)
    return lambda: server.client().replicaof("NO", "ONE")


def full(server: Valkey) -> Callable[[], object]:
    server.client().config_set("maxmemory", 1)
    return lambda: server.client().config_set("maxmemory", 0)


def locked(server: Valkey) -> Callable[[], object]:
    server.client().config_set("requirepass", "another")
    other = type(server.client())(port=server.port, password="another")
    other.execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
    return lambda: other.config_set("requirepass", "")


def busy(server: Valkey) -> Callable[[], object]:
    def block() -> None:
        with suppress(RedisError):
            server.client().eval("while true do end", 0)

    blocked = threading.Thread(target=block)
    blocked.start()

    def over() -> None:
        server.client().execute_command("SCRIPT", "KILL")
        blocked.join()

    return over


STATES = {
    "read-only": (read_only, "Redis takes no writes: it is a replica"),
    "full": (full, "Redis is full"),
    "another password": (locked, "Redis wants another password"),
    "busy": (busy, "Redis is busy with a script"),
}


@pytest.mark.parametrize("state", STATES)
def test_it_is_there_and_takes_nothing(place: Place, state: str) -> None:
    make, words = STATES[state]
    place.begin()
    over = make(place.server)
    place.hurts(words)
    over()
    place.ends_well()


@pytest.mark.parametrize(
    ("answer", "words"),
    [("LOADING Valkey is loading the dataset in memory", "Redis is loading its data"),
     pytest.param("MISCONF Errors writing to the AOF file", "Redis takes no writes: it could not save", marks=LONG),
     pytest.param("NOREPLICAS Not enough good replicas", "Redis takes no writes: too few replicas", marks=LONG),
     pytest.param("MASTERDOWN Link with MASTER is down", "Redis is a replica that has lost its", marks=LONG)],
)  # fmt: skip
def test_it_answers_everything_with_an_excuse(place: Place, answer: str, words: str) -> None:
    place.begin()
    place.way.answer = f"-{answer}\r\n".encode()
    place.hurts(words)
    place.way.answer = None
    place.way.cut()
    place.ends_well()


def test_it_is_away_before_the_crawl_begins(place: Place) -> None:
    """A command that begins without it says so and ends: nobody knows yet that it was ever there."""
    place.server.kill()
    assert place.crawl.run() == 2
    assert place.crawl.said.splitlines()[-1].startswith("limpet: no usable Redis at 127.0.0.1:"), (
        place.crawl.said
    )


# -- replies


def test_the_reply_to_each_kind_of_command_is_lost_once(place: Place) -> None:
    place.begin(5)
    place.way.lost = set()
    assert place.crawl.finish() == 0, place.crawl.said
    kinds = {kind.split()[0] for kind in place.way.lost}
    assert {b"EVALSHA", b"SET", b"HELLO"} <= kinds
    assert sum(kind.startswith(b"EVALSHA") for kind in place.way.lost) >= 4, "the verbs"
    assert place.crawl.problems(place.shop) == []
    assert "Traceback" not in place.crawl.said


# -- for long


@pytest.mark.prove
@pytest.mark.parametrize("how", ["down", "hangs"])
def test_it_is_away_for_thirty_seconds(place: Place, how: str) -> None:
    place.begin()
    if how == "down":
        place.server.kill()
    else:
        assert place.server._process is not None
        os.kill(place.server._process.pid, signal.SIGSTOP)
    place.hurts("Redis does not answer")
    threading.Event().wait(30)
    if how == "down":
        place.server.start()
    else:
        assert place.server._process is not None
        os.kill(place.server._process.pid, signal.SIGCONT)
    place.ends_well()
