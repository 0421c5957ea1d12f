"""The connections below our transport: the peer is checked before anything is sent, and reading has an end."""

from __future__ import annotations

import http
import http.client
import io
import re
import socket
import threading
import time
from typing import TYPE_CHECKING, Any

import requests
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.exceptions import (
    ConnectTimeoutError,
    LocationParseError,
    NameResolutionError,
    NewConnectionError,
)

from limpet_consumers.dialing import dial
from limpet_consumers.lines import BLANK, MOST_LINE, BadChunk, CutShort, Lines, headers_of

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

LONGEST = 60.0  # seconds to connect where nobody says
LENGTH = re.compile(r"[0-9]{1,18}").fullmatch
NO_BODY = frozenset({101, 204, 304})  # statuses
CHUNK_SIZE = re.compile(rb"0*([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\n]*)?\r?\n").fullmatch
CHUNK_BEGUN = re.compile(rb"[0-9A-Fa-f]*[ \t]*(?:;[^\n]*)?\r?").fullmatch  # or the end of a chunk


class Asked(threading.local):
    """What this thread's request is bound to, for the connection and the response that are made for it."""

    until = float("inf")  # monotonic seconds
    private = False
    url = ""  # of the page; a session's hooks may ask for others meanwhile
    target = ""  # path and query as they are to be sent; "": as they come
    connected = 0.0  # monotonic seconds when a connection was made for it; 0: none was, or one is reused
    logging_in = (
        False  # a login's own code is at work: what it sends is bound by its session, redirects included
    )


asked = Asked()


class _InTime(io.RawIOBase):
    """What a response is read from, to its last byte: no read goes on beyond the deadline of the request.

    A time-out of the socket alone is one between two bytes, and a byte now and then holds a request for ever.
    """

    def __init__(self, raw: io.RawIOBase, sock: socket.socket) -> None:
        self._raw = raw
        self._sock = sock
        self._until = asked.until

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int | None:
        left = self._until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        if left < (self._sock.gettimeout() or left + 1):
            self._sock.settimeout(left)
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()


class _Response(http.client.HTTPResponse):
    """Status line, headers, chunk sizes and body come through `_InTime`; over TLS too."""

    fp: Lines
    _method: str | None

    def __init__(self, sock: socket.socket, *args: Any, **kwargs: Any) -> None:
        super().__init__(sock, *args, **kwargs)
        self.fp = Lines(_InTime(self.fp.detach(), sock))

    def begin(self) -> None:
        """http.client's, over headers that are held to the letter. A length or coding that is none is left for who
        reads the body."""
        if self.headers is not None:
            return
        version, self.status, reason = self._read_status()
        if not version.startswith("HTTP/1."):
            raise http.client.UnknownProtocol(version)
        self.version, self.code, self.reason = (
            10 if version == "HTTP/1.0" else 11,
            self.status,
            reason.strip(),
        )
        self.headers = self.msg = headers_of(self.fp)
        self.chunked = self.headers.get("transfer-encoding", "").lower() == "chunked"
        self.chunk_left = None
        self.length = self._length()
        self.will_close = self._check_close() or (not self.chunked and self.length is None)

    def _length(self) -> int | None:
        if self.status in NO_BODY or self._method == "HEAD":
            return 0
        length = self.headers.get("content-length", "")
        return int(length) if not self.chunked and LENGTH(length) else None

    def _read_status(self) -> tuple[str, int, str]:
        """http.client's, of the response itself: interim ones (RFC 9110, 15.2) are stepped over. After 101 HTTP is
        over."""
        while True:
            try:
                found: tuple[str, int, str] = super()._read_status()  # type: ignore[misc]
            except CutShort as cut:
                if b"HTTP/".startswith(cut.begun):
                    raise
                raise http.client.BadStatusLine("") from None
            if found[1] >= 200 or found[1] == http.HTTPStatus.SWITCHING_PROTOCOLS:
                return found
            headers_of(self.fp)

    def _get_chunk_left(self) -> int | None:
        """http.client's: the bytes left of a chunk, None behind the last. It takes any two bytes for a chunk's end;
        then sizes that count characters, not bytes, make a shorter page."""
        if self.chunk_left == 0:
            if self._line(2) not in BLANK:
                raise BadChunk
            self.chunk_left = None
        return super()._get_chunk_left()  # type: ignore[misc,no-any-return]

    def _read_next_chunk_size(self) -> int:
        """http.client's, which also takes what Python alone calls a number."""
        size = CHUNK_SIZE(self._line(MOST_LINE))
        if not size:
            raise BadChunk
        return int(size[1], 16)

    def _line(self, most: int) -> bytes:
        """The end of a chunk, or the size of one."""
        try:
            line = self.fp.readline(most)
        except CutShort as cut:
            if CHUNK_BEGUN(cut.begun):
                raise
            raise BadChunk from None
        if not line:
            raise CutShort
        return line


