"""The connections below our transport: the peer is checked before anything is sent, and reading has an end."""

from __future__ import annotations

import http.client
import io
import ipaddress
import socket
import threading
import time
from typing import TYPE_CHECKING, Any

from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

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


class Asked(threading.local):
    """What this thread's request is bound to, for the connection and the response that are made for it."""

    until = float("inf")  # monotonic seconds
    private = False
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

    def __init__(self, sock: socket.socket, *args: Any, **kwargs: Any) -> None:
        super().__init__(sock, *args, **kwargs)
        self.fp = io.BufferedReader(_InTime(self.fp.detach(), sock))


class _Connection:
    """Mixed into urllib3's connections: both schemes make their socket here, before TLS."""

    response_class = _Response  # http.client's own hook; urllib3 wraps what it makes
    proxy: Any  # urllib3's: the proxy in between, or None

    def _new_conn(self) -> socket.socket:
        sock: socket.socket = super()._new_conn()  # type: ignore[misc]
        asked.connected = time.monotonic()
        if asked.private or self.proxy is not None:  # a proxy may be anywhere, and says nothing of the target
            return sock
        peer = sock.getpeername()
        if isinstance(peer, tuple) and not is_public(str(peer[0])):
            sock.close()
            raise PrivatePeer(str(peer[0]))
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

    def proxy_manager_for(self, proxy: str, **kwargs: Any) -> Any:
        """requests' verb."""
        manager = super().proxy_manager_for(proxy, **kwargs)
        manager.pool_classes_by_scheme = POOLS
        return manager
