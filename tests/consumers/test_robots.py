"""robots.txt over real HTTP: what is sent where, and what never keeps a host waiting."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from limpet_consumers import robots
from limpet_consumers.http import FetchFailed, Request
from limpet_consumers.transport import Transport

SECRETS = {"Authorization": "Bearer x", "Cookie": "session=x", "X-Api-Key": "x", "If-None-Match": '"x"'}
OPEN = {"user-agent": "limpet", "Accept": "*/*", "Accept-Encoding": "gzip"}
Answer = tuple[int, dict[str, str], bytes]


class Site(ThreadingHTTPServer):
    """Answers by path, and logs the path and the headers of each request."""

    def __init__(self, answers: dict[str, Answer]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers = answers
        self.log: list[tuple[str, dict[str, str]]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: Site

    def do_GET(self) -> None:
        self.server.log.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
        status, headers, body = self.server.answers[self.path]
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        pass


Start = Callable[[dict[str, Answer]], Site]


@pytest.fixture
def start() -> Iterator[Start]:
    sites: list[Site] = []

    def run(answers: dict[str, Answer]) -> Site:
        sites.append(Site(answers))
        threading.Thread(target=sites[-1].serve_forever, args=(0.01,), daemon=True).start()
        return sites[-1]

    yield run
    for site in sites:
        site.shutdown()
        site.server_close()


def moved(location: str) -> Answer:
    return 302, {"Location": location}, b""


def asked(url: str) -> Request:
    return Request(f"{url}/robots.txt", headers=OPEN | SECRETS, private=True)


@pytest.fixture
def public_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another origin may be private only where all may be; here it counts as public."""
    monkeypatch.setattr("limpet_consumers.dialing.is_public", lambda address: True)


@pytest.mark.usefixtures("public_loopback")
def test_a_redirect_to_another_origin_carries_no_header_that_may_be_a_secret(start: Start) -> None:
    there = start({"/here": moved("/rules"), "/rules": (200, {}, b"User-agent: *\n")})
    site = start({"/robots.txt": moved(f"{there.url}/here")})
    assert robots.fetch(Transport(), asked(site.url), 10).body == b"User-agent: *\n"
    assert site.log[0][1].keys() >= {name.lower() for name in SECRETS}
    assert [path for path, _ in there.log] == ["/here", "/rules"]
    for _, headers in there.log:
        assert headers.keys() - {"host"} == {name.lower() for name in OPEN}


def test_a_redirect_within_the_origin_carries_all_headers(start: Start) -> None:
    site = start({"/robots.txt": moved("/a b"), "/a%20b": (200, {}, b"rules")})
    assert robots.fetch(Transport(), asked(site.url), 10).body == b"rules"
    assert site.log[1][1].keys() >= {name.lower() for name in SECRETS}


def test_the_first_500_kib_are_read_of_a_larger_robots_txt(start: Start) -> None:
    body = b"User-agent: *\nDisallow: /x\n".ljust(2_000_000, b"#")
    site = start({"/robots.txt": (200, {}, body)})
    response = robots.fetch(Transport(max_body=1_000_000), asked(site.url), 10)
    assert response.body == body[: robots.MOST_BYTES]


@pytest.mark.parametrize("location", ["ftp://h.example/robots.txt", "http://[", "/robots.txt"])
def test_a_redirect_that_leads_nowhere_is_no_robots_txt(start: Start, location: str) -> None:
    site = start({"/robots.txt": moved(location)})
    assert robots.fetch(Transport(), asked(site.url), 10).status == 404


def test_a_redirect_to_a_private_host_is_no_robots_txt(start: Start) -> None:
    there = start({"/": (200, {}, b"rules")})
    site = start({"/robots.txt": moved(f"{there.url}/")})
    assert robots.fetch(Transport(), asked(site.url), 10).status == 404
    assert there.log == []


def test_a_private_host_is_not_asked_and_has_no_rules(start: Start) -> None:
    site = start({"/robots.txt": (200, {}, b"rules")})
    assert robots.fetch(Transport(), Request(f"{site.url}/robots.txt"), 10).status == 404
    assert site.log == []


def test_a_robots_txt_that_cannot_be_had_now_is_a_failure() -> None:
    with pytest.raises(FetchFailed, match="refused"):
        robots.fetch(Transport(), asked("http://127.0.0.1:1"), 10)
