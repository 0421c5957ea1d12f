"""Cookies that go from one hop of a page to the next, and end with its lease."""

from __future__ import annotations

from email.message import Message
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any

from requests.cookies import MockRequest
from requests.models import PreparedRequest

from limpet_consumers.http import Request, Response

MOST = 50  # Set-Cookie headers of one response that are looked at


class Cookies:
    """The cookies of one page's requests, by the rules of a browser: host, path, `Secure`, and an end in the past."""

    def __init__(self, first: Request) -> None:
        """What the first request sent itself, as a header, goes on with each."""
        self._jar = CookieJar(DefaultCookiePolicy(strict_ns_domain=DefaultCookiePolicy.DomainStrictNonDomain))
        self._own = next((value for name, value in first.headers.items() if name.lower() == "cookie"), "")

    def keep(self, url: str, response: Response) -> None:
        """Take what a response to this URL sets."""
        if response.set_cookies:
            self._jar.extract_cookies(_Said(response.set_cookies[:MOST]), _asked(url))  # type: ignore[arg-type]

    def for_(self, request: Request) -> str:
        """The Cookie header of a request, "" for none. A cookie that was set comes before one of the page's own."""
        asked = _asked(request.url)
        self._jar.add_cookie_header(asked)  # type: ignore[arg-type]
        said = str(asked.get_new_headers().get("Cookie", ""))  # type: ignore[no-untyped-call]
        names = {pair.partition("=")[0].strip() for pair in said.split(";")}
        own = [pair.strip() for pair in self._own.split(";") if pair.partition("=")[0].strip() not in names]
        return "; ".join(filter(None, [said, *own]))


class _Said:
    """What http.cookiejar reads of a response."""

    def __init__(self, values: Any) -> None:
        self._headers = Message()
        for value in values:
            self._headers["Set-Cookie"] = value

    def info(self) -> Message:
        return self._headers


def _asked(url: str) -> MockRequest:
    prepared = PreparedRequest()
    prepared.url = url
    prepared.headers = {}  # type: ignore[assignment]
    return MockRequest(prepared)
