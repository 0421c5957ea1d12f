"""What a site is: where it starts, which handler reads which page, how politely it is visited."""

from __future__ import annotations

import dataclasses
import difflib
import inspect
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

import ada_url

from limpet import access, code, extract, seeding
from limpet.page import Page
from limpet.patterns import Pattern
from limpet.seeding import Seeds
from limpet.shapes import Shape, Shapes
from limpet_consumers.headers import one_line
from limpet_consumers.http import Http
from limpet_consumers.runtime import Account, Knobs, Network
from limpet_store.canonical import admit
from limpet_store.errors import ExtractError, SiteError
from limpet_store.items import Extracted, Fetched, Link
from limpet_store.secret import Secret

if TYPE_CHECKING:
    import requests

VERSION = "0.1.0"

Text = str | Secret
C = TypeVar("C", bound=type)
H = TypeVar("H", bound=Callable[[Page], Any])
L = TypeVar("L", bound=Callable[[Any], Any])
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")
_KNOBS = {field.name: field.default for field in dataclasses.fields(Knobs)}


class Site:
    """A site to crawl: `site = Site("shop", seeds=["https://shop.example/"])` in a file of its own.

    `name` names the crawl and its data. `hosts` (`name` or `name:port`) are in scope besides the seeds' own.
    `seeds` may be a function without arguments, a generator function too. It is called each time a crawl starts, and
    what it gives is stored as it comes, so it may give millions; known pages are left alone. It must come to an end.
    `sitemaps` are URLs of sitemaps, or True for those that the robots.txt of each host in scope names (/sitemap.xml
    if it names none). Of what they list the pages in scope that a handler reads are visited. With `lastmod=True` a
    later round leaves out those whose `lastmod` is what it was when they were last read; many sites get theirs wrong.
    `delay` is the seconds from one request to the next on a host: by default 1 s, and none on loopback and private
    hosts. `max_in_flight` is the requests at a time on a host that has a delay.
    `allow_private` permits loopback and private addresses. `headers` go out with every request, to every host in
    scope; a value may be `"Bearer " + secret("API_KEY")`. `cookies` go to the hosts of the seeds and `hosts` alone.
    `proxy` is the URL of an HTTP proxy, before LIMPET_PROXY. `session` makes the `requests.Session` that requests go
    through. `transport` makes an object with `fetch(request, deadline) -> Response` that takes the place of requests;
    it is used by one thread unless `tune(threads=)` says more. Both are called once a worker. Values of `headers`
    and `cookies`, and `proxy`, may be `secret("NAME")`.
    `robots=False` leaves robots.txt unread. `user_agent` replaces the honest default, to which `contact` (a
    URL or an address) is added, so that the site's owner can reach you.

    Raises SiteError, one line with everything that is wrong.
    """

    def __init__(
        self,
        name: str,
        seeds: Seeds | Callable[[], Seeds] = (),
        *,
        sitemaps: bool | Iterable[str] = (),
        lastmod: bool = False,
        hosts: Iterable[str] | None = None,
        delay: float | None = None,
        max_in_flight: int = 1,
        allow_private: bool = False,
        headers: Mapping[str, Text] | None = None,
        cookies: Mapping[str, Text] | None = None,
        proxy: Text | None = None,
        session: Callable[[], requests.Session] | None = None,
        transport: Callable[[], Http] | None = None,
        robots: bool = True,
        user_agent: str | None = None,
        contact: str | None = None,
    ) -> None:
        problems: list[str] = []
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            problems.append(f"name {name!r}: small letters, digits, . _ - and at most 63 of them")
        self.name = name
        self._function = seeds if callable(seeds) else None
        if self._function:
            seeding.check(self._function, problems)
        given = () if self._function else _listed("seeds", seeds, problems)
        entries = tuple(seeding.seed(each, problems) for each in given)
        self.seeds = tuple(entry.url for entry in entries)  # of a function none: it has not been called
        self.lastmod = lastmod
        self.sitemaps: bool | tuple[str, ...] = True
        if sitemaps is not True:
            maps = tuple(
                seeding.sitemap(each, problems) for each in _listed("sitemaps", sitemaps or (), problems)
            )
            self.sitemaps = tuple(link.url for link in maps)
            entries += maps
        self._entries = entries
        self.hosts = frozenset(_authority(host, problems) for host in _listed("hosts", hosts or (), problems))
        if not entries and not self._function and not self.hosts and not problems:
            problems.append("neither seeds nor hosts: there is nothing in scope")
        if sitemaps is True and not (robots and (entries or self._function)):
            problems.append(
                "sitemaps=True asks the robots.txt of the seeds' hosts: without, name the sitemaps"
            )
        if lastmod is True and not self.sitemaps:
            problems.append("lastmod=True without sitemaps")
        self.delay = None if delay is None else _number("delay", delay, problems)
        self.max_in_flight = max_in_flight
        if type(max_in_flight) is not int or max_in_flight < 1:
            problems.append(f"max_in_flight {max_in_flight!r}: a whole number, at least 1")
        for flag, value in (("allow_private", allow_private), ("robots", robots), ("lastmod", lastmod)):
            if not isinstance(value, bool):
                problems.append(f"{flag} {value!r}: True or False")
        self.allow_private = allow_private
        self.robots = robots
        self.headers: Mapping[str, Text] = MappingProxyType(access.headers(headers or {}, problems))
        self.cookies: Mapping[str, Text] = MappingProxyType(access.cookies(cookies or {}, problems))
        self.network = Network(proxy=access.proxy(proxy, problems))
        self.session = access.factory("session", session, problems)
        self.transport = access.factory("transport", transport, problems)
        if transport is not None and (session or cookies or proxy):
            problems.append("transport: it sees to session, cookies and proxy itself; leave them out")
        self._honest = user_agent is None and not contact
        self.user_agent = _honest_agent(contact) if user_agent is None else user_agent
        if not one_line(self.user_agent) or not self.user_agent.strip():
            problems.append(f"user_agent and contact: one line of ASCII, not {self.user_agent!r}")
        if problems:
            raise SiteError("Site: " + "; ".join(problems))
        self._authorities = self.hosts | {admit(entry.url).authority for entry in entries}
        self.knobs = Knobs(slice=access.SLICE, threads=1) if transport else Knobs()
        self._login: Callable[[Any], Any] | None = None
        self._logged_out: Callable[[Page], Any] | None = None
        self._handlers: dict[str, Callable[[Page], Any]] = {}
        self._patterns: list[tuple[Pattern, str]] = []
        self._codes: dict[str, str] = {}
        self.shapes = Shapes()

    def __repr__(self) -> str:
        return f"<Site {self.name}>"

    def page(self, pattern: str) -> Callable[[H], H]:
        """Register a handler for the pages whose URL fits `pattern`; of several the first one wins.

        `limpet.patterns` says what a pattern is. The handler's name is its function's. Stack the decorator
        for several patterns. Raises SiteError for a malformed pattern and for a second handler of a name.
        """
        compiled = Pattern(pattern)

        def register(handler: H) -> H:
            name = getattr(handler, "__name__", "")
            if not inspect.isfunction(inspect.unwrap(handler)) or inspect.iscoroutinefunction(handler):
                raise SiteError(f"@site.page({pattern!r}): a handler is a plain function")
            if self._handlers.setdefault(name, handler) is not handler:
                raise SiteError(f"a second handler {name!r}: each needs a name of its own")
            self._patterns.append((compiled, name))
            self._codes.pop(name, None)
            return handler

        return register

    def record(
        self,
        type: str,
        *,
        key: str | Sequence[str] | None = None,
        part: str = "",
        volatile: Iterable[str] = (),
        schema: int = 1,
        requires: Iterable[str] = (),
    ) -> Callable[[C], C]:
        """Describe the records of a type by a dataclass, a TypedDict or a pydantic model (if that is installed).

        A handler yields an instance of the class, or `Record(type, data={...})`; either is checked field by field, and
        one that does not fit is rejected: its previous version stands, the field, its value and the reason are kept,
        and the next extraction heals it. Unknown fields do not fit. Values are stored as JSON has them: a date or a
        Decimal as text.

        `key` names the field that identifies a record, or several for a variant. `volatile` names fields that are
        stored and make no version by themselves. `schema` is the number of the shape: raise it when you change the
        class, and messages of records that change with it say "schema" as their reason. `part` describes one part of
        the record; without a description of its own a part is checked against that of the whole, and may lack fields.
        `requires` names the parts without which a record is not shown to anybody yet.

        Raises SiteError.
        """
        problems = _record_problems(type, part, schema)
        if problems:
            raise SiteError(f"@site.record: {'; '.join(problems)}")

        def register(cls: C) -> C:
            names = key if key is None or isinstance(key, str) else tuple(key)
            self.shapes.add(Shape(type, part, cls, names, _sorted(volatile), schema, _sorted(requires)))
            self._codes.clear()
            return cls

        return register

    def login(self, login: L) -> L:
        """Register what logs in: `def login(session)`, with a new `requests.Session` (of a site with a transport, that
        one). It is called in each worker before its first page, and again when a page shows that it is logged out; in
        one worker at a time. It has failed when it raises or returns False; the third failure in a row holds the host
        until the next `limpet crawl`. `secret("PASSWORD").reveal()` gives a password.
        """
        access.plain_function("login", login, self._login)
        self._login = login
        if self.knobs.slice == _KNOBS["slice"]:  # each slice begins with one
            self.knobs = dataclasses.replace(self.knobs, slice=access.SLICE)
        return login

    def logged_out(self, check: H) -> H:
        """Register what tells a page that wants a login: `def logged_out(page) -> bool`. It is asked before the status
        decides, redirects (`page.headers["location"]`), 401 and 403 included. Such a page is put back.
        """
        access.plain_function("logged_out", check, self._logged_out)
        self._logged_out = check
        return check

    @property
    def account(self) -> Account | None:
        """The login, and how a page shows that one is wanted; None for a site without."""
        if self._login is None and self._logged_out is None:
            return None
        return Account(self._login, access.asks(self._logged_out) if self._logged_out else None)

    def tune(self, **knobs: float) -> None:
        """Change engine settings (the fields of `Knobs`; seconds unless their name says otherwise)."""
        for name, value in knobs.items():
            if name not in _KNOBS:
                near = difflib.get_close_matches(name, _KNOBS, n=1, cutoff=0)
                raise SiteError(f"no knob {name!r}; did you mean {near[0]!r}?")
            _check_knob(name, value)
        self.knobs = dataclasses.replace(self.knobs, **knobs)  # type: ignore[arg-type]

    def reach(self, contact: str) -> None:
        """Add how to reach the operator to the default User-Agent, unless the site file says it already."""
        if self._honest:
            self.user_agent = _honest_agent(contact)

    @property
    def given(self) -> tuple[Link, ...]:
        """The entries that the site file spells out; none that a function gives."""
        return self._entries

    @property
    def entries(self) -> Iterable[Link]:
        """The pages and sitemaps that a crawl starts from; a function is called. Raises SiteError when it fails."""
        return chain(self._entries, seeding.called(self._function)) if self._function else self._entries

    def go_through(self, proxy: str | None, ca_bundle: str | None) -> None:
        """Use this machine's proxy, unless the site has its own, and the authorities that it trusts."""
        network = dataclasses.replace(self.network, ca_bundle=ca_bundle)
        if proxy and network.proxy is None:
            network = dataclasses.replace(network, proxy=proxy, named_by="LIMPET_PROXY")
        self.network = network

    @property
    def authorities(self) -> frozenset[str]:
        """Every authority that the site file names: of seeds and sitemaps, and `hosts`; none that a function gives."""
        return self._authorities

    def match(self, url: str) -> str | None:
        """The name of the handler whose pattern fits this canonical URL, or None."""
        for pattern, name in self._patterns:
            if pattern.params(url) is not None:
                return name
        return None

    def code(self, handler: str | None) -> str:
        """A hash of the handler's code (see `limpet.code`), "" for None or a name that is not there."""
        if handler is None or handler not in self._handlers:
            return ""
        if handler not in self._codes:
            self._codes[handler] = code.code_hash(self._handlers[handler], self.shapes)
        return self._codes[handler]

    def leads(self, handler: str | None) -> bool:
        """Whether the handler may give links (its attribute `leads`, or what its code names); False for None."""
        if handler is None or handler not in self._handlers:
            return False
        function = self._handlers[handler]
        return bool(getattr(function, "leads", None) or code.leads(function))

    def codes(self) -> Mapping[str, str]:
        """Handler name to code hash, for all handlers. Raises SiteError for a shape that cannot be used."""
        for shape in self.shapes:
            shape.check_names()
        return {name: self.code(name) for name in self._handlers}

    def extract(self, page: Fetched, view: Callable[[Fetched, Mapping[str, str]], Page] = Page) -> Extracted:
        """Run the page's handler and sort what it gives; nothing for a page without a handler.

        Raises ExtractError when the page cannot be read, the handler fails, or it gives anything but links
        and records. A record that cannot be stored is a rejection and costs nothing else.
        """
        if page.handler is None:
            return Extracted()
        handler = self._handlers.get(page.handler)
        if handler is None:
            raise ExtractError(f"{page.handler}: the site has no handler of this name any more")
        _, params = self.route(page.handler, page.url)
        seen = view(page, params)
        return extract.run(page.handler, handler, seen, self._handlers, self.knobs.max_links, self.shapes)

    def route(self, handler: str, url: str) -> tuple[str, Mapping[str, str]]:
        """The handler's first pattern that fits the URL, and what it names there; "" and nothing where none fits."""
        for pattern, name in self._patterns:
            if name == handler and (params := pattern.params(url)) is not None:
                return pattern.text, params
        return "", {}


