"""The HTTP port: one protocol, so that another transport can take the place of ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from limpet_store import failures


@dataclass(frozen=True, slots=True)
class Request:
    """One request. `private` says whether the peer may be on this machine or a private network.

    `most`: bytes of the decoded body to read; what follows is left unread and is no failure. Without it the
    transport's own limit holds, and a larger body is a failure.
    """

    url: str
    method: str = "GET"
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    private: bool = False
    most: int | None = None


@dataclass(frozen=True, slots=True)
class Response:
    """A response that arrived whole. `headers` have lower-case names; `body` is decoded from its encoding.

    `wait` is how long, in seconds, the request waited for others rather than computed. `connect` is the time until the
    connection stood (0 for a kept one), TLS left out, and `first` until the headers had come, both from the beginning;
    for people, and 0 where a transport does not say. `set_cookies` are the values of its Set-Cookie headers: of a page
    that is redirected within its lease they are sent along.
    """

    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes
    wait: float = 0.0
    connect: float = 0.0
    first: float = 0.0
    set_cookies: Sequence[str] = ()


class FetchFailed(Exception):
    """No whole response. `host` says whether the host may be to blame (time-out, connection, cut body)."""

    def __init__(
        self, reason: str, *, host: bool = True, final: bool = False, kind: str = failures.FAILED
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.kind = kind  # one of `failures`
        self.asked_at: int | None = None  # ms, of the last request that a page's redirects led to
        self.host = host
        self.final = final  # trying again would change nothing


class Http(Protocol):
    """Fetches one page, or raises FetchFailed. Follows no redirect.

    Once it is connected it ends within `deadline` seconds of its call, however slowly the peer sends.
    """

    def fetch(self, request: Request, deadline: float) -> Response: ...


class LogsIn(Http, Protocol):
    """One that a login can be done on: what `login` gets is the transport's own affair."""

    def log_in(self, login: Callable[[Any], object], deadline: float) -> bool:
        """Let `login` work within `deadline` seconds. Whether it returned anything but False; raises what it raises."""
