"""Our transport against a server of plain sockets, which can misbehave."""

from __future__ import annotations

import gzip
import socket
import threading
import time

import pytest
from raw_server import OK, PACKED, Contexts, serving
from raw_server import contexts as contexts

from limpet_consumers.http import FetchFailed, Request, Response
from limpet_consumers.transport import Transport
from limpet_store.addresses import is_public


def fetch(raw: bytes, *, max_body: int = 100_000, deadline: float = 10.0, private: bool = True) -> Response:
    with serving(lambda peer: peer.sendall(raw)) as (url, _):
        return Transport(max_body=max_body).fetch(Request(url, private=private), deadline)


def test_a_whole_body_arrives_with_its_headers() -> None:
    response = fetch(OK + b"Content-Length: 5\r\nX-Odd: 1\r\n\r\nhello")
    assert (response.status, response.body, response.headers["x-odd"]) == (200, b"hello", "1")


def test_a_packed_body_is_unpacked() -> None:
    head = OK + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(PACKED)
    assert fetch(head + PACKED).body == b"hello " * 1000


@pytest.mark.parametrize(
    ("packed", "body"),
    [
        (b"", b""),
        (gzip.compress(b"one ") + gzip.compress(b"two"), b"one two"),
        (gzip.compress(b"one") + b"\0" * 16, b"one"),
    ],
    ids=["empty", "two members", "padded"],
)
def test_odd_but_whole_gzip_is_read(packed: bytes, body: bytes) -> None:
    head = OK + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(packed)
    assert fetch(head + packed).body == body


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"HTTP/1.1 200",
        OK + b"Content-Length: 20\r\n\r\nhello",
        OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
        OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhel",
        OK + b"\r\nhello",
        OK + b"Content-Encoding: gzip\r\n\r\n" + PACKED[:-9],
        OK + b"Content-Encoding: gzip\r\nContent-Length: 5\r\n\r\nhello",
        OK + b"Content-Encoding: snappy\r\nContent-Length: 5\r\n\r\nhello",
        OK + b"Content-Length: 200001\r\n\r\n" + b"x" * 200_001,
        OK + b"Content-Encoding: gzip\r\n\r\n" + gzip.compress(b"\0" * 10_000_000),
        b"SSH-2.0-OpenSSH\r\n\r\n",
    ],
    ids=["nothing", "cut status", "short body", "no last chunk", "cut chunk", "no framing", "cut gzip",
         "not gzip at all", "unknown encoding", "too large", "bomb", "not HTTP"],
)  # fmt: skip
def test_what_is_not_whole_is_a_failure_and_never_a_shorter_page(raw: bytes) -> None:
    with pytest.raises(FetchFailed):
        fetch(raw)


def test_a_site_may_accept_bodies_that_only_the_connection_ends() -> None:
    with serving(lambda peer: peer.sendall(OK + b"\r\nhello")) as (url, _):
        assert Transport(unframed=True).fetch(Request(url, private=True), 5).body == b"hello"


