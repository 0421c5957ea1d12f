"""What went wrong on the way to a page: its kind, and words for people, without its URL, which may carry secrets."""

from __future__ import annotations

import os
import re
import ssl
import zlib
from collections.abc import Iterator

import requests

from limpet_consumers.dialing import PrivatePeer
from limpet_consumers.http import FetchFailed
from limpet_store.failures import (
    CONNECTION,
    CUT_SHORT,
    DAMAGED,
    FAILED,
    HEADERS,
    PRIVATE_ADDRESS,
    TIME_OUT,
    TRANSPORT,
)

# What a person says of what urllib3, http.client and the system call it.
PLAIN = {
    "ConnectionRefusedError": ("connection refused", CONNECTION),
    "NameResolutionError": ("no such host", CONNECTION),
    "gaierror": ("no such host", CONNECTION),
    "LocationParseError": ("a name that cannot be resolved", CONNECTION),
    "ConnectTimeoutError": ("no connection in time", TIME_OUT),
    "ReadTimeoutError": ("no answer in time", TIME_OUT),
    "TimeoutError": ("no answer in time", TIME_OUT),
    "RemoteDisconnected": ("connection closed without an answer", CONNECTION),
    "ConnectionResetError": ("connection reset", CONNECTION),
    "BrokenPipeError": ("connection reset", CONNECTION),
    "CutShort": ("cut short inside a line or its headers", CUT_SHORT),
    "IncompleteRead": ("body cut short", CUT_SHORT),
    "InvalidChunkLength": ("body cut short", CUT_SHORT),
    "BadChunk": ("chunks that do not fit their sizes", DAMAGED),
    "InvalidHeader": ("headers that contradict each other", DAMAGED),
    "BadStatusLine": ("not an HTTP response", DAMAGED),
    "UnknownProtocol": ("not an HTTP response", DAMAGED),
    "HeadersTooLarge": ("more headers than fit", HEADERS),
    "LineTooLong": ("a header line that is too long", HEADERS),
    "SSLCertVerificationError": (
        "the certificate is not trusted: LIMPET_CA_BUNDLE names the authorities to trust",
        CONNECTION,
    ),
}
DROPPED = ("connection closed without an answer", "connection reset")
FINAL = frozenset({HEADERS, PRIVATE_ADDRESS})  # trying again would change nothing
PROXY_FAILED = (requests.exceptions.ProxyError, requests.exceptions.ConnectTimeout)


def reason(error: BaseException) -> str:
    """A short reason: the innermost cause that has a plain name."""
    return _named(error)[0]


def _named(error: BaseException) -> tuple[str, str]:
    """The reason, and its kind."""
    found = (type(error).__name__, FAILED)
    for inner in _chain(error):
        found = PLAIN.get(type(inner).__name__) or _of_system(inner) or found
        if told := re.fullmatch(r"Tunnel connection failed: (\d{3}.{0,40})", str(inner)):
            found = (told[1], CONNECTION)
    return found


def _of_system(error: BaseException) -> tuple[str, str] | None:
    """What the system or its TLS calls the trouble; they do not know the URL."""
    if isinstance(error, ssl.SSLError):
        return f"TLS failed: {(error.reason or 'no reason given').replace('_', ' ').lower()}", CONNECTION
    if isinstance(error, OSError) and error.errno:
        return os.strerror(error.errno).lower(), CONNECTION
    return None


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error and its causes, the innermost last."""
    seen: set[int] = set()
    inner: BaseException | None = error
    while inner is not None and id(inner) not in seen:
        seen.add(id(inner))
        yield inner
        given = getattr(inner, "reason", None)
        nested = (
            given
            if isinstance(given, BaseException)
            else next((arg for arg in inner.args if isinstance(arg, BaseException)), None)
        )
        inner = nested or inner.__cause__ or (None if inner.__suppress_context__ else inner.__context__)


def failure(error: BaseException, *, late: bool = False, proxy: str | None = None) -> FetchFailed:
    """The failure that an exception from below means. `late`: the deadline is over; `proxy`: who named the one in
    between, if there is one."""
    if isinstance(error, FetchFailed):
        return error
    if isinstance(error, PrivatePeer):
        why = f"peer {error} is private: allow_private=True lets it"
        return FetchFailed(why, host=False, final=True, kind=PRIVATE_ADDRESS)
    if isinstance(error, zlib.error):
        return FetchFailed(f"compressed body is damaged: {error}", kind=DAMAGED)
    if late:
        return FetchFailed("slower than the total time-out", kind=TIME_OUT)
    if type(error) is ValueError:
        return FetchFailed("a header or the URL holds what cannot be sent", host=False, kind=TRANSPORT)
    words, kind = _named(error)
    if proxy and isinstance(error, PROXY_FAILED):
        return FetchFailed(f"no connection through the proxy of {proxy}: {words}", kind=CONNECTION)
    return FetchFailed(words, kind=kind, final=kind in FINAL)
