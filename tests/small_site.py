"""A site of a few pages on 127.0.0.1: real HTTP, each page as it is given, and a log of what was asked."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
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


@dataclass
class SmallSite:
    url: str
    pages: dict[str, Answer]
    asked: list[str] = field(default_factory=list)  # "GET /path", robots.txt included


@contextmanager
def small_site(pages: Mapping[str, str | Answer], robots: str = "") -> Iterator[SmallSite]:
    """Serve these pages, by path and query; `{url}` in a text is the site's own."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            self.rfile.read(length)
            site.asked.append(f"{self.command} {self.path}")
            answer = site.pages.get(self.path, Answer("no such page", 404))
            body = (
                answer.body
                if isinstance(answer.body, bytes)
                else answer.body.replace("{url}", site.url).encode()
            )
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
    known = {path: page if isinstance(page, Answer) else Answer(page) for path, page in pages.items()}
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
