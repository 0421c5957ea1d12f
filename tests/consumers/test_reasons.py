"""What is said of a request that failed: its kind, words for people, and never what may be a secret."""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping

import pytest
from raw_server import serving

from limpet_consumers import dialing
from limpet_consumers.http import FetchFailed, Request
from limpet_consumers.runtime import Network
from limpet_consumers.transport import Transport
from limpet_store.failures import CONNECTION, CUT_SHORT, DAMAGED, TIME_OUT, TRANSPORT

SECRETS = ("user-x", "hunter2", "top-secret")
NONE: Mapping[str, str] = {}
BAD_HEADER = {"X-Key": "top-secret\n"}


def failed(
    url: str, seconds: float = 5, proxy: str | None = None, headers: Mapping[str, str] = NONE
) -> FetchFailed:
    transport = Transport(network=Network(proxy=proxy))
    with pytest.raises(FetchFailed) as caught:
        transport.fetch(Request(f"{url}?token=top-secret", headers=headers, private=True), seconds)
    return caught.value


def nobody() -> str:
    """A URL where nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return f"http://127.0.0.1:{taken.getsockname()[1]}/"


def hangs(peer: socket.socket) -> None:
    peer.recv(1)


def closes(peer: socket.socket) -> None: ...


def says(raw: bytes) -> Callable[[socket.socket], None]:
    return lambda peer: peer.sendall(raw)


@pytest.mark.parametrize(
    ("answer", "secure", "kind", "words"),
    [
        (closes, False, CONNECTION, "connection closed without an answer"),
        (hangs, False, TIME_OUT, "slower than the total time-out"),
        (hangs, True, TIME_OUT, "slower than the total time-out"),
        (closes, True, CONNECTION, "TLS failed: unexpected eof while reading"),
        (says(b"HTTP/1.1 400 Bad Request\r\n\r\n"), True, CONNECTION, "TLS failed: wrong version number"),
        (says(b"HTTP/1.1 20"), False, CUT_SHORT, "cut short inside a line or its headers"),
        (says(b"\0\0\x12\x04\0\0"), False, DAMAGED, "not an HTTP response"),
        (says(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx"), False, CUT_SHORT, "body cut short"),
    ],
)
def test_a_failure_of_the_host_is_named(
    answer: Callable[[socket.socket], None], secure: bool, kind: str, words: str
) -> None:
    with serving(answer) as (url, _):
        failure = failed(url.replace("http:", "https:") if secure else url, 0.5)
    assert (failure.kind, failure.reason, failure.host, failure.final) == (kind, words, True, False)


def test_a_failure_to_reach_the_host_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (failed(nobody()).kind, failed(nobody()).reason) == (CONNECTION, "connection refused")
    monkeypatch.setattr(dialing.socket, "getaddrinfo", unknown)
    assert (failed("http://shop.example/").kind, failed("http://shop.example/").reason) == (
        CONNECTION,
        "no such host",
    )


def test_what_cannot_be_sent_is_not_the_hosts_fault() -> None:
    failure = failed("http://127.0.0.1:9/", headers=BAD_HEADER)
    assert (failure.kind, failure.host) == (TRANSPORT, False)


def unknown(*_: object) -> None:
    raise socket.gaierror(-2, "Name or service not known")


def unreachable(monkeypatch: pytest.MonkeyPatch) -> None:
    def connect(*_: object) -> None:
        raise OSError(101, "Network is unreachable")

    monkeypatch.setattr(socket.socket, "connect", connect)


def test_what_the_system_says_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    unreachable(monkeypatch)
    assert (failed("http://127.0.0.1/").kind, failed("http://127.0.0.1/").reason) == (
        CONNECTION,
        "network is unreachable",
    )


ANSWERS = (
    closes,
    says(b"HTTP/1.1 20"),
    says(b"HTTP/1.1 407 Who\r\n\r\n"),
    says(b"SSH-2.0\r\n"),
    says(b"HTTP/1.1 200 OK\r\n\r\n"),
)


@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_no_failure_behind_a_proxy_names_its_password_or_the_url(
    answer: Callable[[socket.socket], None], scheme: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    with serving(answer) as (url, _):
        proxy = url.replace("//", "//user-x:hunter2@")
        failure = failed(f"{scheme}://user-x:hunter2@127.0.0.2/", 2, proxy)
    told = f"{failure!r} {failure.reason} {caplog.text}"
    assert not [secret for secret in SECRETS if secret in told]


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_no_failure_to_reach_a_proxy_names_its_password(scheme: str) -> None:
    failure = failed(f"{scheme}://127.0.0.2/", 2, nobody().replace("//", "//user-x:hunter2@"))
    assert failure.reason == "no connection through the proxy of the site (proxy=): connection refused"
    assert failure.kind == CONNECTION
