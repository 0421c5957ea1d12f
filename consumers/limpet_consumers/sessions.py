"""Requests through a session: cookies are kept and sent, authentication and hooks work, a login may be done.

It is the plain transport but for the way out: `requests.Session.send` over our connections, with the same caps,
time-outs and looks at the peer. A session's state lives and dies with its worker process, whose threads share it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.cookiejar import DefaultCookiePolicy
from typing import Any

import requests
from requests.adapters import BaseAdapter, HTTPAdapter
from requests.cookies import RequestsCookieJar, get_cookie_header
from requests.models import PreparedRequest

from limpet_consumers.asking import may_be_private, over
from limpet_consumers.connections import Adapter, asked
from limpet_consumers.cookies import of_site
from limpet_consumers.headers import one_line
from limpet_consumers.http import FetchFailed, Request
from limpet_consumers.reasons import failure
from limpet_consumers.runtime import SiteRuntime
from limpet_consumers.transport import NOT_WHOLE, Transport, refuse_private
from limpet_store import failures
from limpet_store.canonical import admit
from limpet_store.errors import UsageError
from limpet_store.secret import hidden, revealed, stored

HOST_ONLY = DefaultCookiePolicy.DomainStrictNonDomain
CONNECTIONS = 64  # kept to a host; as many as threads


class LoginBroken(requests.ConnectionError):
    """No whole answer to a request of a login; the text says why."""


class SessionTransport(Transport):
    """The Http port over a `requests.Session`. Safe to use from several threads.

    The session is made when it is first needed, and anew for each login, which changes it alone: requests that are out
    meanwhile go on in the old one.
    """

    def __init__(self, site: SiteRuntime, **options: Any) -> None:
        super().__init__(network=site.network, **options)
        self._site = site
        self._ours = _Gate(self)
        self._making = threading.Lock()
        self._session: requests.Session | None = None

    def log_in(self, login: Callable[[Any], object], deadline: float) -> bool:
        """Let `login` work on a new session, for `deadline` seconds; the session is used from then on, unless it raises
        or returns False."""
        session = self._make()
        with _logging_in(deadline):
            if login(session) is False:
                return False
        self._session = session
        return True

    def close(self) -> None:
        """Close the session."""
        if self._session is not None:
            self._session.close()
        self._ours.close()

    def may_be_private(self, url: str) -> bool:
        """Whether the site file allows a private peer for this URL."""
        return may_be_private(self._site, url)

    def _current(self) -> requests.Session:
        session = self._session
        if session is None:
            with self._making:
                session = self._session = self._session or self._make()
        return session

    def _make(self) -> requests.Session:
        """A new session; nobody is asked for anything yet. Raises FetchFailed when the site's factory fails."""
        try:
            session = _made(self._site.session) if self._site.session else _plain()
            cookies = revealed({name: stored(value) for name, value in self._site.cookies.items()})
        except Exception as error:
            raise FetchFailed(
                hidden(f"no session: {type(error).__name__}: {error}"), kind=failures.TRANSPORT
            ) from None
        for prefix in ("http://", "https://"):
            if _is_usual(session.adapters.get(prefix)):
                session.mount(prefix, self._ours)
        session.trust_env = False
        _follow_in_logins_alone(session)
        for name, value in cookies.items():
            if not one_line(value) or ";" in value:
                raise FetchFailed(
                    f"cookie {name}: its secret is no value of a cookie", host=False, kind=failures.TRANSPORT
                )
            for cookie in of_site(name, value, self._site.authorities):
                session.cookies.set_cookie(cookie)
        return session

    def _goes_unseen(self, url: str) -> bool:
        return self.proxies is not None or not isinstance(self._current().get_adapter(url), _Gate)

    def _prepare(self, request: Request) -> PreparedRequest:
        """What the session adds goes to the hosts that the site file names; cookies go where they belong."""
        prepared, session = super()._prepare(request), self._current()
        prepared._cookies = RequestsCookieJar()  # type: ignore[attr-defined] # for hooks that send again
        prepared.hooks = {event: list(hooks) for event, hooks in session.hooks.items()}
        if cookie := get_cookie_header(session.cookies, prepared):  # type: ignore[no-untyped-call]
            prepared.headers["Cookie"] = cookie
        if admit(request.url).authority in self._site.authorities:
            extra = over(session.headers, prepared.headers)  # type: ignore[arg-type]
            for name in extra.keys() - prepared.headers.keys():
                prepared.headers[name] = extra[name]
            if session.auth:
                prepared.prepare_auth(session.auth, request.url)
        return prepared

    def _exchange(self, prepared: PreparedRequest, timeout: tuple[float, float]) -> requests.Response:
        session = self._current()
        return session.send(
            prepared, stream=True, timeout=timeout, allow_redirects=False, cert=session.cert,
            verify=self.verify if session.verify is True else session.verify,
            proxies=session.proxies or self.proxies or {},
        )  # fmt: skip


