"""A site that is crawled by its sitemaps, over real HTTP, killed while it reads a large one."""

from __future__ import annotations

import gzip
import json
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from e2e.helpers import Crawl, eventually

NEVER = 600  # seconds of lease: whoever waits for one to lapse hangs
SITE = """
from limpet import Page, Record, Site

site = Site("docs", seeds=["{url}/"], sitemaps=True, lastmod=True, allow_private=True)
site.tune(lease=600)

@site.page("/doc/{{n}}")
def doc(page: Page):
    yield Record("doc", key=page.params["n"], data={{"title": page.one("h1")}})
"""


class Docs(ThreadingHTTPServer):
    """Answers by path and logs what was asked. Half of a large body waits for `open_gate`."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.bodies: dict[str, bytes] = {}
        self.asked: list[str] = []
        self.open_gate = threading.Event()
        self.open_gate.set()

    def list(self, path: str, count: int, lastmod: str = "2020-01-01") -> None:
        rows = "".join(
            f"<url><loc>{self.url}/doc/{n}</loc><lastmod>{lastmod}</lastmod></url>\n" for n in range(count)
        )
        self.bodies[path] = f"<urlset>{rows}</urlset>".encode()

    def robots(self, *paths: str) -> None:
        lines = "".join(f"Sitemap: {self.url}{path}\n" for path in paths)
        self.bodies["/robots.txt"] = f"User-agent: *\nDisallow:\n{lines}".encode()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Docs

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        body = self.server.bodies.get(self.path)
        if body is None and self.path.startswith("/doc/"):
            body = b"<h1>%s</h1>" % self.path.encode()
        self.send_response(200 if body is not None else 404)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body or b"")))
        self.end_headers()
        half = len(body or b"") // 2
        try:
            self.wfile.write((body or b"")[:half])
            if self.path.startswith("/big"):
                self.server.open_gate.wait(60)
            self.wfile.write((body or b"")[half:])
        except OSError:
            self.close_connection = True  # whoever asked was killed

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def docs() -> Iterator[Docs]:
    server = Docs()
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield server
    server.open_gate.set()
    server.shutdown()
    server.server_close()


def limpet(crawl: Crawl, command: str, *options: str) -> str:
    """What another command says of the crawl."""
    words = [sys.executable, "-m", "limpet", command, str(crawl.site), *options]
    return subprocess.run(words, capture_output=True, text=True, timeout=60).stdout


def crawl_of(docs: Docs, folder: Path) -> Crawl:
    return Crawl(folder, SITE.format(url=docs.url), name="docs", workers=1)


def test_a_site_is_crawled_by_what_its_robots_txt_names_and_only_what_changed_later(
    docs: Docs, tmp_path: Path
) -> None:
    docs.robots("/index.xml")
    docs.bodies["/index.xml"] = (
        f"<sitemapindex><sitemap><loc>{docs.url}/docs.xml.gz</loc></sitemap></sitemapindex>".encode()
    )
    docs.list("/docs.xml.gz", 60)
    plain = docs.bodies["/docs.xml.gz"].replace(
        b"<urlset>", f"<urlset><url><loc>{docs.url}/about</loc></url>".encode()
    )
    docs.bodies["/docs.xml.gz"] = gzip.compress(plain)
    docs.bodies["/"] = b"<p>welcome</p>"
    with crawl_of(docs, tmp_path) as crawl:
        assert crawl.run() == 0, crawl.said
        assert len(crawl.versions()) == 60
        assert "sitemaps: 2 done" in crawl.said
        assert "1 link not followed: no handler" in crawl.said
        assert set(Counter(docs.asked).values()) == {1}
        assert "sitemaps: 2 done" in limpet(crawl, "status")
        assert json.loads(limpet(crawl, "status", "--json"))["sitemaps"] == {"done": 2}
        assert "1 page without a handler listed by" in limpet(crawl, "show", f"{docs.url}/about")
        assert "on " + docs.url + "/docs.xml.gz" in limpet(crawl, "show", f"{docs.url}/doc/1")
        docs.asked.clear()
        changed = plain.replace(b"/doc/7</loc><lastmod>2020-01-01", b"/doc/7</loc><lastmod>2020-01-02")
        docs.bodies["/docs.xml.gz"] = gzip.compress(changed.replace(b"/doc/9<", b"/none<"))
        assert crawl.run("--refresh") == 0, crawl.said
        assert sorted(docs.asked) == ["/", "/doc/7", "/doc/9", "/docs.xml.gz", "/index.xml", "/robots.txt"]
        assert "1 page left for the end: looked at again" in crawl.said


def test_a_sitemap_that_is_answered_with_a_page_is_told_and_nothing_is_lost(
    docs: Docs, tmp_path: Path
) -> None:
    docs.bodies["/"] = docs.bodies["/sitemap.xml"] = b"<!doctype html><p>All well</p>"
    with crawl_of(docs, tmp_path) as crawl:
        assert crawl.run("--wait", "0") == 4, crawl.said
        assert "/sitemap.xml: an HTML page, not a sitemap" in crawl.said


@pytest.mark.parametrize("when", ["while it is sent", "at any time after"])
def test_a_kill_in_the_middle_of_a_large_sitemap_loses_and_doubles_nothing(
    docs: Docs, tmp_path: Path, when: str
) -> None:
    count, kills, choice = 8_000, 2 if when == "while it is sent" else 3, random.Random(when)
    docs.robots("/big.xml")
    docs.list("/big.xml", count)
    with crawl_of(docs, tmp_path) as crawl:
        for kill in range(kills):
            before = docs.asked.count("/big.xml")
            docs.open_gate.clear() if when == "while it is sent" else docs.open_gate.set()
            process = crawl.start("--limit", "10")
            eventually(lambda at=before: docs.asked.count("/big.xml") > at, f"never asked: {crawl.said}")
            if when != "while it is sent":
                _let_live(process.poll, choice.uniform(0.0, 1.0))
            crawl.kill_everything()
            if crawl.has("SELECT 1 FROM pages WHERE kind = 'sitemap' AND state = 'done'"):
                break
            assert crawl.ask("SELECT count(*) FROM pages WHERE key LIKE '%/doc/%'") == [(0,)], kill
        docs.open_gate.set()
        crawl.run("--limit", "10")
        assert crawl.ask("SELECT count(*) FROM pages WHERE key LIKE '%/doc/%'") == [(count,)], crawl.said
        assert crawl.ask("SELECT state, lost FROM pages WHERE kind = 'sitemap'") == [("done", 0)]
        done = crawl.ask("SELECT count(*) FROM pages WHERE key LIKE '%/doc/%' AND state = 'done'")[0][0]
        assert 0 < done <= 30
        assert docs.asked.count("/big.xml") <= 1 + crawl.in_flight
        assert "FAILED" not in limpet(crawl, "verify")


def test_seeds_that_a_function_gives_are_all_there_after_a_kill_half_way(docs: Docs, tmp_path: Path) -> None:
    count = 15_000
    seeds = f'lambda: (f"{docs.url}/doc/{{n}}" for n in range({count}))'
    text = SITE.format(url=docs.url).replace(f'["{docs.url}/"]', seeds).replace(", lastmod=True", "")
    there = "SELECT count(*) FROM pages WHERE key LIKE '%/doc/%'"
    with Crawl(tmp_path, text, name="docs", workers=1) as crawl:
        for least in (1_000, 6_000):
            crawl.start("--limit", "5")
            eventually(lambda more=least: crawl.has(f"{there} HAVING count(*) >= {more}"))
            crawl.kill_everything()
            ((rows,),) = crawl.ask(there)
            assert least <= rows < count, "the kill came too late"
            assert rows % 1_000 == 0
        crawl.run("--limit", "5")
        assert crawl.ask(there) == [(count,)], crawl.said


def _let_live(poll: Callable[[], int | None], seconds: float) -> None:
    """A random moment of its life is what is wanted here: time, not an event."""
    until = time.monotonic() + seconds
    while time.monotonic() < until and poll() is None:
        time.sleep(0.01)
