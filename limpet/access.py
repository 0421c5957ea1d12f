"""What a site file says of sessions, logins and transports, checked."""

from __future__ import annotations

import inspect
import re
import traceback
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Self

from limpet.page import Page
from limpet.settings import proxy_url
from limpet_consumers.asking import is_private_header
from limpet_consumers.headers import is_token, trouble
from limpet_consumers.runtime import Network
from limpet_store.errors import ExtractError, SiteError
from limpet_store.items import Fetched
from limpet_store.secret import Secret

SLICE = (
    600.0  # seconds of a slice where it begins with a login or the start of a transport; else half a minute
)
_WORDS = 500  # characters of a foreign exception's text
_COOKIE = re.compile(r"[!#-+\--:<-\[\]-~ ]*")  # RFC 6265, and blanks, which browsers send too


@dataclass(frozen=True, slots=True)
class Ways:
    """How requests go out."""

    headers: Mapping[str, str | Secret]
    cookies: Mapping[str, str | Secret]
    network: Network
    session: Callable[[], Any] | None
    transport: Callable[[], Any] | None

    @classmethod
    def of(
        cls, headers: Any, cookies: Any, proxy: Any, session: Any, transport: Any, problems: list[str]
    ) -> Self:
        """What was given, checked; what is wrong joins `problems`."""
        if transport is not None and (session or cookies or proxy):
            problems.append("transport: it sees to session, cookies and proxy itself; leave them out")
        return cls(
            MappingProxyType(_headers(headers or {}, problems)),
            MappingProxyType(_cookies(cookies or {}, problems)),
            Network(proxy=_proxy(proxy, problems)),
            _factory("session", session, problems),
            _factory("transport", transport, problems),
        )

    def check_homes(self, authorities: Collection[str]) -> None:
        """Raise SiteError when there is something for the site's own hosts alone, and it names none."""
        keys = [f"cookie {name!r}" for name in self.cookies]
        keys += [f"header {name!r}" for name, value in self.headers.items() if is_private_header(name, value)]
        if keys and not authorities:
            raise SiteError(
                f"Site: {', '.join(keys)}: sent to the hosts that the site names alone; add hosts=[...]"
            )


def _headers(given: Any, problems: list[str]) -> dict[str, str | Secret]:
    """Names and values of headers."""
    if not isinstance(given, Mapping):
        problems.append(f"headers: a dict, not a {type(given).__name__}")
        return {}
    problems += filter(None, (trouble(name, value) for name, value in given.items()))
    return dict(given)


def _cookies(given: Any, problems: list[str]) -> dict[str, str | Secret]:
    """Names and values of cookies."""
    if not isinstance(given, Mapping):
        problems.append(f"cookies: a dict, not a {type(given).__name__}")
        return {}
    for name, value in given.items():
        fits = isinstance(value, Secret) or (isinstance(value, str) and _COOKIE.fullmatch(value))
        if not is_token(name) or not fits:
            problems.append(f'cookie {name!r}: a name, and ASCII without " , ; \\ or secret(...)')
    return dict(given)


def _proxy(given: Any, problems: list[str]) -> str | Secret | None:
    """The URL of a proxy."""
    if given is None or isinstance(given, Secret):
        return given
    try:
        return proxy_url(given)
    except ValueError as error:
        problems.append(f"proxy: {error}")
        return None


def _factory(name: str, given: Any, problems: list[str]) -> Callable[[], Any] | None:
    """A function without arguments, or None."""
    if given is not None and (not callable(given) or inspect.iscoroutinefunction(given)):
        problems.append(f"{name}: a function that makes one, not {type(given).__name__}")
    found: Callable[[], Any] | None = given
    return found


def plain_function(decorator: str, given: Any, already: object) -> None:
    """Raise SiteError for what cannot be called, and for a second one."""
    if not inspect.isfunction(inspect.unwrap(given)) or inspect.iscoroutinefunction(given):
        raise SiteError(f"@site.{decorator}: a plain function")
    if already is not None:
        raise SiteError(f"a second @site.{decorator}: a site has one")


def asks(check: Callable[[Page], Any]) -> Callable[[Fetched], bool]:
    """The site's `logged_out` as the engine calls it. Raises ExtractError when it fails."""

    def logged_out(fetched: Fetched) -> bool:
        try:
            return bool(check(Page(fetched)))
        except MemoryError:
            raise
        except (Exception, SystemExit) as error:
            words = traceback.format_exception_only(error)[-1].strip()[:_WORDS]
            raise ExtractError(f"{check.__name__}: {words}") from error

    return logged_out
