"""What the parts of a page cost, in microseconds of CPU: `python bench/parts.py [--count N]`.

The floor under `bench/cpu.py`: what requests and lxml take before limpet has done anything. Fetches are of
one product page over a kept-alive connection on loopback, body read; the site's own time is not counted.
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

from limpet import Site
from limpet.demo.shop import ShopServer
from limpet_consumers.asking import Asked, Asking
from limpet_consumers.connections import asked
from limpet_consumers.transport import Transport

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
        **ours(url),
        "lxml: parse": lambda: etree.fromstring(body, etree.HTMLParser(encoding="utf-8", huge_tree=True)),
        "lxml + parsel: parse, three values": lambda: values(body),
    }


def ours(url: str) -> dict[str, Callable[[], object]]:
    """The steps of limpet's own fetch, each with those before it."""
    site = Site("bench", [url], allow_private=True)
    transport, asking = Transport(), Asking(site)
    request = asking.request(Asked(url))

    def sent() -> None:
        asked.until, asked.private, asked.connected = time.monotonic() + 60, True, 0.0
        asked.target = "/" + url.split("/", 3)[3]
        response = transport._send(request, 60)
        response.raw.read(decode_content=False)
        response.close()

    return {
        "limpet: what is asked for": lambda: asking.request(Asked(url)),
        "limpet: sent and read": sent,
        "limpet: fetch, looked at whole": lambda: transport.fetch(request, 60),
    }


def values(body: bytes) -> list[str | None]:
    page = Selector(body=body, encoding="utf-8")
    return [page.css(f".{name}::text").get() for name in ("sku", "name", "price")]


if __name__ == "__main__":
    main()