def _sorted(names: Iterable[str]) -> tuple[str, ...]:
    if isinstance(names, str):
        raise SiteError(f"@site.record: {names!r} is to be a list of names")
    return tuple(sorted(set(names)))


def _record_problems(type_: Any, part: Any, schema: Any) -> list[str]:
    problems = []
    if not isinstance(type_, str) or not type_.strip():
        problems.append(f"type {type_!r}: a word")
    if not isinstance(part, str):
        problems.append(f"part {part!r}: a word")
    if isinstance(schema, bool) or not isinstance(schema, int) or schema < 1:
        problems.append(f"schema {schema!r}: a whole number, at least 1")
    return problems


def _honest_agent(contact: str | None) -> str:
    return f"limpet/{VERSION}" + (f" (+{contact})" if contact else "")


def _listed(name: str, given: Any, problems: list[str]) -> Iterable[Any]:
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        problems.append(f"{name}: a list, not {given!r}")
        return ()
    return given


def _authority(host: Any, problems: list[str]) -> str:
    if not isinstance(host, str) or re.search(r"[/?#@\s\\]", host) or not seeding.is_url(f"http://{host}/"):
        problems.append(f"host {host!r}: a name or name:port")
        return ""
    # Parsed under the other scheme, a default port would stay.
    scheme = "https" if host.endswith(":443") else "http"
    authority: str = ada_url.URL(f"{scheme}://{host}/").host
    return authority


def _number(name: str, value: Any, problems: list[str]) -> float:
    if not _is_number(value) or value < 0:
        problems.append(f"{name} {value!r}: a number of seconds, at least 0")
        return 0.0
    return float(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _check_knob(name: str, value: Any) -> None:
    if isinstance(_KNOBS[name], bool):
        if not isinstance(value, bool):
            raise SiteError(f"{name}={value!r}: True or False")
        return
    whole = isinstance(_KNOBS[name], int)
    if not _is_number(value) or (whole and not isinstance(value, int)):
        raise SiteError(f"{name}={value!r}: a {'whole ' if whole else ''}number")
    if value < 0 or (value == 0 and name != "threads"):
        raise SiteError(f"{name}={value!r}: must be above 0")
