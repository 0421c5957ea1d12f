"""What is sent to whom, and to which addresses."""

from __future__ import annotations

import socket
from typing import Any

import pytest
from raw_server import serving

from limpet import Site, secret
from limpet.load import SiteError
from limpet_consumers import dialing
from limpet_consumers.asking import Asked, Asking
from limpet_consumers.dialing import PrivatePeer, dial
from limpet_consumers.http import FetchFailed, Request
from limpet_consumers.transport import Transport
from limpet_store.addresses import is_public

KEYS = {"Authorization", "X-Api-Key", "X-Plain"}


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_KEY", "top-secret-value")


def asking(**options: Any) -> Asking:
    headers = {"Authorization": "Basic abc", "X-Api-Key": secret("SHOP_KEY"), "X-Plain": "1"}
    return Asking(Site("shop", ["https://shop.example/"], headers=headers, **options))


@pytest.mark.parametrize(
    ("url", "sent"),
    [
        ("https://shop.example/a", KEYS),
        ("http://shop.example/a", KEYS),
        ("https://api.example/a", KEYS),
        ("https://shop.example:8443/a", {"X-Plain"}),
        ("https://www.shop.example/a", {"X-Plain"}),
        ("https://evil.example/shop.example", {"X-Plain"}),
    ],
)
def test_keys_go_to_the_hosts_that_the_site_file_names_alone(url: str, sent: set[str]) -> None:
    request = asking(hosts=["api.example"]).request(Asked(url))
    assert KEYS & set(request.headers) == sent


def test_a_site_without_a_host_of_its_own_must_say_who_may_have_its_keys() -> None:
    for what in ({"headers": {"X-Api-Key": secret("SHOP_KEY")}}, {"cookies": {"a": "b"}}):
        with pytest.raises(SiteError, match="add hosts="):
            Site("shop", lambda: ["https://shop.example/"], **what)  # type: ignore[arg-type]
    Site("shop", lambda: ["https://shop.example/"], headers={"X-Plain": "1"})


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "127.8.8.8", "0.0.0.0", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254",
        "100.64.0.1", "100.100.100.200", "192.0.0.192", "192.0.2.1", "198.18.0.1", "192.88.99.1", "224.0.0.1",
        "239.255.255.250", "240.0.0.1", "255.255.255.255", "::", "::1", "::7f00:1", "::ffff:10.0.0.1",
        "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "64:ff9b:1::7f00:1", "2001:0:53aa:64c::1", "2001:db8::1",
        "2002:7f00:1::", "fc00::1", "fd00:ec2::254", "fe80::1", "fe80::1%eth0", "fec0::1", "ff02::1", "3fff::1",
        "2600:1f00::5efe:7f00:1", "2600:1f00::200:5efe:7f00:1",
    ],
)  # fmt: skip
def test_an_address_that_is_not_on_the_public_internet_is_known(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", ["93.184.216.34", "8.8.8.8", "::ffff:8.8.8.8", "2606:2800:220:1::1"])
def test_a_public_address_is_known(address: str) -> None:
    assert is_public(address)


def resolving(monkeypatch: pytest.MonkeyPatch, *found: tuple[str, int]) -> None:
    """Let every name have these addresses."""
    answer = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", each) for each in found]
    monkeypatch.setattr(dialing.socket, "getaddrinfo", lambda *_: answer)


def test_a_name_with_a_private_address_is_not_connected_to(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0)
        resolving(monkeypatch, listener.getsockname())
        with pytest.raises(FetchFailed) as failure:
            Transport().fetch(Request("http://shop.example/"), 5)
        with pytest.raises(BlockingIOError):
            listener.accept()
    assert (failure.value.kind, failure.value.final) == ("private address", True)


def test_of_a_names_addresses_the_private_ones_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as private, socket.create_server(("127.0.0.1", 0)) as public:
        resolving(monkeypatch, private.getsockname(), public.getsockname())
        passes = iter([False, True, True])  # the two addresses, and the peer
        monkeypatch.setattr(dialing, "is_public", lambda address: next(passes))
        with dial("shop.example", 80, 5, (), private=False) as sock:
            assert sock.getpeername() == public.getsockname()


def test_the_connected_peer_is_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        resolving(monkeypatch, listener.getsockname())
        passes = iter([True, False])
        monkeypatch.setattr(dialing, "is_public", lambda address: next(passes))
        with pytest.raises(PrivatePeer):
            dial("shop.example", 80, 5, (), private=False)
        listener.accept()[0].close()


def test_the_addresses_of_a_name_share_the_time_to_connect(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[float] = []

    def connected(to: Any, timeout: float, *_: Any, **__: Any) -> socket.socket:
        tried.append(timeout)
        clock[0] += 4
        raise TimeoutError

    clock = [0.0]
    resolving(monkeypatch, *[("8.8.8.8", port) for port in range(1, 9)])
    monkeypatch.setattr(dialing, "_connected", connected)
    monkeypatch.setattr(dialing.time, "monotonic", lambda: clock[0])
    with pytest.raises(TimeoutError):
        dial("shop.example", 80, 10, (), private=False)
    assert tried == [10, 6, 2]


def test_a_name_that_no_resolver_takes_is_a_failure_and_no_crash() -> None:
    with pytest.raises(FetchFailed):
        Transport().fetch(Request(f"http://{'a' * 70}.example/", private=True), 5)


URL = "{}?token=top-secret-value"


@pytest.mark.parametrize(
    "raw",
    [
        b"", b"HTTP/1.1 2", b"HTTP/1.1 200 OK\r\nX: 1", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx",
        b"SSH-2.0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n folded\r\n: none\r\na b: c\r\n more\r\nContent-Length: 9\r\n\r\nx",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1, 2\r\n\r\nx", b"HTTP/1.1 200 OK\r\n" + b"X: 1\r\n" * 2_000 + b"\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\nx",
    ],
)  # fmt: skip
def test_no_failure_quotes_the_url_and_nothing_logs_it(raw: bytes, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    with serving(lambda peer: peer.sendall(raw)) as (url, _), pytest.raises(FetchFailed) as failure:
        Transport().fetch(Request(URL.format(url), private=True), 5)
    told = f"{failure.value} {failure.value.reason} {caplog.text}"
    assert "top-secret-value" not in told
    assert "token" not in told
