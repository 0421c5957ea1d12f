"""Our transport: requests at the adapter's level, one pooled session a thread.

Nothing is read from the environment (no proxies, no netrc), no cookies are kept, no redirect is followed. The
connected peer is checked after connect and before anything is sent: a name that resolves into a private network
is refused whatever the resolver says (no DNS rebinding).
"""

from __future__ import annotations

import threading
import time
import zlib

import requests
import urllib3
from requests.models import PreparedRequest
from requests.structures import CaseInsensitiveDict

from limpet_consumers.connections import Adapter, PrivatePeer, asked
from limpet_consumers.http import FetchFailed, Request, Response

DROPPED = ("connection closed without an answer", "connection reset")
CHUNK = 65_536


class Transport:
    """The Http port over requests. Safe to use from several threads."""

    def __init__(
        self, *, connect: float = 10.0, read: float = 30.0, max_body: int = 10_000_000, unframed: bool = False
    ) -> None:
        self._timeout = (connect, read)  # seconds
        self._max_body = max_body  # bytes, decoded
        self._unframed = unframed  # whether the end of the connection may stand for the end of the body
        self._local = threading.local()

    def _adapter(self, private: bool) -> Adapter:
        """The thread's connections; those to private peers are apart, for a public request to find none."""
        name = "private" if private else "public"
        found: Adapter | None = getattr(self._local, name, None)
        if found is None:
            found = Adapter(pool_connections=64, pool_maxsize=1, max_retries=0)
            setattr(self._local, name, found)
        return found

    def fetch(self, request: Request, deadline: float) -> Response:
        """See the protocol. The name's resolution may come on top of the deadline, and of a host with several
        addresses each may take the time-out for connections."""
        began, cpu = time.monotonic(), time.thread_time()
        asked.until, asked.private = began + deadline, request.private
        asked.target = "/" + request.url.split("/", 3)[3]
        try:
            response = self._send(request, deadline)
            first = time.monotonic() - began
            try:
                headers = {name.lower(): value for name, value in response.headers.items()}
                self._check_framing(response.status_code, headers)
                body = self._body(response, headers, request.most)
            finally:
                response.close()  # and its connection, unless the body has been read to its end
        except FetchFailed:
            raise
        except PrivatePeer as error:
            raise FetchFailed(
                f"peer {error} is private: allow_private=True lets it", host=False, final=True
            ) from None
        except zlib.error as error:
            raise FetchFailed(f"compressed body is damaged: {error}") from None
        except (requests.RequestException, urllib3.exceptions.HTTPError, OSError) as error:
            late = time.monotonic() >= began + deadline
            raise FetchFailed("slower than the total time-out" if late else _reason(error)) from None
        wait = (time.monotonic() - began) - (time.thread_time() - cpu)
        connect = asked.connected - began if asked.connected else 0.0
        return Response(request.url, response.status_code, headers, body, wait, connect, first)

    def _send(self, request: Request, deadline: float) -> requests.Response:
        connect, read = self._timeout
        timeout = (min(connect, deadline), min(read, deadline))
        adapter, prepared = self._adapter(request.private), _prepare(request)
        asked.connected = 0.0
        try:
            return adapter.send(prepared, stream=True, timeout=timeout, verify=True)
        except requests.ConnectionError as error:
            if asked.connected or _reason(error) not in DROPPED:
                raise
        # A kept connection that the server had just closed: nobody's failure. RFC 9112, 9.3.1 lets a safe request be
        # sent again, once, on a new one.
        return adapter.send(prepared, stream=True, timeout=timeout, verify=True)

    def _check_framing(self, status: int, headers: dict[str, str]) -> None:
        """Without a length, chunks or a stream with an end of its own, a cut body looks like a whole one; so does a
        response that was cut inside its headers."""
        framed = (
            "content-length" in headers or "transfer-encoding" in headers or "content-encoding" in headers
        )
        if not headers or (200 <= status < 300 and status != 204 and not framed and not self._unframed):
            raise FetchFailed(
                "neither Content-Length nor chunks: nothing says that it is whole (tune(unframed=True))"
            )

    def _body(self, response: requests.Response, headers: dict[str, str], most: int | None) -> bytes:
        unpack = _decoder(headers.get("content-encoding", "").strip().lower())
        limit = self._max_body if most is None else most
        parts: list[bytes] = []
        size = 0
        while data := response.raw.read1(CHUNK, decode_content=False):
            if unpack:
                data = unpack.take(data, limit - size + 1)
            size += len(data)
            parts.append(data)
            if size > limit and most is None:
                raise FetchFailed(f"body larger than {limit} bytes", host=False, final=True)
            if size > limit:
                return b"".join(parts)[:limit]
        if unpack and not unpack.whole:
            raise FetchFailed("compressed body cut short")
        return parts[0] if len(parts) == 1 else b"".join(parts)


def _prepare(request: Request) -> PreparedRequest:
    """A prepared request without the cost of preparing: the URL is canonical, the headers are ours."""
    prepared = PreparedRequest()
    prepared.method = request.method
    prepared.url = request.url
    prepared.headers = CaseInsensitiveDict(request.headers)
    prepared.body = request.body
    if request.body is not None:
        prepared.headers["Content-Length"] = str(len(request.body))
    return prepared


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


PLAIN = {  # what a person says of what urllib3 and the system call it
    "ConnectionRefusedError": "connection refused",
    "NameResolutionError": "no such host",
    "gaierror": "no such host",
    "ConnectTimeoutError": "no connection in time",
    "ReadTimeoutError": "no answer in time",
    "TimeoutError": "no answer in time",
    "RemoteDisconnected": "connection closed without an answer",
    "ConnectionResetError": "connection reset",
    "BrokenPipeError": "connection reset",
    "IncompleteRead": "body cut short",
    "InvalidChunkLength": "body cut short",
    "BadStatusLine": "not an HTTP response",
    "SSLCertVerificationError": "the certificate is not trusted",
}


def _reason(error: BaseException) -> str:
    """A short reason without the URL, which may carry secrets: the innermost cause that has a plain name."""
    found = f"{type(error).__name__}"
    seen: set[int] = set()
    inner: BaseException | None = error
    while inner is not None and id(inner) not in seen:
        seen.add(id(inner))
        found = PLAIN.get(type(inner).__name__, found)
        reason = getattr(inner, "reason", None)
        nested = (
            reason
            if isinstance(reason, BaseException)
            else next((arg for arg in inner.args if isinstance(arg, BaseException)), None)
        )
        inner = nested or inner.__cause__ or inner.__context__
    return found
