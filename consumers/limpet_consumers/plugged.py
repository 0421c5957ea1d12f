"""A transport that is plugged in: a browser, another HTTP library, a service. What it gives is checked, and it holds up
nobody: it works in a thread apart, which is given up when it does not come back in time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import replace
from queue import SimpleQueue
from typing import Any, TypeVar

from limpet_consumers.dialing import PrivatePeer
from limpet_consumers.http import FetchFailed, Http, Request, Response
from limpet_consumers.reasons import failure
from limpet_consumers.transport import refuse_private
from limpet_consumers.whole import too_large
from limpet_store import failures
from limpet_store.secret import hidden

T = TypeVar("T")
GRACE = 5.0  # seconds that it may take beyond the deadline
CLOSING = 10.0  # seconds that its close() may take
MOST_WORDS = 500  # characters of a foreign exception's text


class Plugged:
    """The Http port over what the site's factory makes.

    It is made when it is first needed, in the thread that will use it: each thread that fetches has a companion, and
    with `tune(threads=1)` there is one. When a call does not come back, companion and transport are given up, and the
    next call makes new ones.
    """

    def __init__(self, factory: Callable[[], Any], *, max_body: int, grace: float = GRACE) -> None:
        self._factory = factory
        self._max_body = max_body
        self._grace = grace
        self._local = threading.local()
        self._making = threading.Lock()
        self._made: Any = None

    def fetch(self, request: Request, deadline: float) -> Response:
        """See the protocol. What the transport raises is a failure with its text; all of its time counts as waiting."""
        try:
            if not request.private:
                refuse_private(request.url)
        except PrivatePeer as error:
            raise failure(error) from None
        began = time.monotonic()
        given = self._apart(lambda: self._transport().fetch(request, deadline), deadline)
        return replace(_checked(given, request, self._max_body), wait=time.monotonic() - began)

    def log_in(self, login: Callable[[Any], object], deadline: float) -> bool:
        """`login` gets the transport itself."""
        return self._apart(lambda: login(self._transport()), deadline) is not False

    def close(self) -> None:
        """Close the transport, if it can be closed and was ever made."""
        close = getattr(self._made, "close", None)
        if close is None:
            return
        try:
            self._apart(close, CLOSING)
        except FetchFailed:
            pass  # it goes with its process

    def _transport(self) -> Http:
        with self._making:
            if self._made is None:
                self._made = self._factory()
            made: Http = self._made
            return made

    def _apart(self, call: Callable[[], T], seconds: float) -> T:
        """Run it in this thread's companion."""
        companion: _Companion = getattr(self._local, "companion", None) or _Companion()
        self._local.companion = companion
        future = companion.start(call)
        try:
            return future.result(seconds + self._grace)
        except FetchFailed:
            raise
        except TimeoutError as error:
            if future.done():
                raise _failed(error) from None
            self._local.companion, self._made = None, None
            raise FetchFailed(
                "slower than the total time-out: the transport does not come back", kind=failures.TIME_OUT
            ) from None
        except (Exception, SystemExit) as error:
            if isinstance(error, MemoryError):
                raise
            raise _failed(error) from None


class _Companion:
    """A thread that does what another one asks for; it ends with its process."""

    def __init__(self) -> None:
        self._calls: SimpleQueue[tuple[Callable[[], Any], Future[Any]]] = SimpleQueue()
        threading.Thread(target=self._run, name="limpet-transport", daemon=True).start()

    def start(self, call: Callable[[], T]) -> Future[T]:
        future: Future[T] = Future()
        self._calls.put((call, future))
        return future

    def _run(self) -> None:
        while True:
            call, future = self._calls.get()
            try:
                future.set_result(call())
            except BaseException as error:  # the asker's to judge
                future.set_exception(error)


def _failed(error: BaseException) -> FetchFailed:
    """What came between is the host's where the system says so; everything else may be the page's."""
    text = hidden(f"transport: {type(error).__name__}: {error}")[:MOST_WORDS]
    return FetchFailed(text, host=isinstance(error, OSError), kind=failures.TRANSPORT)


def _checked(given: Any, request: Request, max_body: int) -> Response:
    """The response as ours would be. Raises FetchFailed for what is none."""
    if not isinstance(given, Response):
        raise _wrong(f"gave a {type(given).__name__}, not a limpet.Response")
    if type(given.status) is not int or not 200 <= given.status <= 599:
        raise _wrong(f"status {given.status!r} is none from 200 to 599")
    if not isinstance(given.body, bytes):
        raise _wrong(f"its body is {type(given.body).__name__}, not bytes")
    body = given.body if request.most is None else given.body[: request.most]
    if request.most is None and len(body) > max_body:
        raise too_large(max_body)
    if any(not isinstance(value, str) for value in given.set_cookies):
        raise _wrong("set_cookies are text")
    return Response(
        request.url, given.status, _headers(given.headers), body, set_cookies=tuple(given.set_cookies)
    )


def _headers(given: Any) -> Mapping[str, str]:
    if not isinstance(given, Mapping):
        raise _wrong(f"its headers are a {type(given).__name__}, not a dict")
    for name, value in given.items():
        if not isinstance(name, str) or not isinstance(value, str):
            raise _wrong(f"header {name!r}: names and values are text")
        if "\r" in value or "\n" in value or "\0" in value:
            raise _wrong(f"header {name!r} is more than a line")
    return {name.lower(): value for name, value in given.items()}


def _wrong(what: str) -> FetchFailed:
    return FetchFailed(f"transport: {what}", host=False, kind=failures.TRANSPORT)
