"""One of several processes is killed, stopped, or told to end at the worst moment: the others see to its pages."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from e2e.helpers import Crawl
from faults.pools import horses, pool, said, stopped, until
from front_helpers import limpet
from small_site import Answer, SmallSite, small_site

from limpet.demo import killing
from limpet_store.presence import living

NEVER = 600  # seconds of lease: who waits for it to lapse waits in vain
SITE = """\
from limpet import Page, Record, Site

site = Site("shop", seeds=["{url}/p/1"], allow_private=True, robots=False)
site.tune(lease={lease}, group=1)


@site.page("/p/{{n}}")
def product(page: Page):
    yield Record("product", page.params["n"], {{"price": page.one("p::text")}})
"""
# The worker waits between BEGIN and COMMIT of the transaction that holds its outcome until `go` is there.
SLOW_COMMIT = """

import os, time
from pathlib import Path
from limpet_store.database import Database

HERE = Path(__file__).parent
commit = Database._commit


def slow_commit(self):
    if not (HERE / "go").exists() and self._connection.execute("SELECT 1 FROM records").fetchone():
        (HERE / "committing").write_text(str(os.getpid()))
        while not (HERE / "go").exists():
            time.sleep(0.005)
    commit(self)


Database._commit = slow_commit
"""


class Held:
    """A page that is answered when the test says so, each time with what comes next."""

    def __init__(self) -> None:
        self.asked = 0
        self.answered: set[int] = set()

    def __call__(self, *_: object) -> Answer:
        self.asked += 1
        mine = self.asked
        until_ = time.monotonic() + 60
        while mine not in self.answered and time.monotonic() < until_:
            time.sleep(0.005)
        return Answer(f"<p>{mine}")


@pytest.fixture
def held() -> Held:
    return Held()


@pytest.fixture
def shop(held: Held) -> Iterator[SmallSite]:
    with small_site({"/p/1": held, "/p/2": Answer("<p>2")}) as found:
        yield found
        held.answered |= set(range(100))


@pytest.fixture
def crawl(tmp_path: Path, shop: SmallSite) -> Iterator[Crawl]:
    """A crawl with one page due, whose leases never lapse."""
    with Crawl(tmp_path, SITE.format(url=shop.url, lease=NEVER), name="shop", workers=1) as found:
        yield found


def begin(crawl: Crawl) -> None:
    assert limpet("enqueue", crawl.site, "--seeds").code == 0


def is_right(crawl: Crawl, *, price: str) -> None:
    """One record at version 1 with this price, told once; nothing in flight; the invariants hold."""
    assert crawl.ask("SELECT version, data FROM records") == [(1, f'{{"price":"{price}"}}')]
    assert [n for key, n in crawl.messages().items() if "round" not in key] == [1]
    assert not crawl.has("SELECT 1 FROM pages WHERE open = 1 OR state <> 'done'")
    verified = limpet("verify", crawl.site)
    assert verified.code == 0, verified.out


# -- killed


KILLS: dict[str, Callable[[Crawl, subprocess.Popen[bytes]], None]] = {
    "supervisor": lambda crawl, first: first.kill(),
    "worker": lambda crawl, first: killing.kill(
        who.pid for who in living(crawl.home) if who.role == "worker"
    ),
    "work-horse": lambda crawl, first: killing.kill(horses(crawl.home)),
}


@pytest.mark.parametrize("who", KILLS)
def test_what_a_killed_process_had_is_visited_at_once_though_its_lease_never_lapses(
    crawl: Crawl, held: Held, who: str
) -> None:
    """A second pool lives on this machine: of a supervisor that dies with its workers it sees to the pages."""
    begin(crawl)
    with pool(crawl.site, "--workers", "1") as first:
        until(lambda: held.asked == 1, crawl.site)
        with pool(crawl.site, "--workers", "1", "--until-done") as second:
            if who == "supervisor":
                until(lambda: sum(each.role == "front" for each in living(crawl.home)) == 2, crawl.site)
            KILLS[who](crawl, first)
            until(lambda: held.asked == 2, crawl.site)
            held.answered |= {2, 3}
            until(lambda: second.poll() is not None, crawl.site)
            assert second.returncode == 0, said(crawl.site)
    is_right(crawl, price="2")


def test_on_a_redis_elsewhere_the_dead_of_this_machine_are_known_too(
    crawl: Crawl, held: Held, valkey_url: str
) -> None:
    begin(crawl)
    there = {"LIMPET_REDIS_URL": valkey_url}
    with pool(crawl.site, "--workers", "1", environment=there) as first:
        until(lambda: held.asked == 1, crawl.site)
        killing.kill([first.pid, *(who.pid for who in living(crawl.home))])
        first.wait()
    with pool(crawl.site, "--workers", "1", "--until-done", environment=there) as second:
        until(lambda: held.asked == 2, crawl.site)
        held.answered |= {2}
        until(lambda: second.poll() is not None, crawl.site)
    is_right(crawl, price="2")


# -- stopped for longer than its lease


def test_a_worker_that_was_stopped_for_longer_than_its_lease_loses(
    tmp_path: Path, shop: SmallSite, held: Held
) -> None:
    """It has its answer by then, and commits it late: what another has read meanwhile stands, and is told once."""
    with Crawl(tmp_path, SITE.format(url=shop.url, lease=1), name="shop", workers=1) as crawl:
        begin(crawl)
        with pool(crawl.site, "--workers", "1", "--log-format", "json"):
            until(lambda: held.asked == 1, crawl.site)
            (stale,) = horses(crawl.home)
            with stopped(stale):
                held.answered |= {1}
                with pool(crawl.site, "--workers", "1", "--until-done") as second:
                    until(lambda: held.asked == 2, crawl.site)
                    held.answered |= {2}
                    until(lambda: second.poll() is not None, crawl.site)
            until(lambda: '"event": "refused"' in said(crawl.site), crawl.site)
        is_right(crawl, price="2")
        assert crawl.ask("SELECT lost FROM pages") == [(0,)]


# -- in the middle of a commit


def committing(crawl: Crawl) -> int:
    """The pid of the worker that is between BEGIN and COMMIT of its outcome."""
    mark = crawl.site.with_name("committing")
    until(lambda: mark.exists() and mark.read_text(), crawl.site)
    return int(mark.read_text())


@pytest.fixture
def slow(crawl: Crawl, held: Held) -> Crawl:
    held.answered |= set(range(100))
    with crawl.site.open("a") as file:
        file.write(SLOW_COMMIT)
    return crawl


@pytest.mark.parametrize(("sig", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_stop_in_the_middle_of_a_commit_lets_it_be_finished(
    slow: Crawl, sig: signal.Signals, code: int
) -> None:
    process = slow.start()
    committing(slow)
    process.send_signal(sig)
    until(lambda: "stopping" in slow.said, slow.site)
    slow.site.with_name("go").touch()
    assert slow.finish() == code, slow.said
    is_right(slow, price="1")


def test_a_commit_that_does_not_end_is_as_never_begun(slow: Crawl, held: Held) -> None:
    process = slow.start()
    committing(slow)
    process.send_signal(signal.SIGTERM)
    assert slow.finish() == 143, slow.said
    assert slow.ask("SELECT count(*) FROM records") == [(0,)]
    assert not slow.has("SELECT 1 FROM pages WHERE open = 1 OR lost > 0"), (
        "it is put back, and counts for nothing"
    )
    slow.site.with_name("go").touch()
    assert slow.run() == 0, slow.said
    is_right(slow, price="2")


def test_the_time_limit_of_a_job_in_the_middle_of_a_commit_ends_the_horse_and_nothing_else(
    slow: Crawl,
) -> None:
    slow.start()
    horse = committing(slow)
    os.kill(horse, signal.SIGALRM)  # what RQ's timer sends
    until(lambda: horse not in horses(slow.home), slow.site)
    slow.site.with_name("go").touch()
    assert slow.finish() == 0, slow.said
    is_right(slow, price="2")
