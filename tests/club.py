"""A site for members on 127.0.0.1: a form to log in, a session by cookie that does not last, and a log of it all."""

from __future__ import annotations

import secrets
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.cookies import SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

PASSWORD = "open sesame & more"
FORM = '<form id="login" method="post"><input name="token" value="{token}"><input name="password"></form>'


@dataclass
class Club:
    """`shows` is how a page without a session looks: "redirect", "form" (200) or a status. A session lasts for `lasts`
    pages. A dance is a GET of the form and its POST; `overlaps` counts those that began while another went on.
    """

    shows: str | int = "redirect"
    lasts: int = 1_000_000
    products: int = 8
    password: str = PASSWORD
    slow: float = 0.0  # seconds that the form takes
    pause: float = 0.0  # and a page
    url: str = ""
    pages: Counter[str] = field(default_factory=Counter)  # what members got, by path
    shut: Counter[str] = field(default_factory=Counter)  # and those who were not
    logins: int = 0
    refused: int = 0
    overlaps: int = 0
    robots_with_cookie: int = 0
    sessions: dict[str, int] = field(default_factory=dict)  # session -> pages left
    dancing: set[str] = field(default_factory=set)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def page(self, path: str) -> str | None:
        if path == "/list":
            return "".join(f'<li><a href="/product/{n}">{n}</a></li>' for n in range(self.products))
        if path.startswith("/product/"):
            return f'<h1 class="sku">{path[9:]}</h1><b class="price">{len(path)}.50</b>'
        return None

    def forget_everybody(self) -> None:
        with self.lock:
            self.sessions.clear()


@contextmanager
def club(**options: Any) -> Iterator[Club]:
    """Serve one until the end of the block."""
    place = Club(**options)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            if self.path == "/login":
                self._form()
            elif self.path == "/welcome":
                self._send(200, "welcome")
            elif self.path == "/robots.txt":
                place.robots_with_cookie += "session" in self._cookies()
                self._send(404, "none")
            else:
                self._page()

        def _form(self) -> None:
            token = secrets.token_hex(4)
            with place.lock:
                place.overlaps += bool(place.dancing)
                place.dancing.add(token)
            time.sleep(place.slow)
            self._send(200, FORM.format(token=token))

        def do_POST(self) -> None:
            given = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
            with place.lock:
                place.dancing.discard(given.get("token", [""])[0])
                right = given.get("password") == [place.password]
                place.logins += right
                place.refused += not right
                session = secrets.token_hex(8)
                if right:
                    place.sessions[session] = place.lasts
            if not right:
                self._send(200, "<p class=error>Wrong password</p>" + FORM)
                return
            self._send(
                302, "", {"Location": "/welcome", "Set-Cookie": f"session={session}; Path=/; HttpOnly"}
            )

        def _page(self) -> None:
            session = self._cookies().get("session", "")
            with place.lock:
                inside = place.sessions.get(session, 0) > 0
                if inside:
                    place.sessions[session] -= 1
                (place.pages if inside else place.shut)[self.path] += 1
            if not inside:
                self._shut_out()
                return
            time.sleep(place.pause)
            body = place.page(self.path)
            self._send(200 if body else 404, body or "no such page")

        def _shut_out(self) -> None:
            if place.shows == "redirect":
                self._send(302, "", {"Location": "/login"})
            else:
                self._send(200 if place.shows == "form" else int(place.shows), FORM)

        def _cookies(self) -> dict[str, str]:
            return {name: found.value for name, found in SimpleCookie(self.headers.get("Cookie", "")).items()}

        def _send(self, status: int, body: str, headers: dict[str, str] | None = None) -> None:
            raw = body.encode()
            self.send_response(status)
            for name, value in {"Content-Type": "text/html", **(headers or {})}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def log_message(self, *_: Any) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    place.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield place
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)


SITE = """
from limpet import Page, Record, Site, secret

site = Site("club", ["{url}/list"], robots={robots})
site.tune({tune})


@site.login
def login(session):
    form = session.get("{url}/login")
    token = form.text.split('value="')[1].split('"')[0]
    answer = session.post("{url}/login", data={{"token": token, "password": secret("CLUB_PASSWORD").reveal()}})
    if "Wrong password" in answer.text:
        raise ValueError("wrong password: " + secret("CLUB_PASSWORD").reveal())


@site.logged_out
def logged_out(page):
    return page.status == 401 or "/login" in page.headers.get("location", "") or bool(page.css("form#login"))


@site.page("/list")
def listing(page: Page):
    yield from page.links("li a")


@site.page("/product/{{n}}")
def product(page: Page):
    yield Record("product", page.one(".sku::text"), {{"price": page.one(".price::text")}})
"""


def site_text(url: str, *, robots: bool = False, **tune: float) -> str:
    """The site file of a member."""
    knobs = ", ".join(f"{name}={value}" for name, value in tune.items())
    return SITE.format(url=url, robots=robots, tune=knobs)
