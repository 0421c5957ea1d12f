"""Content codings (RFC 9110, 8.4): streams that know whether they have reached their end, and how far they unpack."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any, Protocol

from limpet_consumers.http import FetchFailed
from limpet_store import failures

try:
    from backports import zstd
except ImportError:
    try:
        from compression import zstd  # type: ignore[no-redef,import-not-found,unused-ignore]
    except ImportError:
        zstd = None  # type: ignore[assignment]
try:
    import brotli  # type: ignore[import-untyped,unused-ignore]
except ImportError:
    brotli = None

MOST_CODINGS = 3  # of one body; a server that packs twice by mistake is met
TOO_FAR = "packed more than once, and too large in between"
BETWEEN = 8_000_000  # bytes that a piece of a body may have between two codings
MEMBER = b"\x1f\x8b"  # the first bytes of each member of gzip
WINDOW = 23  # log2 of the bytes that a zstd stream may look back, the most of RFC 9659
LIMITED = brotli is not None and hasattr(
    brotli.Decompressor, "can_accept_more_data"
)  # its output can be bounded
UNDERSTOOD = ", ".join(["gzip", "deflate", *(["br"] if LIMITED else []), *(["zstd"] if zstd else [])])


class Unpacker(Protocol):
    """One coding of one body."""

    @property
    def whole(self) -> bool:
        """Whether the stream has begun, and has ended where a stream ends."""

    @property
    def begun(self) -> bool: ...

    def take(self, data: bytes, most: int) -> bytes:
        """Unpack a piece, up to `most` bytes and a little: then the body is too large anyway. Raises zlib.error and
        FetchFailed for what is damaged."""


class Zlib:
    """gzip, zlib, or what is called deflate and has no header, which browsers take too (RFC 9110, 8.4.1.2).

    gzip may have several members in a row; other bytes after one are padding, which browsers ignore too.
    """

    def __init__(self, wbits: int) -> None:
        self._wbits = wbits
        self._stream: Any = None
        self._head = b""  # of a stream or member: too little yet to tell what it is

    @property
    def begun(self) -> bool:
        return self._stream is not None or bool(self._head)

    @property
    def whole(self) -> bool:
        return self._stream is not None and bool(self._stream.eof) and not self._head

    def take(self, data: bytes, most: int) -> bytes:
        data = self._begin(self._head + data)
        parts: list[bytes] = []
        while data and most > 0:
            if self._stream.eof and not self._next_member(data):
                break
            parts.append(self._stream.decompress(data, most))
            most -= len(parts[-1])
            data = self._stream.unused_data or self._stream.unconsumed_tail
        return b"".join(parts)

    def _next_member(self, data: bytes) -> bool:
        if self._wbits == zlib.MAX_WBITS or not data.startswith(MEMBER):
            self._head = data if self._wbits != zlib.MAX_WBITS and data == MEMBER[:1] else b""
            return False
        self._stream = zlib.decompressobj(self._wbits)
        return True

    def _begin(self, data: bytes) -> bytes:
        """What is to be unpacked now; its first two bytes tell whether deflate has a header."""
        if self._stream is None:
            if self._wbits == zlib.MAX_WBITS and len(data) < 2:
                self._head = data
                return b""
            raw = self._wbits == zlib.MAX_WBITS and (data[0] & 0x0F != 8 or int.from_bytes(data[:2]) % 31)
            self._stream = zlib.decompressobj(-zlib.MAX_WBITS if raw else self._wbits)
        self._head = b""
        return data


class Brotli:
    """brotli (RFC 7932)."""

    def __init__(self) -> None:
        self._stream = brotli.Decompressor()
        self.begun = False

    @property
    def whole(self) -> bool:
        return bool(self._stream.is_finished())

    def take(self, data: bytes, most: int) -> bytes:
        self.begun = True
        parts: list[bytes] = []
        try:
            while most > 0 and not self._stream.is_finished():
                parts.append(self._stream.process(data, output_buffer_limit=most))
                most -= len(parts[-1])
                data = b""
                if self._stream.can_accept_more_data():
                    break
        except brotli.error as error:
            raise _damaged(error) from None
        return b"".join(parts)


class Zstd:
    """Zstandard (RFC 8878): one frame, or several in a row."""

    def __init__(self) -> None:
        self._stream = self._new()
        self.begun = False

    @staticmethod
    def _new() -> Any:
        return zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: WINDOW})

    @property
    def whole(self) -> bool:
        return bool(self._stream.eof)

    def take(self, data: bytes, most: int) -> bytes:
        self.begun = True
        parts: list[bytes] = []
        try:
            while most > 0 and (data or not (self._stream.eof or self._stream.needs_input)):
                if self._stream.eof:
                    self._stream = self._new()
                parts.append(self._stream.decompress(data, most))
                most -= len(parts[-1])
                data = self._stream.unused_data if self._stream.eof else b""
        except zstd.ZstdError as error:
            raise _damaged(error) from None
        return b"".join(parts)


class Chain:
    """Several codings of one body, the last that was put on first."""

    def __init__(self, codings: Sequence[Unpacker]) -> None:
        self._codings = codings

    @property
    def begun(self) -> bool:
        return self._codings[0].begun

    @property
    def whole(self) -> bool:
        return all(each.whole for each in self._codings)

    def take(self, data: bytes, most: int) -> bytes:
        for each in self._codings:
            last = each is self._codings[-1]
            data = each.take(data, most if last else BETWEEN)
            if not last and len(data) >= BETWEEN:
                raise FetchFailed(TOO_FAR, host=False, final=True, kind=failures.UNPACKS_TOO_FAR)
        return data


def unpacker(encoding: str) -> Unpacker | None:
    """For a Content-Encoding, in lower case; None where nothing is packed. Raises FetchFailed for an unknown one."""
    names = [name.strip() for name in encoding.split(",")]
    codings = [_one(name) for name in reversed(names) if name not in ("", "identity")]
    if len(codings) > MOST_CODINGS:
        raise _unknown(encoding)
    return Chain(codings) if len(codings) > 1 else codings[0] if codings else None


def _one(name: str) -> Unpacker:
    if name in ("gzip", "x-gzip"):
        return Zlib(16 + zlib.MAX_WBITS)
    if name == "deflate":
        return Zlib(zlib.MAX_WBITS)
    if name == "br" and LIMITED:
        return Brotli()
    if name == "zstd" and zstd:
        return Zstd()
    raise _unknown(name)


def _damaged(error: Exception) -> FetchFailed:
    return FetchFailed(f"compressed body is damaged: {error}", kind=failures.DAMAGED)


def _unknown(name: str) -> FetchFailed:
    return FetchFailed(f"unknown content encoding {name[:40]!r}", host=False, kind=failures.DAMAGED)
