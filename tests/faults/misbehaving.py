"""Sites, and code of site files, over which a worker hangs; and one crawl over any number of them."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from e2e.helpers import Crawl, eventually
from raw_server import OK, serving

SITE = """\
import re, socket, time
from pathlib import Path
from limpet import Page, Record, Site

HERE = Path(__file__).parent
site = Site("demo-shop", seeds={seeds}, allow_private=True, robots=False)
site.tune(threads={threads}, group=1, lease=600)
look_up = socket.getaddrinfo


def stuck(where, for_ever):
    (HERE / f"stuck-{{where}}").touch()
    for_ever()


def endless():
    while True:
        pass


def resolve(host, *more, **other):
    if host == "hangs.test":
        stuck("resolver", lambda: time.sleep(600))
    return look_up(host, *more, **other)


socket.getaddrinfo = resolve


@site.page("/loop")
def loop(page: Page):
    stuck("loop", endless)


@site.page("/regex")
def regex(page: Page):
    stuck("regex", lambda: re.match("(a+)+$", "a" * 60 + "b"))


@site.page("/{{n}}")
def other(page: Page):
    yield Record("page", key=page.url, data={{"body": page.body.decode()}})
"""
LOGIN = """

@site.login
def log_in(session):
    stuck("login", lambda: time.sleep(600))
"""


def slow_header(peer: socket.socket) -> None:
    peer.sendall(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    _trickle(peer)


def endless_body(peer: socket.socket) -> None:
    peer.sendall(OK + b"Content-Length: 9000000\r\n\r\n")
    _trickle(peer)


def endless_sitemap(peer: socket.socket) -> None:
    peer.sendall(
        b"HTTP/1.1 200 OK\r\nContent-Type: application/xml\r\nContent-Length: 9000000\r\n\r\n<urlset>"
    )
    _trickle(peer)


def _trickle(peer: socket.socket) -> None:
    while True:  # until the other side is gone
        peer.sendall(b" ")
        time.sleep(0.05)


def prompt(peer: socket.socket) -> None:
    peer.sendall(OK + b"Content-Length: 2\r\n\r\nhi")


# Where a worker hangs: how the site answers, the path that is asked for.
WHERE: dict[str, tuple[Callable[[socket.socket], None], str]] = {
    "header": (slow_header, "1"),
    "body": (endless_body, "1"),
    "loop": (prompt, "loop"),
    "regex": (prompt, "regex"),
    "resolver": (prompt, ""),
    "login": (prompt, "1"),
    "sitemap": (endless_sitemap, "sitemap.xml"),
}


@contextmanager
def hanging(folder: Path, *places: str, threads: int = 1) -> Iterator[Crawl]:
    """A crawl that runs, with a worker for each of these places of WHERE, in which it hangs by now."""
    with ExitStack() as stack:
        seeds, seen = [], []
        for place in places:
            answer, path = WHERE[place]
            url, asked = stack.enter_context(serving(answer))
            seeds.append("http://hangs.test/1" if place == "resolver" else url + path)
            seen.append((place, asked))
        text = SITE.format(seeds=seeds, threads=threads).replace("robots=False", _sitemaps(places, seeds))
        crawl = Crawl(folder, text + LOGIN * ("login" in places), workers=len(places))
        stack.enter_context(crawl)
        crawl.start()
        for place, asked in seen:
            eventually(lambda place=place, asked=asked: _hangs(folder, place, asked), f"never at {place}")
        yield crawl


def _sitemaps(places: tuple[str, ...], seeds: list[str]) -> str:
    return f"robots=False, sitemaps={seeds}" if "sitemap" in places else "robots=False"


def _hangs(folder: Path, place: str, asked: list[bytes]) -> bool:
    if place in ("loop", "regex", "resolver", "login"):
        return (folder / f"stuck-{place}").exists()
    return bool(asked)
