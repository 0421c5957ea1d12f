"""A site of a few pages on 127.0.0.1: real HTTP, each page as it is given, and a log of what was asked."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

HTML = {"Content-Type": "text/html; charset=utf-8"}


@dataclass(frozen=True)
class Answer:
    body: str | bytes = ""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: HTML)


Page = str | Answer | Callable[[Mapping[str, str]], Answer]  # a function gets the headers


@dataclass
class SmallSite:
    url: str
    pages: dict[str, Page]
    asked: list[str] = field(default_factory=list)  # "GET /path", robots.txt included


def _answer(page: Page, headers: Mapping[str, str]) -> Answer:
    if isinstance(page, str):
        return Answer(page)
    return page if isinstance(page, Answer) else page(headers)


@contextmanager
def small_site(pages: Mapping[str, Page], robots: str = "") -> Iterator[SmallSite]:
    """Serve these pages, by path and query; `{url}` in a text is the site's own."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            self.rfile.read(length)
            site.asked.append(f"{self.command} {self.path}")
            answer = _answer(site.pages.get(self.path, Answer("no such page", 404)), self.headers)
            text = answer.body.replace("{url}", site.url) if isinstance(answer.body, str) else answer.body
            body = text.encode() if isinstance(text, str) else text
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value.replace("{url}", site.url))
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    known = dict(pages)
    known.setdefault("/robots.txt", Answer(robots, headers={"Content-Type": "text/plain"}))
    site = SmallSite(f"http://127.0.0.1:{server.server_port}", known)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
