"""What the sites of the examples have in common: real HTTP on 127.0.0.1, a log, and state that only they know.

A server runs in a process of its own, so that it outlives every kill of the scraper, and notes each request before
it answers. `python tests/examples/servers/classic_shop.py 8000` serves until Ctrl-C, to try an example on. With a
log file as second argument it takes orders on its standard input, one JSON line each, and ends with it.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.cookies import SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

HTML = "text/html; charset=utf-8"
GRACE = 0.3  # seconds of silence after the end: whoever dies with our starter must not see us die first


@dataclass(frozen=True)
class Asked:
    """A request."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    cookies: Mapping[str, str]
    body: bytes

    @property
    def form(self) -> dict[str, str]:
        return dict(parse_qsl(self.body.decode()))

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Answer:
    """`page` is what the site itself calls the page in its log; "" for its path and query."""

    body: str | bytes = b""
    status: int = 200
    type: str = HTML
    headers: Mapping[str, str] = field(default_factory=dict)
    page: str = ""


def html(title: str, body: str, head: str = "", **more: Any) -> Answer:
    """An HTML page."""
    text = (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>{head}</head>\n'
        f"<body>\n{body}\n</body></html>\n"
    )
    return Answer(text, **more)


def as_json(value: Any, status: int = 200, **more: Any) -> Answer:
    """A JSON answer."""
    return Answer(json.dumps(value), status, "application/json", **more)


def moved(place: str, status: int = 302, **more: Any) -> Answer:
    """A redirect."""
    return Answer(status=status, headers={"Location": place} | more.pop("headers", {}), **more)


NOWHERE = html("Not found", "<h1>Nothing here</h1>", status=404)


class SiteOfOurs:
    """A site. `answer` is called by one thread at a time; orders call other methods, with JSON."""

    robots = "User-agent: *\nAllow: /\n"
    url = ""  # its own address, without a slash at its end

    def answer(self, asked: Asked) -> Answer:
        raise NotImplementedError

    def expected(self) -> Any:
        """What a correct crawl holds now: [type, key, data] of each record."""
        raise NotImplementedError


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, site: SiteOfOurs, port: int, log: int | None) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.site = site
        self.log = log
        self.latency = 0.0
        self.lock = threading.Lock()
        site.url = f"http://127.0.0.1:{self.server_port}"

    def respond(self, asked: Asked, target: str) -> Answer:
        with self.lock:
            if asked.path == "/robots.txt":
                answer = Answer(self.site.robots.replace("{url}", self.site.url), type="text/plain")
            else:
                answer = self.site.answer(asked)
            if self.log is not None:
                line = [time.monotonic(), asked.method, target, answer.status, answer.page or target]
                os.write(self.log, json.dumps(line).encode() + b"\n")
        time.sleep(self.latency)
        return answer

    def obey(self, order: list[Any]) -> Any:
        name, *args = order
        with self.lock:
            if name == "latency":
                (self.latency,) = args
                return None
            return getattr(self.site, name)(*args)

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), OSError):  # that is a client that was killed
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        cookies = SimpleCookie(self.headers.get("Cookie", ""))
        asked = Asked(
            self.command,
            url.path,
            dict(parse_qsl(url.query)),
            {name.lower(): value for name, value in self.headers.items()},
            {name: morsel.value for name, morsel in cookies.items()},
            self.rfile.read(int(self.headers.get("Content-Length") or 0)),
        )
        answer = self.server.respond(asked, self.path)
        body = answer.body.encode() if isinstance(answer.body, str) else answer.body
        self.send_response(answer.status)
        for name, value in {
            "Content-Type": answer.type,
            "Content-Length": len(body),
            **answer.headers,
        }.items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET

    def log_message(self, *_: Any) -> None:
        pass


def serve(site: SiteOfOurs) -> None:
    """Serve by the command line's arguments: PORT, and LOG for a test's."""
    port, *logs = sys.argv[1:] or ["8000"]
    log = os.open(logs[0], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644) if logs else None
    server = _Server(site, int(port), log)
    if log is None:
        print(f"serving on {site.url}; Ctrl-C ends it")
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            return
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    print(json.dumps(site.url), flush=True)
    for line in sys.stdin:
        print(json.dumps(server.obey(json.loads(line))), flush=True)
    time.sleep(GRACE)
