"""Content codings, whatever the pieces in which a body comes."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator

import pytest

from limpet_consumers import unpacking
from limpet_consumers.http import FetchFailed
from limpet_consumers.unpacking import UNDERSTOOD, unpacker

BODY = b"".join(b"<p>Thing %d</p>" % n for n in range(40))
RAW = zlib.compressobj(wbits=-zlib.MAX_WBITS)
MOST = 10_000_000
PACKED: dict[str, tuple[str, bytes]] = {
    "gzip": ("gzip", gzip.compress(BODY)),
    "gzip of three members": ("x-gzip", b"".join(gzip.compress(part) for part in (BODY[:9], b"", BODY[9:]))),
    "gzip with padding": ("gzip", gzip.compress(BODY) + b"\0" * 9),
    "deflate": ("deflate", zlib.compress(BODY)),
    "deflate and then some": ("deflate", zlib.compress(BODY) + b"\x1f"),
    "deflate without a header": ("deflate", RAW.compress(BODY) + RAW.flush()),
    "gzip twice": ("gzip, gzip", gzip.compress(gzip.compress(BODY))),
    "deflate, then gzip": ("deflate,gzip", gzip.compress(zlib.compress(BODY))),
}
if unpacking.LIMITED:
    PACKED["brotli"] = ("br", unpacking.brotli.compress(BODY))
if unpacking.zstd:
    PACKED["zstd of two frames"] = ("zstd", b"".join(map(unpacking.zstd.compress, (BODY[:9], BODY[9:]))))


def pieces(data: bytes, size: int) -> Iterator[bytes]:
    return (data[at : at + size] for at in range(0, len(data), size))


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100_000])
@pytest.mark.parametrize("name", PACKED)
def test_a_body_is_the_same_in_whatever_pieces_it_comes(name: str, size: int) -> None:
    coding, packed = PACKED[name]
    unpack = unpacker(coding)
    assert unpack is not None
    assert b"".join(unpack.take(piece, MOST) for piece in pieces(packed, size)) == BODY
    assert unpack.whole


def test_a_second_member_that_has_just_begun_is_not_whole() -> None:
    """Of the two bytes by which a member is known the first one came."""
    unpack = unpacker("gzip")
    assert unpack is not None
    assert unpack.take(gzip.compress(BODY) + b"\x1f", MOST) == BODY
    assert not unpack.whole
    assert unpack.take(b" is no member", MOST) == b""
    assert unpack.whole


def test_a_page_packed_twice_may_be_as_large_as_the_cap_to_the_byte() -> None:
    noise = b"".join(b"%d" % (n * 7919 % 104_729) for n in range(200_000))
    unpack = unpacker("gzip, gzip")
    assert unpack is not None
    size = 0
    for piece in pieces(gzip.compress(gzip.compress(noise)), 65_536):
        size += len(unpack.take(piece, len(noise) - size + 1))
    assert size == len(noise)
    assert unpack.whole


def test_no_more_is_unpacked_than_asked_for() -> None:
    for coding in UNDERSTOOD.split(", "):
        pack = {"gzip": gzip.compress, "deflate": zlib.compress}.get(coding) or (
            unpacking.brotli.compress if coding == "br" else unpacking.zstd.compress
        )
        unpack = unpacker(coding)
        assert unpack is not None
        assert len(unpack.take(pack(bytes(5_000_000)), 1_000)) < 300_000, coding


@pytest.mark.parametrize("coding", ["", "identity", " identity , ", "identity,identity"])
def test_what_is_not_packed_needs_no_unpacking(coding: str) -> None:
    assert unpacker(coding) is None


@pytest.mark.parametrize(
    "coding", ["snappy", "gzip, snappy", "utf-8", "gzip;q=1", "gzip, gzip, gzip, gzip", "gzip gzip"]
)
def test_an_unknown_coding_is_a_failure(coding: str) -> None:
    with pytest.raises(FetchFailed, match="unknown content encoding"):
        unpacker(coding)
