"""A response that is cut, at every single byte of it: a failure that is tried again, or the whole page."""

from __future__ import annotations

import gzip
import zlib

import pytest
from raw_server import serving

from limpet_consumers import unpacking
from limpet_consumers.http import FetchFailed, Request, Response
from limpet_consumers.transport import Transport
from limpet_store.failures import CONNECTION, CUT_SHORT

BODY = b"<h1>Twelve</h1> " * 3
OK = b'HTTP/1.1 200 OK\r\nETag: "v1"\r\n'
RAW_DEFLATE = zlib.compressobj(wbits=-zlib.MAX_WBITS)
LATER = b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n"


def length(packed: bytes, coding: bytes = b"") -> bytes:
    said = b"Content-Encoding: %s\r\n" % coding if coding else b""
    return OK + said + b"Content-Length: %d\r\n\r\n" % len(packed) + packed


def until_closed(packed: bytes, coding: bytes) -> bytes:
    """Only the stream itself says where it ends."""
    return OK + b"Content-Encoding: %s\r\n\r\n" % coding + packed


def chunked(*sizes: bytes, trailer: bytes = b"") -> bytes:
    """The body in chunks whose sizes are written as given."""
    parts, rest = [], BODY
    for size in sizes:
        taken = int(size.partition(b";")[0], 16)
        parts.append(size + b"\r\n" + rest[:taken] + b"\r\n")
        rest = rest[taken:]
    assert not rest
    return OK + b"Transfer-Encoding: chunked\r\n\r\n" + b"".join(parts) + b"0\r\n" + trailer + b"\r\n"


def moved(status: bytes) -> bytes:
    return b"HTTP/1.1 %s\r\nServer: x\r\nLocation: /product/1234\r\n\r\n" % status


EXCHANGES = {
    "length": length(BODY),
    "chunks": chunked(b"1a", b"16"),
    "chunks with padded sizes": chunked(b"000a", b"0010", b"00016"),
    "chunks with extensions and a trailer": chunked(b"30;name=value", trailer=b"X-Sum: 1\r\n"),
    "gzip": length(gzip.compress(BODY), b"gzip"),
    "gzip in chunks' stead": until_closed(gzip.compress(BODY), b"gzip"),
    "deflate": length(zlib.compress(BODY), b"deflate"),
    "deflate without a header": until_closed(RAW_DEFLATE.compress(BODY) + RAW_DEFLATE.flush(), b"deflate"),
    "gzip twice": until_closed(gzip.compress(gzip.compress(BODY)), b"gzip, gzip"),
    "redirect": moved(b"302 Found"),
    "permanent redirect": moved(b"308 Permanent Redirect"),
    "not found": b"HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\ngone",
    "gone": b"HTTP/1.1 410 Gone\r\nServer: x\r\n\r\n",
    "unchanged": b'HTTP/1.1 304 Not Modified\r\nETag: "v1"\r\n\r\n',
    "interim response first": LATER + length(BODY),
}
if unpacking.LIMITED:
    EXCHANGES["brotli"] = until_closed(unpacking.brotli.compress(BODY), b"br")
if unpacking.zstd:
    EXCHANGES["zstd"] = until_closed(unpacking.zstd.compress(BODY), b"zstd")


def seen(response: Response) -> tuple[int, bytes, str | None, str | None]:
    return response.status, response.body, response.headers.get("location"), response.headers.get("etag")


def cut(transport: Transport, url: str) -> FetchFailed | tuple[object, ...]:
    try:
        return seen(transport.fetch(Request(url, private=True), 10))
    except FetchFailed as failure:
        return failure


@pytest.mark.parametrize("name", EXCHANGES)
def test_a_response_cut_at_any_byte_is_a_failure_to_be_retried_or_the_whole_page(name: str) -> None:
    raw = EXCHANGES[name]
    sent = len(raw)
    with serving(lambda peer: peer.sendall(raw[:sent])) as (url, _):
        whole = cut(Transport(), url)
        assert isinstance(whole, tuple)
        failures = 0
        while sent:
            sent -= 1
            came = cut(Transport(), url)
            if came == whole:
                continue
            assert isinstance(came, FetchFailed), f"cut after {sent} bytes: {came}"
            assert (came.final, came.kind in (CUT_SHORT, CONNECTION)) == (False, True), (
                f"cut after {sent} bytes"
            )
            failures += 1
    assert failures > len(raw) - 40


def test_a_body_that_the_connection_ends_may_be_accepted_but_headers_that_it_ends_may_not() -> None:
    head = OK + b"Content-Type: text/html\r\n\r\n"
    raw = head + BODY
    sent = len(raw)
    with serving(lambda peer: peer.sendall(raw[:sent])) as (url, _):
        transport = Transport(unframed=True)
        assert transport.fetch(Request(url, private=True), 10).body == BODY
        sent = len(head)
        while sent:
            sent -= 1
            assert isinstance(cut(transport, url), FetchFailed), f"cut after {sent} bytes"
