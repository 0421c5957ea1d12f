"""What went wrong on the way to a page, in words for people and without its URL, which may carry secrets."""

from __future__ import annotations

import re
import zlib

import requests

from limpet_consumers.connections import PrivatePeer
from limpet_consumers.http import FetchFailed

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
    "SSLCertVerificationError": "the certificate is not trusted: LIMPET_CA_BUNDLE names the authorities to trust",
}
DROPPED = ("connection closed without an answer", "connection reset")
PROXY_FAILED = (requests.exceptions.ProxyError, requests.exceptions.ConnectTimeout)


def reason(error: BaseException) -> str:
    """A short reason: the innermost cause that has a plain name."""
    found = f"{type(error).__name__}"
    seen: set[int] = set()
    inner: BaseException | None = error
    while inner is not None and id(inner) not in seen:
        seen.add(id(inner))
        found = PLAIN.get(type(inner).__name__, found)
        if told := re.fullmatch(r"Tunnel connection failed: (\d{3}.{0,40})", str(inner)):
            found = told[1]
        given = getattr(inner, "reason", None)
        nested = (
            given
            if isinstance(given, BaseException)
            else next((arg for arg in inner.args if isinstance(arg, BaseException)), None)
        )
        inner = nested or inner.__cause__ or inner.__context__
    return found


def failure(error: BaseException, *, late: bool = False, proxy: str | None = None) -> FetchFailed:
    """The failure that an exception from below means. `late`: the deadline is over; `proxy`: who named the one in
    between, if there is one."""
    if isinstance(error, FetchFailed):
        return error
    if isinstance(error, PrivatePeer):
        return FetchFailed(f"peer {error} is private: allow_private=True lets it", host=False, final=True)
    if isinstance(error, zlib.error):
        return FetchFailed(f"compressed body is damaged: {error}")
    if late:
        return FetchFailed("slower than the total time-out")
    if type(error) is ValueError:
        return FetchFailed("a header or the URL holds what cannot be sent", host=False)
    if proxy and isinstance(error, PROXY_FAILED):
        return FetchFailed(f"no connection through the proxy of {proxy}: {reason(error)}")
    return FetchFailed(reason(error))