@pytest.mark.parametrize(
    "head",
    [
        b"",
        OK + b"X-Drip: ",
        OK + b"Content-Length: 100000\r\n\r\n",
        OK + b"Transfer-Encoding: chunked\r\n\r\n",
    ],
    ids=["status line", "header", "body", "chunk size"],
)
@pytest.mark.parametrize("secure", [False, True], ids=["plain", "TLS"])
def test_whatever_trickles_ends_at_the_deadline(
    head: bytes, secure: bool, contexts: Contexts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each byte comes long before the time-out between two of them."""
    server, authority = contexts
    monkeypatch.setattr("requests.adapters.DEFAULT_CA_BUNDLE_PATH", str(authority))
    done = threading.Event()

    def trickle(peer: socket.socket) -> None:
        peer.sendall(head)
        while not done.wait(0.01):
            peer.sendall(b"1")

    with serving(trickle, server if secure else None) as (url, _):
        with pytest.raises(FetchFailed, match=r"^slower than the total time-out$"):
            Transport(read=5).fetch(Request(url, private=True), 0.3)
        done.set()


def test_each_request_on_a_kept_connection_has_its_own_deadline() -> None:
    listening: list[socket.socket] = []

    def answer(peer: socket.socket) -> None:
        listening.append(peer)
        peer.sendall(OK + b"Content-Length: 1\r\n\r\n1")
        while peer.recv(65_536):
            until = time.monotonic() + 0.4  # beyond the deadline of the first request
            while time.monotonic() < until:
                peer.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
                time.sleep(0.02)
            peer.sendall(OK + b"Content-Length: 1\r\n\r\n2")

    with serving(answer) as (url, _):
        transport = Transport()
        assert transport.fetch(Request(url, private=True), 0.3).body == b"1"
        assert transport.fetch(Request(url, private=True), 10).body == b"2"
        with pytest.raises(FetchFailed, match="slower than the total"):
            transport.fetch(Request(url, private=True), 0.2)
    assert len(listening) == 1


def test_a_request_may_read_the_beginning_only() -> None:
    packed = gzip.compress(b"x" * 300_000)
    heads = (
        OK + b"Content-Length: 200000\r\n\r\n" + b"x" * 200_000,
        OK + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(packed) + packed,
    )
    for raw in heads:
        with serving(lambda peer, raw=raw: peer.sendall(raw)) as (url, asked):  # type: ignore[misc]
            transport = Transport(max_body=100)
            for _ in range(2):
                assert transport.fetch(Request(url, private=True, most=1_000), 5).body == b"x" * 1_000
        assert len(asked) == 2, "the connection with the unread rest must not be used again"


def test_nothing_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(FetchFailed):
        Transport().fetch(Request(f"http://127.0.0.1:{port}/", private=True), 5)


def test_a_private_peer_is_refused_before_a_byte_is_sent() -> None:
    answer = OK + b"Content-Length: 0\r\n\r\n"
    with serving(lambda peer: peer.sendall(answer)) as (url, asked), pytest.raises(FetchFailed) as failure:
        Transport().fetch(Request(url), 5)
    assert "private" in failure.value.reason
    assert failure.value.final
    assert asked == []


def test_redirects_are_not_followed_and_cookies_not_kept() -> None:
    raw = b"HTTP/1.1 302 Found\r\nLocation: /x\r\nSet-Cookie: a=b\r\nContent-Length: 0\r\n\r\n"
    with serving(lambda peer: peer.sendall(raw)) as (url, asked):
        transport = Transport()
        for _ in range(2):
            assert transport.fetch(Request(url, private=True), 5).status == 302
    assert len(asked) == 2
    assert not any(b"Cookie" in request for request in asked)


def test_the_reason_of_a_failure_does_not_quote_the_url() -> None:
    with serving(lambda peer: None) as (url, _), pytest.raises(FetchFailed) as failure:
        Transport().fetch(Request(url + "?token=secret", private=True), 5)
    assert "secret" not in str(failure.value)


def test_a_header_that_cannot_be_sent_is_a_failure_that_does_not_quote_it() -> None:
    with pytest.raises(FetchFailed, match="a header or the URL holds what cannot be sent") as failure:
        Transport().fetch(Request("http://127.0.0.1:9/", headers={"X": "top-secret\n"}, private=True), 5)
    assert "top-secret" not in str(failure.value)
    assert not failure.value.host


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("93.184.216.34", True),
        ("2606:2800:220:1::1", True),
        ("127.0.0.1", False),
        ("10.0.0.1", False),
        ("169.254.169.254", False),
        ("224.0.0.1", False),
        ("0.0.0.0", False),
        ("::1", False),
        ("fe80::1%eth0", False),
        ("::ffff:127.0.0.1", False),
        ("64:ff9b::a9fe:a9fe", False),
        ("2002:7f00:1::", False),
    ],
)
def test_public_addresses_are_told_from_private_ones(address: str, public: bool) -> None:
    assert is_public(address) is public


@pytest.mark.parametrize("target", ["/p/%c3%a9", "/p/%zz9", "/p/50%", "/a|b", "/[x]", "/q?", "/?", "/a//b"])
def test_a_url_is_sent_to_the_letter(target: str) -> None:
    with serving(lambda peer: peer.sendall(OK + b"Content-Length: 0\r\n\r\n")) as (url, asked):
        Transport().fetch(Request(url.rstrip("/") + target, private=True), 5)
    assert asked[0].split(b" ")[1] == target.encode()


def test_a_kept_connection_that_the_server_has_closed_is_nobodys_failure() -> None:
    """Each answer keeps the connection and the server closes it at once, before or after the client looks."""
    with serving(lambda peer: peer.sendall(OK + b"Content-Length: 2\r\n\r\nok")) as (url, asked):
        transport = Transport()
        for _ in range(50):
            assert transport.fetch(Request(url, private=True), 5).body == b"ok"
    assert len([request for request in asked if request]) == 50


def test_a_new_connection_that_is_closed_without_an_answer_is_a_failure_after_one_request() -> None:
    failure = pytest.raises(FetchFailed, match=r"closed without an answer|reset")
    with serving(lambda peer: None) as (url, asked), failure:
        Transport().fetch(Request(url, private=True), 5)
    assert len(asked) == 1
