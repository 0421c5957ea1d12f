"""A response's body: all of it, decoded and within a cap, or a failure."""

from __future__ import annotations

import time
import zlib
from collections.abc import Mapping
from dataclasses import dataclass

import requests
import urllib3

from limpet_consumers.connections import LENGTH, asked
from limpet_consumers.http import FetchFailed
from limpet_consumers.unpacking import unpacker
from limpet_store import failures

CHUNK = 65_536
RATIO = 200  # unpacked to packed
RATIO_FROM = 1_000_000  # bytes unpacked; below, any ratio is fine


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
            if 300 <= response.status_code < 400:  # the headers say it all
                return headers | _location(response), self._rest(response, headers)
            try:
                return headers, self._content(response, headers, most)
            except (FetchFailed, zlib.error) as error:
                if response.status_code < 400 or getattr(error, "kind", "") == failures.CUT_SHORT:
                    raise
                return (
                    headers,
                    b"",
                )  # of an error the status counts, and when the host wants to be asked again
        finally:
            response.close()

    def _content(self, response: requests.Response, headers: Mapping[str, str], most: int | None) -> bytes:
        asked_by = getattr(response.request, "method", "")  # an adapter of the site's own may not say
        if response.status_code == 204 or asked_by == "HEAD":
            return b""
        if response._content_consumed:  # type: ignore[attr-defined]  # by a hook of the user's session
            return self._taken(response.content, most)
        return self._body(response, headers, most)

    def _rest(self, response: requests.Response, headers: Mapping[str, str]) -> bytes:
        """A short body that nobody needs, as it came, so that the connection can be kept; else none."""
        length = headers.get("content-length", "")
        if response._content_consumed or not length.isdigit() or int(length) > CHUNK:  # type: ignore[attr-defined]
            return b""
        try:
            return response.raw.read(CHUNK, decode_content=False) or b""
        except (OSError, urllib3.exceptions.HTTPError):
            return b""

    def _check_framing(self, status: int, headers: Mapping[str, str], packed: bool) -> bool:
        """Whether length or chunks say where the body ends; else a cut one looks like a whole one, unless it is packed
        and the stream has an end of its own. Raises FetchFailed."""
        framed = _says_its_end(headers)
        if not framed and 200 <= status < 300 and status != 204 and not packed and not self.unframed:
            raise FetchFailed(
                "neither Content-Length nor chunks: nothing says that it is whole (tune(unframed=True))",
                kind=failures.UNFRAMED,
            )
        return framed

    def _body(self, response: requests.Response, headers: Mapping[str, str], most: int | None) -> bytes:
        unpack = unpacker(headers.get("content-encoding", "").lower())
        framed = self._check_framing(response.status_code, headers, unpack is not None)
        limit = self.most if most is None else most
        parts: list[bytes] = []
        size = came = 0
        while data := response.raw.read1(CHUNK, decode_content=False):
            if unpack:
                came += len(data)
                data = unpack.take(data, min(limit, max(RATIO_FROM, came * RATIO)) - size + 1)
            size += len(data)
            parts.append(data)
            if size > RATIO_FROM and size > came * RATIO and unpack:
                raise FetchFailed(f"unpacks to more than {RATIO} times its size", host=False, final=True,
                                  kind=failures.UNPACKS_TOO_FAR)  # fmt: skip
            if size > limit:
                if most is None:
                    raise too_large(limit)
                return b"".join(parts)[:most]
            if time.monotonic() > asked.until:  # below an adapter that is not ours nothing else looks
                raise TimeoutError
        if unpack and not unpack.whole and (unpack.begun or not framed):
            raise FetchFailed("compressed body cut short", kind=failures.CUT_SHORT)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _taken(self, body: bytes, most: int | None) -> bytes:
        if most is not None:
            return body[:most]
        if len(body) > self.most:
            raise too_large(self.most)
        return body


def too_large(most: int) -> FetchFailed:
    """A body above the cap."""
    return FetchFailed(f"body larger than {most} bytes", host=False, final=True, kind=failures.TOO_LARGE)


def _location(response: requests.Response) -> dict[str, str]:
    """Where a redirect leads: of several headers one value would be made. Raises FetchFailed when they differ."""
    told = set(response.raw.headers.getlist("location"))
    if len(told) > 1:
        raise FetchFailed("redirects to several URLs", host=False, kind=failures.REDIRECT)
    return {"location": told.pop()} if told else {}


def _says_its_end(headers: Mapping[str, str]) -> bool:
    """Whether there are chunks or a length (RFC 9112, 6.3). Raises FetchFailed for what is neither: http.client takes
    it for a body that the end of the connection ends."""
    coding, length = headers.get("transfer-encoding"), headers.get("content-length")
    if coding is not None and coding.lower() != "chunked":
        raise FetchFailed(f"unknown transfer encoding {coding[:40]!r}", kind=failures.DAMAGED)
    if coding is None and length is not None:
        told = {each.strip() for each in length.split(",")}
        if len(told) > 1 or not all(LENGTH(each) for each in told):
            raise FetchFailed(f"Content-Length {length[:40]!r} is no length", kind=failures.DAMAGED)
    return coding is not None or length is not None
