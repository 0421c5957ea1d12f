"""--drain: the first signal lets what is leased be finished, and nothing more is begun; the next one stops as usual."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from e2e.helpers import Crawl, eventually
from front_helpers import limpet
from small_site import Answer, SmallSite, small_site

from limpet.demo import killing

SITE = """\
from limpet import Page, Record, Site

site = Site("shop", seeds=[f"{url}/p/{{n}}" for n in range(20)], allow_private=True, robots=False)
site.tune(lease=600, threads=1, group=1)


@site.page("/p/{{n}}")
def product(page: Page):
    yield Record("product", page.params["n"], {{"price": "1"}})
"""


class Gate:
    """Answers wait until it is opened."""

    def __init__(self) -> None:
        self.open = False
        self.waiting = 0

    def __call__(self, *_: object) -> Answer:
        self.waiting += 1
        eventually(lambda: self.open)
        return Answer("<p>")


@pytest.fixture
def gate() -> Gate:
    return Gate()


@pytest.fixture
def shop(gate: Gate) -> Iterator[SmallSite]:
    with small_site({f"/p/{n}": gate for n in range(20)}) as found:
        yield found
        gate.open = True


@pytest.mark.parametrize(
    ("command", "sig", "code"), [("crawl", signal.SIGTERM, 143), ("consume", signal.SIGINT, 130)]
)
def test_what_is_in_hand_is_finished_and_nothing_else_is_begun(
    tmp_path: Path, shop: SmallSite, gate: Gate, command: str, sig: signal.Signals, code: int
) -> None:
    with Crawl(tmp_path, SITE.format(url=shop.url), name="shop", workers=2) as crawl:
        if command == "consume":
            assert limpet("enqueue", crawl.site, "--seeds").code == 0
        process = crawl.start("--drain", command=command)
        eventually(lambda: gate.waiting == 2, "not in hand")
        process.send_signal(sig)
        eventually(lambda: "draining" in crawl.said, crawl.said)
        gate.open = True
        assert crawl.finish() == code, crawl.said
        assert len(shop.asked) == 2, "nothing else was begun"
        assert crawl.ask("SELECT state, count(*) FROM pages GROUP BY state") == [("done", 2), ("pending", 18)]
        assert not crawl.has("SELECT 1 FROM pages WHERE open = 1")
        assert crawl.put_back() == 0
        assert killing.nothing_lives(crawl.home)
        assert crawl.run() == 0, crawl.said
        assert len(shop.asked) == 20


def test_the_second_signal_puts_it_back(tmp_path: Path, shop: SmallSite, gate: Gate) -> None:
    with Crawl(tmp_path, SITE.format(url=shop.url), name="shop", workers=2) as crawl:
        process = crawl.start("--drain")
        eventually(lambda: gate.waiting == 2, "not in hand")
        process.send_signal(signal.SIGTERM)
        eventually(lambda: "draining" in crawl.said, crawl.said)
        process.send_signal(signal.SIGTERM)
        assert process.wait(8) == 143
        assert "stopping" in crawl.said
        assert crawl.put_back() == 2
        assert not crawl.has("SELECT 1 FROM pages WHERE open = 1 OR lost > 0 OR state <> 'pending'")
        assert killing.nothing_lives(crawl.home)