class _Connection:
    """Mixed into urllib3's connections: both schemes make their socket here, before TLS."""

    response_class = _Response  # http.client's own hook; urllib3 wraps what it makes
    proxy: Any  # urllib3's: the proxy in between, or None
    timeout: Any  # of connecting, in seconds; None: a hook of a session's sends something of its own
    port: Any
    host: Any
    _dns_host: Any
    socket_options: Any

    def _new_conn(self) -> socket.socket:
        free = (
            asked.private or self.proxy is not None
        )  # a proxy may be anywhere, and says nothing of the target
        timeout = min(self.timeout or LONGEST, max(0.0, asked.until - time.monotonic()))
        try:
            sock = dial(self._dns_host, self.port, timeout, self.socket_options or (), private=free)
        except socket.gaierror as error:
            raise NameResolutionError(self.host, self, error) from error  # type: ignore[arg-type]
        except TimeoutError as error:
            raise ConnectTimeoutError(self, "no connection in time") from error
        except UnicodeError as error:
            raise LocationParseError("a name that cannot be resolved") from error
        except OSError as error:
            raise NewConnectionError(self, str(error)) from error  # type: ignore[arg-type]
        asked.connected = time.monotonic()
        return sock


class _HTTP(_Connection, HTTPConnection):  # type: ignore[misc]
    pass


class _HTTPS(_Connection, HTTPSConnection):  # type: ignore[misc]
    pass


class _AsAsked:
    """Mixed into urllib3's pools: it would spell escapes its own way, and the page's key is its URL to the letter."""

    def _make_request(self, conn: Any, method: str, url: str, **more: Any) -> Any:
        target = asked.target
        if target and url[:1] != "/":  # a proxy gets the whole URL
            target = "/".join(url.split("/", 3)[:3]) + target
        return super()._make_request(conn, method, target or url, **more)  # type: ignore[misc]


class _HTTPPool(_AsAsked, HTTPConnectionPool):  # type: ignore[misc]
    ConnectionCls = _HTTP


class _HTTPSPool(_AsAsked, HTTPSConnectionPool):  # type: ignore[misc]
    ConnectionCls = _HTTPS


POOLS = {"http": _HTTPPool, "https": _HTTPSPool}


class Adapter(HTTPAdapter):
    """requests' adapter over our connections, with and without a proxy."""

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        super().init_poolmanager(*args, **kwargs)
        self.poolmanager.pool_classes_by_scheme = POOLS

    def request_url(self, request: requests.PreparedRequest, proxies: Any) -> str:
        """requests' verb, without its two looks at the URL where that is what is sent anyway."""
        return asked.target if asked.target and not proxies else super().request_url(request, proxies)

    def proxy_manager_for(self, proxy: str, **kwargs: Any) -> Any:
        """requests' verb."""
        manager = super().proxy_manager_for(proxy, **kwargs)
        manager.pool_classes_by_scheme = POOLS
        return manager


class Bare(Adapter):
    """For who reads status, headers and body alone: no cookies and no encoding are looked for."""

    def build_response(self, req: requests.PreparedRequest, resp: Any) -> requests.Response:
        """requests' verb."""
        made = requests.Response()
        made.status_code, made.request, made.raw = resp.status, req, resp
        made.headers.update(resp.headers.itermerged())
        return made