class _Gate(BaseAdapter):
    """Our connections below a session; those to private peers are apart. What a login sends is bound here, and read to
    its end, since nothing else of ours sees it."""

    def __init__(self, transport: SessionTransport) -> None:
        super().__init__()
        self._transport = transport
        self._adapters = {
            private: Adapter(pool_connections=CONNECTIONS, pool_maxsize=CONNECTIONS, max_retries=0)
            for private in (False, True)
        }

    def send(self, request: PreparedRequest, *args: Any, **kwargs: Any) -> requests.Response:
        """requests' verb."""
        if asked.logging_in:
            return self._send_of_login(request, **kwargs)
        with _aside(self._transport, str(request.url)):
            return self._adapters[asked.private].send(request, *args, **kwargs)

    def _send_of_login(self, request: PreparedRequest, **kwargs: Any) -> requests.Response:
        transport, began = self._transport, time.monotonic()
        url = str(request.url)
        asked.target, asked.private = "", transport.may_be_private(url)
        proxies = kwargs.get("proxies") or transport.proxies
        verify = transport.verify if kwargs.get("verify", True) is True else kwargs["verify"]
        left = asked.until - began
        try:
            if left <= 0:
                raise TimeoutError
            if proxies and not asked.private:
                refuse_private(url)
            timeout = (min(transport.timeout[0], left), min(transport.timeout[1], left))
            response = self._adapters[asked.private].send(
                request, stream=True, timeout=timeout, verify=verify, cert=kwargs.get("cert"), proxies=proxies
            )
            _, response._content = transport.whole.read(response)
            response._content_consumed = True  # type: ignore[attr-defined]
        except NOT_WHOLE as error:
            late = time.monotonic() >= asked.until
            told = failure(error, late=late, proxy=transport.proxy_named_by if proxies else None)
            raise LoginBroken(told.reason, request=request) from None
        return response

    def close(self) -> None:
        """requests' verb."""
        for adapter in self._adapters.values():
            adapter.close()


@contextmanager
def _aside(transport: SessionTransport, url: str) -> Iterator[None]:
    """What a hook or an authentication asks for on the way to a page is sent as it is, and its peer looked at."""
    before = asked.target, asked.private
    if url != asked.url:
        asked.target, asked.private = "", transport.may_be_private(url)
    try:
        yield
    finally:
        asked.target, asked.private = before


@contextmanager
def _logging_in(deadline: float) -> Iterator[None]:
    """What this thread sends in here belongs to a login."""
    asked.until, asked.logging_in = time.monotonic() + deadline, True
    try:
        yield
    finally:
        asked.logging_in = False


def _plain() -> requests.Session:
    """A session without headers of its own, whose cookies of one host go to that host alone, not below it."""
    session = requests.Session()
    session.headers.clear()
    session.cookies.set_policy(DefaultCookiePolicy(strict_ns_domain=HOST_ONLY))
    return session


def _made(factory: Callable[[], requests.Session]) -> requests.Session:
    session = factory()
    if not isinstance(session, requests.Session):
        raise UsageError(f"session= gave a {type(session).__name__}, not a requests.Session")
    for name, value in requests.utils.default_headers().items():
        if session.headers.get(name) == value:  # not the site's choice
            del session.headers[name]
    return session


def _is_usual(adapter: BaseAdapter | None) -> bool:
    """Whether it is the one that a session comes with, rather than one that was chosen."""
    usual = HTTPAdapter()
    return type(adapter) is HTTPAdapter and all(
        repr(getattr(adapter, name)) == repr(getattr(usual, name)) for name in HTTPAdapter.__attrs__
    )


def _follow_in_logins_alone(session: requests.Session) -> None:
    """A page's redirect is an outcome; Session.send would read its body, without end, only to know where it leads."""
    target = session.get_redirect_target

    def where(response: requests.Response) -> str | None:
        return target(response) if asked.logging_in else None

    session.get_redirect_target = where  # type: ignore[method-assign,assignment]
