"""A connection to one of the addresses that a name has: what names resolve to is not trusted."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator, Sequence
from typing import Any

from limpet_store.addresses import is_public

Sockaddr = tuple[Any, ...]
Found = tuple[int, int, int, str, Sockaddr]  # as getaddrinfo gives it


class PrivatePeer(Exception):
    """The peer is on this machine or a private network, and the site does not allow that."""


def dial(host: str, port: int, timeout: float, options: Sequence[Any], *, private: bool) -> socket.socket:
    """A connection to one of the addresses that the name has, tried in their order within `timeout` seconds for all.

    Without `private` those that are not public are left out, and the peer of the connection is looked at again. Raises
    PrivatePeer when none is left, and OSError. How long the resolver takes is not bound.
    """
    found: list[Found] = socket.getaddrinfo(host.strip("[]"), port, socket.AF_UNSPEC, socket.SOCK_STREAM)  # type: ignore[assignment]
    usable = found if private else [each for each in found if is_public(str(each[4][0]))]
    if found and not usable:
        raise PrivatePeer(str(found[0][4][0]))
    failed: OSError = TimeoutError() if found else OSError("the name has no address")
    for each, left in zip(usable, _left(timeout), strict=False):
        try:
            return _connected(each, left, options, private=private)
        except OSError as error:
            failed = error
    raise failed


def _left(timeout: float) -> Iterator[float]:
    """The seconds that are left for each try; ends when none are."""
    until = time.monotonic() + timeout
    while (left := until - time.monotonic()) > 0:
        yield left


def _connected(to: Found, timeout: float, options: Sequence[Any], *, private: bool) -> socket.socket:
    family, kind, protocol, _, address = to
    sock = socket.socket(family, kind, protocol)
    try:
        for option in options:
            sock.setsockopt(*option)
        sock.settimeout(timeout)
        sock.connect(address)
        peer = sock.getpeername()
        if not private and not is_public(str(peer[0])):
            raise PrivatePeer(str(peer[0]))
    except BaseException:
        sock.close()
        raise
    return sock
