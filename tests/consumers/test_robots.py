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
AGENT = "limpet/0.1.0 (+https://operator.example/bot)"
FORBID = "User-agent: *\r\nDisallow: /private\r\n"


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


@pytest.mark.parametrize(
    "body",
    [
        FORBID.encode(),
        FORBID.encode("utf-8-sig"),
        FORBID.encode("utf-16"),
        b"\xfe\xff" + FORBID.encode("utf-16-be"),
        FORBID.encode("utf-16-le"),
        FORBID.encode("utf-16") + b"\xd8",
        FORBID.replace("\r\n", "\r").encode(),
        b"<!doctype html>\n" + FORBID.encode(),
        b"\xc3\x28\xff\n" + FORBID.encode(),
    ],
    ids=["UTF-8", "BOM", "UTF-16", "UTF-16BE", "no BOM", "cut", "CR", "after HTML", "after rubbish"],
)
def test_rules_are_found_in_whatever_they_are_written(body: bytes) -> None:
    rules = robots.rules_text(body)
    assert not robots.allows(rules, "http://h.example/private/x", AGENT)
    assert robots.allows(rules, "http://h.example/public", AGENT)


@pytest.mark.parametrize(
    "body", [b"", b"<html><h1>Not here</h1></html>", bytes(range(256)) * 40, b"\xff\xfe\x00\xd8" * 99]
)
def test_what_is_no_robots_txt_forbids_nothing_and_asks_for_nothing(body: bytes) -> None:
    rules = robots.rules_text(body)
    assert robots.allows(rules, "http://h.example/private/x", AGENT)
    assert robots.crawl_delay(rules, AGENT) == 0
    assert robots.sitemaps(rules) == []


def test_what_stands_after_the_first_500_kib_is_not_read() -> None:
    filling = b"# filling\n" * 52_000
    text = robots.rules_text(b"User-agent: *\nDisallow: /early\n" + filling + b"Disallow: /late\n")
    assert not robots.allows(text, "http://h.example/early", AGENT)
    assert robots.allows(text, "http://h.example/late", AGENT)


@pytest.mark.parametrize(
    ("group", "ours"),
    [
        ("limpet", True),
        ("LIMPET", True),
        ("limpet*", True),
        ("limpets", False),
        ("operator", False),
        ("bot", False),
        ("pet", False),
    ],
)
def test_the_group_of_our_product_token_is_ours(group: str, ours: bool) -> None:
    rules = f"User-agent: {group}\nDisallow: /private\n\nUser-agent: *\nDisallow: /everybody\n"
    assert robots.allows(rules, "http://h.example/private", AGENT) != ours
    assert robots.allows(rules, "http://h.example/everybody", AGENT) == ours


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("Crawl-delay: 2", 2_000),
        ("Crawl-delay: 0.25", 250),
        ("Crawl-delay: 86400", 60_000),
        ("Crawl-delay: 1e400", 0),
        ("Crawl-delay: -5", 0),
        ("Crawl-delay: nan", 0),
        ("Crawl-delay: soon", 0),
        ("Crawl-delay:", 0),
        ("Request-rate: 1/10", 10_000),
        ("Request-rate: 2/1m 0600-0845", 30_000),
        ("Request-rate: 0/5", 0),
        ("Request-rate: 5", 0),
        ("Request-rate: 1/" + "9" * 400, 60_000),
        ("Crawl-delay: 2\nRequest-rate: 1/5", 5_000),
    ],
)
def test_odd_delays_are_tamed(line: str, expected: int) -> None:
    assert robots.crawl_delay(f"User-agent: *\n{line}\nDisallow:\n", AGENT) == expected


@pytest.mark.usefixtures("public_loopback")
@pytest.mark.parametrize(("hops", "status"), [(5, 200), (6, 404)])
def test_five_redirects_are_followed_and_the_sixth_is_one_too_many(
    start: Start, hops: int, status: int
) -> None:
    steps = {f"/{n}": moved(f"/{n + 1}") for n in range(1, hops)}
    site = start({"/robots.txt": moved("/1"), **steps, f"/{hops}": (200, {}, b"User-agent: *")})
    assert robots.fetch(Transport(), asked(site.url), 10).status == status
