"""What says where a response ends, what may stand in its headers, and how far it may unpack."""

from __future__ import annotations

import gzip
import socket
import threading
import zlib

import pytest
from raw_server import serving

from limpet_consumers import unpacking
from limpet_consumers.http import FetchFailed, Request, Response
from limpet_consumers.lines import MOST_HEADERS
from limpet_consumers.transport import Transport
from limpet_store import failures

OK = b"HTTP/1.1 200 OK\r\n"
FIVE = b"Content-Length: 5\r\n\r\nhello"
CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n"
CHUNKS = b"\r\n5\r\nhello\r\n0\r\n\r\n"
BAD_CHUNKS = [
    size + b"\r\nhello\r\n0\r\n\r\n"
    for size in (b"xyz", b"", b"-5", b"+5", b"0x5", b"0_5", b"5 5", b"4", b"f" * 99)
]


def fetch(raw: bytes, **options: object) -> Response:
    with serving(lambda peer: peer.sendall(raw)) as (url, _):
        return Transport(**options).fetch(Request(url, private=True), 5)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("raw", "kind"),
    [
        (OK + b"Content-Length: abc\r\n\r\nhello", failures.DAMAGED),
        (OK + b"Content-Length: -5\r\n\r\nhello", failures.DAMAGED),
        (OK + b"Content-Length: 5, 6\r\n\r\nhello", failures.DAMAGED),
        (OK + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello", failures.DAMAGED),
        (OK + "Content-Length: ５\r\n\r\nhello".encode(), failures.DAMAGED),
        (OK + b"Content-Length:\r\n\r\nhello", failures.DAMAGED),
        (OK + b"Transfer-Encoding: gzip, chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", failures.DAMAGED),
        (OK + b"Transfer-Encoding: identity\r\n\r\nhello", failures.DAMAGED),
        *((OK + CHUNKED + body, failures.DAMAGED) for body in BAD_CHUNKS),
        *((OK + b"Transfer-Encoding:" + odd + b"\r\n" + CHUNKS, failures.DAMAGED) for odd in
          (b"", b"chunked\x0b", b"\r\n chunked, chunked", b"chunked\r\nTransfer-Encoding: chunked", b"chunked, gzip")),
        (OK + b"Content-Length: +5\r\n\r\nhello", failures.DAMAGED),
        (OK + b"Content-Length: " + b"9" * 5_000 + b"\r\n\r\nhello", failures.DAMAGED),
        (OK + b"\r\nhello", failures.UNFRAMED),
        (OK + b"Content-Encoding: gzip\r\n\r\n", failures.CUT_SHORT),
        (OK + b"Content-Encoding: snappy\r\n" + FIVE, failures.DAMAGED),
        (OK + b"Content-Encoding: gzip\r\n" + FIVE, failures.DAMAGED),
        (OK + b"Content-Encoding: gzip, gzip, gzip, gzip\r\n" + FIVE, failures.DAMAGED),
        (OK + b"".join(b"X-%d: 1\r\n" % n for n in range(2_000)) + FIVE, failures.HEADERS),
        (OK + b"X: " + b"x" * 70_000 + b"\r\n" + FIVE, failures.HEADERS),
        (OK + (b"X: " + b"x" * 60_000 + b"\r\n") * (MOST_HEADERS // 60_000 + 1) + FIVE, failures.HEADERS),
        (OK + b"no header\r\n" * 30_000 + FIVE, failures.HEADERS),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", failures.DAMAGED),
        (b"HTTP/2.0 200 OK\r\n" + FIVE, failures.DAMAGED),
        (b"<html>HTTP/0.9</html>\n", failures.DAMAGED),
        (b"HTTP/1.1 abc OK\r\n" + FIVE, failures.DAMAGED),
    ],
)  # fmt: skip
def test_what_cannot_be_understood_is_a_failure_of_its_kind(raw: bytes, kind: str) -> None:
    with pytest.raises(FetchFailed) as failure:
        fetch(raw, unframed=kind != failures.UNFRAMED)
    assert failure.value.kind == kind
    assert failure.value.final is (kind == failures.HEADERS)


def test_chunk_sizes_that_count_characters_make_no_shorter_page() -> None:
    """The three bytes too many that are left of the first chunk look like its end and the last chunk's size."""
    body = "€ 100".encode()
    with pytest.raises(FetchFailed) as failure:
        fetch(OK + CHUNKED + b"5\r\n" + body + b"\r\n0\r\n\r\n")
    assert failure.value.kind == failures.DAMAGED


@pytest.mark.parametrize(
    "raw",
    [
        OK + b"Content-Length: 5, 5\r\n\r\nhello",
        OK + b"Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello",
        OK + b"Content-Length: 99\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        OK + b"transfer-encoding: Chunked\r\n\r\n0005;x=y\r\nhello\r\n0\r\n\r\n",
        OK + b"a line without a colon\r\n" + FIVE,
        OK + b"Folded: one\r\n two\r\n" + FIVE,
        OK + b"X-Latin: caf\xe9\r\n" + FIVE,
        OK + b"Content-Length : 5 \t\r\n\r\nhello",
        OK + b"Transfer-Encoding: chunked \r\n" + CHUNKS,
        OK + b"transfer-encoding\t:chunked\r\n" + CHUNKS,
        OK + b"Transfer-Encoding:\r\n \r\n\tchunked\r\n" + CHUNKS,
        OK + b"".join(b"X-%d: 1\r\n" % n for n in range(500)) + FIVE,
        OK + CHUNKED + b"5  \r\nhello\r\n00 ;x\r\nTrailer: 1\r\n\r\n",
        OK.replace(b"\r\n", b"\n") + CHUNKED.replace(b"\r\n", b"\n") + b"5\nhello\n0\n\n",
        b"HTTP/1.1 200 OK\n" + FIVE.replace(b"\r\n", b"\n"),
        b"HTTP/1.0 200 OK\r\n" + FIVE,
        b"HTTP/1.1 200\r\n" + FIVE,
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nContent-Length: 9\r\n\r\n" + OK + FIVE,
        OK + b"Content-Encoding: identity\r\n" + FIVE,
    ],
)
def test_what_is_odd_and_clear_is_read(raw: bytes) -> None:
    assert fetch(raw).body == b"hello"


def test_a_malformed_header_line_costs_that_line_alone() -> None:
    malformed = b" folded first\r\nmalformed\r\n: no name\r\na blank: in it\r\n and its next line\r\n"
    response = fetch(OK + b" first\r\nX-One: 1\r\n" + malformed[1:] + b"X-Two: 2\r\n" + FIVE)
    assert (response.headers["x-one"], response.headers["x-two"]) == ("1", "2")


def test_a_carriage_return_inside_a_header_ends_none() -> None:
    response = fetch(
        OK + b"X-One: 1\rLocation: /evil\r\nX-Two: a\rb\r\nX-Three:\r\n \t\r\nX-Four: 4\r\n" + FIVE
    )
    assert "location" not in response.headers
    assert [response.headers[name] for name in ("x-two", "x-three", "x-four")] == ["a b", "", "4"]


def test_a_folded_header_is_one() -> None:
    response = fetch(OK + b"X-One: a\r\n b \r\n\t c\r\nX-Two:\r\n d\r\n" + FIVE)
    assert (response.headers["x-one"], response.headers["x-two"]) == ("a b c", "d")


def test_of_an_error_the_status_counts_and_its_headers() -> None:
    """A host that wants to be left alone is left alone, whatever its error page is like."""
    for body in (
        b"Content-Encoding: gzip\r\n" + FIVE,
        b"Content-Encoding: utf-8\r\n" + FIVE,
        b"Content-Length: 5 bytes\r\n\r\nhello",
        b"Content-Length: 200\r\n\r\n" + b"x" * 200,
        b"Content-Encoding: gzip\r\n\r\n" + gzip.compress(bytes(2_000_000)),
    ):
        response = fetch(b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 7\r\n" + body, max_body=100)
        assert (response.status, response.headers["retry-after"], response.body) == (429, "7", b"")
    with pytest.raises(FetchFailed):
        fetch(b"HTTP/1.1 429 Too Many Requests\r\nContent-Length: 9\r\n\r\nhello")


def test_where_nothing_may_follow_nothing_is_unpacked() -> None:
    assert fetch(b"HTTP/1.1 204 No Content\r\nContent-Encoding: gzip\r\n\r\n").body == b""


def test_a_redirect_that_names_two_targets_has_none() -> None:
    twice = b"HTTP/1.1 302 Found\r\nLocation: /a\r\nLocation: %s\r\nContent-Length: 0\r\n\r\n"
    assert fetch(twice % b"/a").headers["location"] == "/a"
    with pytest.raises(FetchFailed) as failure:
        fetch(twice % b"/b")
    assert failure.value.kind == failures.REDIRECT


def test_interim_responses_without_end_end_at_the_deadline() -> None:
    done = threading.Event()

    def answer(peer: socket.socket) -> None:
        while not done.wait(0.01):
            peer.sendall(b"HTTP/1.1 103 Early Hints\r\n\r\n")

    with serving(answer) as (url, _):
        with pytest.raises(FetchFailed) as failure:
            Transport().fetch(Request(url, private=True), 0.3)
        done.set()
    assert failure.value.kind == failures.TIME_OUT


def test_each_coding_that_is_offered_is_unpacked() -> None:
    raw = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    packed = {
        "gzip": gzip.compress(b"hello"),
        "x-gzip": gzip.compress(b"hello"),
        "deflate": zlib.compress(b"hello"),
        "Deflate ": raw.compress(b"hello") + raw.flush(),
        "gzip, gzip": gzip.compress(gzip.compress(b"hello")),
        "deflate,, identity": zlib.compress(b"hello"),
    }
    if unpacking.LIMITED:
        packed["br"] = unpacking.brotli.compress(b"hello")
    if unpacking.zstd:
        packed["zstd"] = unpacking.zstd.compress(b"hel") + unpacking.zstd.compress(b"lo")
    assert set(unpacking.UNDERSTOOD.split(", ")) <= set(packed)
    for coding, body in packed.items():
        head = b"Content-Encoding: %s\r\nContent-Length: %d\r\n\r\n" % (coding.encode(), len(body))
        assert fetch(OK + head + body).body == b"hello", coding


@pytest.mark.parametrize("coding", unpacking.UNDERSTOOD.split(", "))
def test_a_small_body_that_unpacks_too_far_is_a_failure_for_good(coding: str) -> None:
    zeros = b"\0" * 30_000_000
    packed = {
        "gzip": gzip.compress,
        "deflate": zlib.compress,
        "br": lambda data: unpacking.brotli.compress(data, quality=1),
        "zstd": lambda data: unpacking.zstd.compress(data),
    }[coding](zeros)
    assert len(packed) < 100_000
    with pytest.raises(FetchFailed) as failure:
        fetch(OK + b"Content-Encoding: %s\r\n\r\n" % coding.encode() + packed, max_body=50_000_000)
    assert (failure.value.kind, failure.value.final) == (failures.UNPACKS_TOO_FAR, True)


def test_a_bomb_in_a_bomb_is_a_failure_for_good() -> None:
    packed = gzip.compress(gzip.compress(b"\0" * 30_000_000))
    with pytest.raises(FetchFailed) as failure:
        fetch(OK + b"Content-Encoding: gzip, gzip\r\n\r\n" + packed)
    assert (failure.value.kind, failure.value.final) == (failures.UNPACKS_TOO_FAR, True)


def test_a_large_page_that_packs_well_is_no_bomb() -> None:
    page = b"".join(b"<tr><td>%d</td><td>and so on</td></tr>" % n for n in range(60_000))
    assert fetch(OK + b"Content-Encoding: gzip\r\n\r\n" + gzip.compress(page)).body == page


def test_a_body_over_the_cap_is_a_failure_for_good() -> None:
    with pytest.raises(FetchFailed) as failure:
        fetch(OK + b"Content-Length: 101\r\n\r\n" + b"x" * 101, max_body=100)
    assert (failure.value.kind, failure.value.final) == (failures.TOO_LARGE, True)


def test_what_a_redirect_says_in_its_body_is_nobodys_trouble() -> None:
    for body in (
        b"Content-Encoding: gzip\r\nContent-Length: 5\r\n\r\nmoved",
        b"Content-Length: 50\r\n\r\nmoved",
        b"\r\nmoved",
    ):
        response = fetch(b"HTTP/1.1 302 Found\r\nLocation: /x\r\n" + body)
        assert (response.status, response.headers["location"]) == (302, "/x")
