"""What the parts of a page cost, in microseconds of CPU: `python bench/parts.py [--count N]`.

The floor under `bench/cpu.py`: what requests and lxml take before limpet has done anything (`bench/fetching.py` has
the steps of its own fetch). Fetches are of one product page over a kept-alive connection on loopback, body read; the
site's own time is not counted.
A tight loop keeps caches warm, so the sum of the parts is a lower bound.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import requests
from lxml import etree
from parsel import Selector
from requests.adapters import HTTPAdapter

from limpet.demo.shop import ShopServer

ROUNDS = 5  # the median of these is printed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--count", type=int, default=500, help="calls in each of the rounds")
    count = parser.parse_args().count
    with tempfile.TemporaryDirectory() as folder, ShopServer(log_path=Path(folder, "log")) as shop:
        for name, part in parts(f"{shop.url}/product/7").items():
            part()
            spent = statistics.median(cpu_of(part, count) for _ in range(ROUNDS))
            print(f"{name:36}{spent / count * 1e6:8.0f} us", flush=True)


def cpu_of(part: Callable[[], object], count: int) -> float:
    """Seconds of user + system time for `count` calls."""
    started = time.process_time()
    for _ in range(count):
        part()
    return time.process_time() - started


def parts(url: str) -> dict[str, Callable[[], object]]:
    """Name to call, each ready to be repeated."""
    session, adapter = requests.Session(), HTTPAdapter()
    body = session.get(url).content

    def prepared() -> requests.PreparedRequest:
        return requests.Request("GET", url, headers={"User-Agent": "limpet-bench"}).prepare()

    once = prepared()
    return {
        "Session.get": lambda: session.get(url).content,
        "prepare": prepared,
        "adapter send": lambda: adapter.send(once, timeout=(10, 30)).content,
        "lxml: parse": lambda: etree.fromstring(body, etree.HTMLParser(encoding="utf-8", huge_tree=True)),
        "lxml + parsel: parse, three values": lambda: values(body),
    }


def values(body: bytes) -> list[str | None]:
    page = Selector(body=body, encoding="utf-8")
    return [page.css(f".{name}::text").get() for name in ("sku", "name", "price")]


if __name__ == "__main__":
    main()
