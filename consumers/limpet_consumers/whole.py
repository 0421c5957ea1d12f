"""A response's body: all of it, decoded and within a cap, or a failure."""

from __future__ import annotations

import time
import zlib
from collections.abc import Mapping
from dataclasses import dataclass

import requests

from limpet_consumers.connections import asked
from limpet_consumers.http import FetchFailed

CHUNK = 65_536


@dataclass(frozen=True, slots=True)
class Whole:
    """Reads bodies to their end.

    `most` is the bytes that one may have after decoding. `unframed`: the end of the connection may stand for the end
    of the body.
    """

    most: int
    unframed: bool = False

    def read(self, response: requests.Response, most: int | None = None) -> tuple[dict[str, str], bytes]:
        """The headers, their names in lower case, and the body; with `most` its beginning, the rest left unread.

        The response is closed, and its connection kept if there is nothing left on it. Raises FetchFailed, zlib.error
        and what urllib3 raises.
        """
        try:
            headers = {name.lower(): value for name, value in response.headers.items()}
            self._check_framing(response.status_code, headers)
            if response._content_consumed:  # type: ignore[attr-defined]  # by a hook of the user's session
                return headers, self._taken(response.content, most)
            return headers, self._body(response, headers, most)
        finally:
            response.close()

    def _check_framing(self, status: int, headers: Mapping[str, str]) -> None:
        """Without a length, chunks or a stream with an end of its own, a cut body looks like a whole one; so does a
        response that was cut inside its headers."""
        framed = (
            "content-length" in headers or "transfer-encoding" in headers or "content-encoding" in headers
        )
        if not headers or (200 <= status < 300 and status != 204 and not framed and not self.unframed):
            raise FetchFailed(
                "neither Content-Length nor chunks: nothing says that it is whole (tune(unframed=True))"
            )

    def _body(self, response: requests.Response, headers: Mapping[str, str], most: int | None) -> bytes:
        unpack = _decoder(headers.get("content-encoding", "").strip().lower())
        limit = self.most if most is None else most
        parts: list[bytes] = []
        size = 0
        while data := response.raw.read1(CHUNK, decode_content=False):
            if unpack:
                data = unpack.take(data, limit - size + 1)
            size += len(data)
            parts.append(data)
            if size > limit:
                return self._taken(b"".join(parts), most)
            if time.monotonic() > asked.until:  # below an adapter that is not ours nothing else looks
                raise TimeoutError
        if unpack and not unpack.whole:
            raise FetchFailed("compressed body cut short")
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _taken(self, body: bytes, most: int | None) -> bytes:
        if most is not None:
            return body[:most]
        if len(body) > self.most:
            raise too_large(self.most)
        return body


def too_large(most: int) -> FetchFailed:
    """A body above the cap."""
    return FetchFailed(f"body larger than {most} bytes", host=False, final=True)


class _Unpacker:
    """A gzip or zlib stream that knows whether it has reached its end.

    gzip may have several members in a row; other bytes after one are padding, which browsers ignore too.
    """

    def __init__(self, wbits: int) -> None:
        self._wbits = wbits
        self._stream = zlib.decompressobj(wbits)
        self._begun = False

    @property
    def whole(self) -> bool:
        """Whether it ended where a stream ends; an empty body has none, whatever its headers say."""
        return self._stream.eof or not self._begun

    def take(self, data: bytes, most: int) -> bytes:
        """Unpack a piece, up to `most` bytes: then the body is too large anyway."""
        parts: list[bytes] = []
        while data and most > 0:
            if self._stream.eof:
                if not data.startswith(b"\x1f\x8b"):
                    break
                self._stream = zlib.decompressobj(self._wbits)
            self._begun = True
            parts.append(self._stream.decompress(data, most))
            most -= len(parts[-1])
            data = self._stream.unused_data or self._stream.unconsumed_tail
        return b"".join(parts)


def _decoder(encoding: str) -> _Unpacker | None:
    if encoding in ("", "identity"):
        return None
    if encoding in ("gzip", "x-gzip"):
        return _Unpacker(16 + zlib.MAX_WBITS)
    if encoding == "deflate":
        return _Unpacker(zlib.MAX_WBITS)
    raise FetchFailed(f"unknown content encoding {encoding[:40]!r}", host=False)
