"""Our transport: requests at the adapter's level, one pooled session a thread.

Nothing is read from the environment (no proxies, no netrc), no cookies are kept, no redirect is followed. The
connected peer is checked after connect and before anything is sent: a name that resolves into a private network
is refused whatever the resolver says (no DNS rebinding).
"""

from __future__ import annotations

import ipaddress
import socket
import threading
import time
import zlib
from typing import Any

import requests
import urllib3
from requests.adapters import HTTPAdapter
from requests.models import PreparedRequest
from requests.structures import CaseInsensitiveDict
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

from limpet_consumers.http import FetchFailed, Request, Response

CHUNK = 65_536
PREFIXES_WITH_IPV4 = (ipaddress.ip_network("64:ff9b::/96"), ipaddress.ip_network("2002::/16"))


class PrivatePeer(Exception):
    """The peer is on this machine or a private network, and the site does not allow that."""


def is_public(address: str) -> bool:
    """Whether a peer's address is on the public Internet, IPv4 inside IPv6 forms included."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        if ip.ipv4_mapped:
            ip = ip.ipv4_mapped
        elif any(ip in network for network in PREFIXES_WITH_IPV4):
            return False
    return ip.is_global and not ip.is_multicast


class _CheckedPeer:
    """Mixed into urllib3's connections: both schemes make their socket here, before TLS."""

    def _new_conn(self) -> socket.socket:
        sock: socket.socket = super()._new_conn()  # type: ignore[misc]
        peer = sock.getpeername()
        if isinstance(peer, tuple) and not is_public(str(peer[0])):
            sock.close()
            raise PrivatePeer(str(peer[0]))
        return sock


class _HTTP(_CheckedPeer, HTTPConnection):
    pass


class _HTTPS(_CheckedPeer, HTTPSConnection):
    pass


class _HTTPPool(HTTPConnectionPool):
    ConnectionCls = _HTTP


class _HTTPSPool(HTTPSConnectionPool):
    ConnectionCls = _HTTPS


class _PublicAdapter(HTTPAdapter):
    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        super().init_poolmanager(*args, **kwargs)
        self.poolmanager.pool_classes_by_scheme = {"http": _HTTPPool, "https": _HTTPSPool}


class Transport:
    """The Http port over requests. Safe to use from several threads."""

    def __init__(
        self, *, connect: float = 10.0, read: float = 30.0, max_body: int = 10_000_000, unframed: bool = False
    ) -> None:
        self._timeout = (connect, read)  # seconds
        self._max_body = max_body  # bytes, decoded
        self._unframed = unframed  # whether the end of the connection may stand for the end of the body
        self._local = threading.local()

    def _adapter(self, private: bool) -> HTTPAdapter:
        name = "private" if private else "public"
        found: HTTPAdapter | None = getattr(self._local, name, None)
        if found is None:
            kind = HTTPAdapter if private else _PublicAdapter
            found = kind(pool_connections=64, pool_maxsize=1, max_retries=0)
            setattr(self._local, name, found)
        return found

    def fetch(self, request: Request, deadline: float) -> Response:
        """See the protocol. Does not guarantee that slow *headers* end at the deadline, only slow bodies."""
        began, cpu = time.monotonic(), time.thread_time()
        prepared = _prepare(request)
        connect, read = self._timeout
        try:
            response = self._adapter(request.private).send(
                prepared, stream=True, timeout=(min(connect, deadline), min(read, deadline)), verify=True
            )
            try:
                headers = {name.lower(): value for name, value in response.headers.items()}
                self._check_framing(response.status_code, headers)
                body = self._body(response, headers, began + deadline)
            except BaseException:
                response.raw._connection and response.raw._connection.close()
                raise
            finally:
                response.close()
        except FetchFailed:
            raise
        except PrivatePeer as error:
            raise FetchFailed(
                f"peer {error} is private: allow_private=True lets it", host=False, final=True
            ) from None
        except zlib.error as error:
            raise FetchFailed(f"compressed body is damaged: {error}") from None
        except (requests.RequestException, urllib3.exceptions.HTTPError, OSError) as error:
            raise FetchFailed(_reason(error)) from None
        wait = (time.monotonic() - began) - (time.thread_time() - cpu)
        return Response(request.url, response.status_code, headers, body, wait)

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

    def _body(self, response: requests.Response, headers: dict[str, str], until: float) -> bytes:
        unpack = _decoder(headers.get("content-encoding", "").strip().lower())
        parts: list[bytes] = []
        size = 0
        while data := response.raw.read1(CHUNK, decode_content=False):
            if unpack:
                data = unpack.take(data, self._max_body - size + 1)
            size += len(data)
            if size > self._max_body:
                raise FetchFailed(f"body larger than {self._max_body} bytes", host=False, final=True)
            if time.monotonic() > until:
                raise FetchFailed("body slower than the total time-out")
            parts.append(data)
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
