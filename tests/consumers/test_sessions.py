"""Sessions, a proxy and authorities of one's own, over real sockets."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import requests
from raw_server import OK, PACKED, Contexts, serving
from raw_server import contexts as contexts
from requests.adapters import HTTPAdapter
from requests.auth import HTTPDigestAuth
from small_proxy import proxy
from small_site import Answer, small_site

from limpet import Site, secret
from limpet_consumers.http import FetchFailed, Request
from limpet_consumers.runtime import Network
from limpet_consumers.sessions import LoginBroken, SessionTransport
from limpet_consumers.transport import Transport
from limpet_consumers.ways import way_of

LENGTH = b"Content-Length: 2\r\n\r\nok"


def over(site: Site, **options: Any) -> SessionTransport:
    return SessionTransport(site, **{"max_body": 100_000} | options)


def ask(url: str, **more: Any) -> Request:
    return Request(url, **{"private": True} | more)


def site(url: str, **options: Any) -> Site:
    return Site("club", [url], **options)


@dataclass
class Seen:
    """What servers on two addresses of this machine were sent."""

    cookies: list[tuple[str, str]] = field(default_factory=list)

    def answer(self, headers: Mapping[str, str]) -> Answer:
        self.cookies.append((headers["Host"].partition(":")[0], headers.get("Cookie") or ""))
        return Answer("x", headers={"Set-Cookie": "mine=1; Path=/", "Content-Type": "text/plain"})


def test_cookies_are_kept_and_sent_to_the_host_that_set_them_alone() -> None:
    seen = Seen()
    with small_site({"/": seen.answer}) as there:
        elsewhere = there.url.replace("127.0.0.1", "localhost")
        transport = over(site(there.url + "/", cookies={"lang": "en"}))
        for url in (there.url, there.url, elsewhere, elsewhere):
            transport.fetch(ask(url + "/"), 5)
    assert seen.cookies == [
        ("127.0.0.1", "lang=en"),
        ("127.0.0.1", "lang=en; mine=1"),
        ("localhost", ""),
        ("localhost", "mine=1"),
    ]


def test_a_cookie_of_a_host_does_not_go_below_it() -> None:
    made = over(Site("club", ["http://club.example/"], cookies={"a": "b"}))
    for name, expected in {"club.example": "a=b", "evil.club.example": None}.items():
        assert made._prepare(ask(f"http://{name}/")).headers.get("Cookie") == expected


def test_a_cookie_goes_to_the_ports_that_the_site_file_names_or_to_any_where_it_names_none() -> None:
    seeds = ["http://a.example:81/", "http://a.example:82/", "http://b.example/", "http://b.example:81/"]
    made = over(Site("club", seeds, cookies={"a": "b"}))
    for host in ("a.example:81", "a.example:82", "b.example", "b.example:83", "https://b.example"):
        url = host if "//" in host else f"http://{host}"
        assert made._prepare(ask(f"{url}/")).headers.get("Cookie") == "a=b"
    for host in ("a.example", "a.example:83", "c.example:81"):
        assert "Cookie" not in made._prepare(ask(f"http://{host}/")).headers


def test_what_a_hook_asks_for_on_the_way_is_not_taken_for_the_page() -> None:
    made = requests.Session()

    def renew(response: requests.Response, **_: object) -> None:
        if response.request.path_url == "/page":
            made.get(response.url.replace("page", "token?a=b"))

    made.hooks["response"].append(renew)
    with serving(lambda peer: peer.sendall(OK + LENGTH)) as (url, asked):
        over(site(url, session=lambda: made)).fetch(ask(f"{url}page"), 5)
    assert [request.split(b" ")[1] for request in asked] == [b"/page", b"/token?a=b"]


def test_a_login_may_ask_for_headers_alone() -> None:
    found: list[int] = []
    with serving(lambda peer: peer.sendall(OK + b"Content-Length: 9\r\n\r\n")) as (url, _):
        over(site(url, session=requests.Session)).log_in(
            lambda session: found.append(session.head(url).status_code), 5
        )
    assert found == [200]


def test_a_cookie_may_be_a_secret_and_one_that_is_missing_is_a_failure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen = Seen()
    with small_site({"/": seen.answer}) as there:
        made = site(there.url + "/", cookies={"s": secret("CLUB_COOKIE")})
        with pytest.raises(FetchFailed, match="secret CLUB_COOKIE is not there"):
            over(made).fetch(ask(there.url + "/"), 5)
        monkeypatch.setenv("CLUB_COOKIE", "x1y2")
        over(made).fetch(ask(there.url + "/"), 5)
    assert seen.cookies[-1][1] == "s=x1y2"


def test_a_session_sends_what_the_plain_transport_sends() -> None:
    headers = {
        "Accept-Encoding": "gzip",
        "aCCept": "*/*",
        "Connection": "keep-alive",
        "User-Agent": "me",
        "x-b": "1",
    }
    with serving(lambda peer: peer.sendall(OK + LENGTH)) as (url, asked):
        for target in ("/p/%c3%a9", "/a|b", "/[x]?q=%zz", "/?"):
            there = url.rstrip("/") + target
            for transport in (Transport(), over(site(url, session=requests.Session))):
                transport.fetch(ask(there, headers=headers), 5)
            transport.fetch(ask(there, headers=headers, method="POST", body=b"b"), 5)
    plain, through = asked[0::3], asked[1::3]
    assert plain == through
    assert asked[2].startswith(b"POST /p/%c3%a9 HTTP/1.1\r\n")
    assert b"\r\nContent-Length: 1\r\n\r\n" in asked[2]


@pytest.mark.parametrize(
    "raw",
    [
        OK + b"Content-Length: 20\r\n\r\nhello",
        OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
        OK + b"\r\nhello",
        OK + b"Content-Encoding: gzip\r\n\r\n" + PACKED[:-9],
        OK + b"Content-Length: 200001\r\n\r\n" + b"x" * 200_001,
        OK + b"Content-Encoding: gzip\r\n\r\n" + gzip.compress(b"\0" * 10_000_000),
    ],
    ids=["short body", "no last chunk", "no framing", "cut gzip", "too large", "bomb"],
)
def test_what_is_not_whole_is_a_failure_for_pages_and_logins(raw: bytes) -> None:
    with serving(lambda peer: peer.sendall(raw)) as (url, _):
        transport = over(site(url, cookies={"a": "b"}))
        with pytest.raises(FetchFailed):
            transport.fetch(ask(url), 5)
        with pytest.raises(LoginBroken):
            transport.log_in(lambda session: session.get(url), 5)


def test_a_redirect_is_no_page_of_the_session_and_its_body_is_not_read_without_end() -> None:
    endless = b"HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 99999999\r\n\r\n" + b"x" * 200_000
    with serving(lambda peer: peer.sendall(endless)) as (url, asked):
        over(site(url, session=requests.Session)).fetch(ask(url), 5)
    assert len(asked) == 1


def test_hooks_headers_and_authentication_of_a_session_work_and_stay_at_home() -> None:
    sent: list[tuple[str, str | None, str | None]] = []

    def answer(headers: Mapping[str, str]) -> Answer:
        sent.append((headers["Host"].partition(":")[0], headers.get("X-Mine"), headers.get("Authorization")))
        return Answer("x")

    seen: list[int] = []

    def session() -> requests.Session:
        made = requests.Session()
        made.headers["X-Mine"] = "yes"
        made.auth = ("me", "word")
        made.hooks["response"].append(lambda response, **_: seen.append(response.status_code))
        return made

    with small_site({"/": answer}) as there:
        transport = over(site(there.url + "/", session=session))
        transport.fetch(ask(there.url + "/", headers={"User-Agent": "me"}), 5)
        transport.fetch(ask(there.url.replace("127.0.0.1", "localhost") + "/"), 5)
    assert sent == [("127.0.0.1", "yes", "Basic bWU6d29yZA=="), ("localhost", None, None)]
    assert seen == [200, 200]


def test_digest_authentication_asks_twice_and_gets_the_page() -> None:
    challenge = {"WWW-Authenticate": 'Digest realm="r", nonce="n", qop="auth"', "Content-Type": "text/plain"}

    def answer(headers: Mapping[str, str]) -> Answer:
        return Answer("in") if headers.get("Authorization") else Answer("out", 401, challenge)

    def session() -> requests.Session:
        made = requests.Session()
        made.auth = HTTPDigestAuth("me", "word")
        return made

    with small_site({"/": answer}) as there:
        assert over(site(there.url + "/", session=session)).fetch(ask(there.url + "/"), 5).body == b"in"


def test_a_private_peer_is_refused_in_pages_and_in_logins() -> None:
    with serving(lambda peer: peer.sendall(OK + LENGTH)) as (url, asked):
        port = url.rsplit(":", 1)[1]
        transport = over(site("http://club.example/", cookies={"a": "b"}))
        with pytest.raises(FetchFailed, match="is private"):
            transport.fetch(Request(f"http://localhost:{port}"), 5)
        with pytest.raises(LoginBroken, match="is private"):
            transport.log_in(lambda session: session.get(url), 5)
    assert not [request for request in asked if request]


def test_an_adapter_of_the_sites_own_stays_and_private_names_are_still_refused() -> None:
    class Mine(HTTPAdapter):
        pass

    def session() -> requests.Session:
        made = requests.Session()
        made.mount("http://", Mine())
        return made

    with small_site({"/": "mine"}) as there:
        transport = over(site(there.url + "/", session=session))
        assert transport.fetch(ask(there.url + "/"), 5).body == b"mine"
        assert isinstance(transport._current().get_adapter(there.url), Mine)
        with pytest.raises(FetchFailed, match="is private"):
            transport.fetch(ask(there.url + "/", private=False), 5)


def test_a_login_ends_at_its_deadline_and_follows_redirects() -> None:
    done = threading.Event()
    with small_site({"/": Answer("", 302, {"Location": "/in"}), "/in": "inside"}) as there:
        transport = over(site(there.url + "/", cookies={"a": "b"}))
        told: list[str] = []
        assert transport.log_in(lambda session: told.append(session.post(there.url + "/").text), 5)
        assert told == ["inside"]
    with serving(lambda peer: done.wait(20) and None) as (url, _):
        with pytest.raises(LoginBroken, match="total time-out"):
            over(site(url, cookies={"a": "b"})).log_in(lambda session: session.get(url), 0.2)
        done.set()


def test_a_session_factory_that_fails_is_the_hosts_failure_and_no_crash() -> None:
    for factory in (lambda: 1 / 0, lambda: "no session"):
        with pytest.raises(FetchFailed, match=r"no session: (ZeroDivision|Usage)Error") as failure:
            over(site("http://club.example/", session=factory)).fetch(Request("http://club.example/"), 5)  # type: ignore[arg-type]
        assert failure.value.host


def test_threads_share_the_cookies() -> None:
    seen = Seen()
    with small_site({"/": seen.answer}) as there:
        transport = over(site(there.url + "/", cookies={"lang": "en"}))
        threads = [
            threading.Thread(target=lambda: [transport.fetch(ask(there.url + "/"), 10) for _ in range(20)])
            for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
    assert len(seen.cookies) == 160
    assert {cookie for _, cookie in seen.cookies} == {"lang=en", "lang=en; mine=1"}


# -- the way out


@pytest.fixture
def proxied() -> Iterator[tuple[str, list[str]]]:
    with proxy() as found:
        yield found


def through(url: str, named_by: str = "LIMPET_PROXY", **options: Any) -> Transport:
    return Transport(network=Network(proxy=url, named_by=named_by, **options))


def test_pages_go_through_the_proxy_to_the_letter_though_it_is_private(
    proxied: tuple[str, list[str]],
) -> None:
    url, log = proxied
    with small_site({"/a|b?%zz": "there"}) as there:
        for transport in (through(url), over(_with_network(there.url, url))):
            assert transport.fetch(ask(there.url + "/a|b?%zz"), 5).body == b"there"
            with pytest.raises(FetchFailed, match=r"127\.0\.0\.1 is private"):
                transport.fetch(ask(there.url + "/a|b?%zz", private=False), 5)
    assert log == [f"GET {there.url}/a|b?%zz"] * 2


def test_a_public_host_is_asked_through_a_proxy_on_this_machine() -> None:
    with proxy(answer=OK + LENGTH) as (url, log):
        assert through(url).fetch(Request("http://club.example/a"), 5).body == b"ok"
    assert log == ["GET http://club.example/a"]


def _with_network(url: str, proxy: str) -> Site:
    made = site(url + "/", cookies={"a": "b"})
    made.go_through(proxy, None)
    return made


def test_tls_goes_through_a_tunnel_and_ends_at_the_server(
    proxied: tuple[str, list[str]], contexts: Contexts
) -> None:
    url, log = proxied
    server, authority = contexts
    with serving(lambda peer: peer.sendall(OK + LENGTH), server) as (there, _):
        assert through(url, ca_bundle=str(authority)).fetch(ask(there), 5).body == b"ok"
    assert log == ["CONNECT " + there.removeprefix("https://").rstrip("/")]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")  # of the server
def test_a_certificate_that_is_not_trusted_says_what_to_set(contexts: Contexts) -> None:
    server, authority = contexts
    refused = pytest.raises(FetchFailed, match="not trusted: LIMPET_CA_BUNDLE names the authorities")
    with serving(lambda peer: peer.sendall(OK + LENGTH), server) as (there, _), refused:
        Transport().fetch(ask(there), 5)
    with serving(lambda peer: peer.sendall(OK + LENGTH), server) as (there, _):
        trusting = Transport(network=Network(ca_bundle=str(authority)))
        assert trusting.fetch(ask(there), 5).body == b"ok"


def test_a_proxy_that_fails_is_named_and_its_password_is_not(contexts: Contexts) -> None:
    with pytest.raises(FetchFailed) as failure:
        through("http://me:hidden-word@127.0.0.1:1").fetch(ask("http://127.0.0.1:2/"), 5)
    assert failure.value.reason == "no connection through the proxy of LIMPET_PROXY: connection refused"
    with proxy(password="right-word") as (url, _):
        wrong = url.replace("http://", "http://me:hidden-word@")
        for there in ("http://127.0.0.1:2/", "https://127.0.0.1:2/"):
            with pytest.raises(FetchFailed, match="proxy of the site") as failure:
                through(wrong, "the site (proxy=)").fetch(ask(there), 5)
            assert "407" in failure.value.reason or "password" in failure.value.reason
            assert "hidden" not in failure.value.reason
        right = url.replace("http://", "http://me:right-word@")
        with small_site({"/": "in"}) as site_:
            assert through(right).fetch(ask(site_.url + "/"), 5).body == b"in"


def test_the_environment_of_requests_is_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    monkeypatch.delenv("NO_PROXY", raising=False)
    with small_site({"/": "direct"}) as there:
        for made in (site(there.url + "/"), site(there.url + "/", session=requests.Session)):
            way = way_of(made)
            assert way.fetch(ask(there.url + "/"), 5).body == b"direct"
            if isinstance(way, SessionTransport):
                assert way.log_in(lambda session: session.get(there.url + "/").text == "direct", 5)


def test_the_sites_proxy_comes_before_that_of_the_machine(tmp_path: Path) -> None:
    own = site("http://club.example/", proxy="http://own:1")
    own.go_through("http://machine:1", "/bundle")
    assert (own.network.proxy, own.network.named_by, own.network.ca_bundle) == (
        "http://own:1", "the site (proxy=)", "/bundle",
    )  # fmt: skip
