"""What a hostile body costs in memory: each is fetched in a process of its own, which says how much it took at most."""

from __future__ import annotations

import gzip
import io
import json
import socket
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Iterator

import pytest
from raw_server import serving

from limpet_consumers import unpacking

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="a process knows its own peak on Linux alone")
# (ru_maxrss begins with what the parent had when it forked)
MOST = 50 * 1024  # KiB, beyond what a small page takes
DEADLINE = 30.0  # seconds; the caps end each long before
OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
CHILD = """
import json, sys, time
from limpet_consumers.http import FetchFailed, Request
from limpet_consumers.transport import Transport

def peak():
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))

transport = Transport(unframed=True, max_body=int(sys.argv[4]))
transport.fetch(Request(sys.argv[1], private=True), 10)
before, began = peak(), time.monotonic()
try:
    transport.fetch(Request(sys.argv[2], private=True), float(sys.argv[3]))
    kind = "whole"
except FetchFailed as failure:
    kind = failure.kind
print(json.dumps([kind, peak() - before, time.monotonic() - began]))
"""


def fetched(answer: Callable[[socket.socket], None], max_body: int = 10_000_000) -> tuple[str, int, float]:
    """What came of it, how much more memory it took (KiB), and how long (s)."""
    small = OK + b"Content-Length: 5\r\n\r\nhello"
    with serving(lambda peer: peer.sendall(small)) as (first, _), serving(answer) as (url, _):
        done = subprocess.run(
            [sys.executable, "-c", CHILD, first, url, str(DEADLINE), str(max_body)],
            capture_output=True,
            text=True,
            check=True,
        )
    kind, more, seconds = json.loads(done.stdout)
    return kind, more, seconds


def zeros(megabytes: int) -> Iterator[bytes]:
    piece = bytes(1_000_000)
    return (piece for _ in range(megabytes))


@pytest.fixture(scope="module")
def bomb() -> bytes:
    """300 MB of zeros in 300 kB."""
    packer = zlib.compressobj(1, wbits=16 + zlib.MAX_WBITS)
    return b"".join(packer.compress(piece) for piece in zeros(300)) + packer.flush()


def packed_by(coding: str, gzipped: bytes) -> bytes:
    if coding == "gzip":
        return gzipped
    packer = unpacking.brotli.Compressor(quality=1) if coding == "br" else unpacking.zstd.ZstdCompressor()
    pack = packer.process if coding == "br" else packer.compress
    return b"".join(pack(piece) for piece in zeros(300)) + (
        packer.finish() if coding == "br" else packer.flush()
    )


@pytest.mark.parametrize("max_body", [10_000_000, 400_000_000])
@pytest.mark.parametrize("coding", [name for name in unpacking.UNDERSTOOD.split(", ") if name != "deflate"])
def test_a_bomb_of_300_mb_takes_no_memory(bomb: bytes, coding: str, max_body: int) -> None:
    packed = packed_by(coding, bomb)
    head = OK + b"Content-Encoding: %s\r\nContent-Length: %d\r\n\r\n" % (coding.encode(), len(packed))
    kind, more, seconds = fetched(lambda peer: peer.sendall(head + packed), max_body)
    assert kind == "unpacks too far"
    assert more < MOST
    assert seconds < DEADLINE


def test_a_bomb_that_is_packed_once_more_takes_no_memory(bomb: bytes) -> None:
    packed = gzip.compress(bomb)
    head = OK + b"Content-Encoding: gzip, gzip\r\nContent-Length: %d\r\n\r\n" % len(packed)
    kind, more, seconds = fetched(lambda peer: peer.sendall(head + packed))
    assert kind == "unpacks too far"
    assert more < MOST
    assert seconds < DEADLINE


@pytest.mark.parametrize(
    ("head", "piece"),
    [
        (b"Transfer-Encoding: chunked\r\n\r\n", b"f4240\r\n" + bytes(1_000_000) + b"\r\n"),
        (b"Content-Length: 1000000000\r\n\r\n", bytes(1_000_000)),
        (b"\r\n", bytes(1_000_000)),
    ],
    ids=["chunks", "length", "until it closes"],
)
def test_a_body_of_1_gb_takes_no_memory_and_is_left_at_its_cap(head: bytes, piece: bytes) -> None:
    sent = io.BytesIO()

    def endless(peer: socket.socket) -> None:
        peer.sendall(OK + head)
        for _ in range(1_000):
            peer.sendall(piece)
            sent.write(b"x")

    kind, more, seconds = fetched(endless)
    assert kind == "too large"
    assert more < MOST
    assert seconds < DEADLINE
    assert len(sent.getvalue()) < 100, "it was read on and on"


def test_headers_without_end_take_no_memory() -> None:
    def endless(peer: socket.socket) -> None:
        peer.sendall(OK)
        until = time.monotonic() + DEADLINE
        while time.monotonic() < until:
            peer.sendall(b"X: " + b"x" * 60_000 + b"\r\n")

    kind, more, seconds = fetched(endless)
    assert kind == "headers"
    assert more < MOST
    assert seconds < DEADLINE
