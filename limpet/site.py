"""What a site is: where it starts, which handler reads which page, how politely it is visited."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from limpet import access, bounding, bounds, extract, seeding, shapes
from limpet.handlers import Handlers
from limpet.page import Page
from limpet.patterns import Pattern
from limpet.politeness import Politeness, check_flags, refresh_period
from limpet.seeding import Seeds
from limpet.shapes import Shape, Shapes
from limpet.tuning import Tuning
from limpet_consumers.headers import one_line
from limpet_consumers.http import Http
from limpet_consumers.runtime import Account, Knobs
from limpet_store.errors import ExtractError, SiteError
from limpet_store.items import Extracted, Fetched, Link
from limpet_store.periods import Periods
from limpet_store.secret import Secret

if TYPE_CHECKING:
    import requests

VERSION = "0.1.0"

Text = str | Secret
C = TypeVar("C", bound=type)
H = TypeVar("H", bound=Callable[[Page], Any])
L = TypeVar("L", bound=Callable[[Any], Any])
FOLLOW = ("page", "inline")
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")


class Site:
    """A site to crawl: `site = Site("shop", seeds=["https://shop.example/"])` in a file of its own.

    `name` names the crawl and its data. `hosts` (`name`, `name:port`, or `*.name` for all below it) are in scope
    besides the seeds' own. Of their pages those are visited that fit a pattern of `include` and none of `exclude`, at
    most `max_depth` links from a seed, and at most `max_pages` of a host. With `order="depth"` the pages that lie
    deeper come first, so that one branch is finished before the next; else those that were found first. `traps=False`
    follows links that look endless, and keeps session ids in URLs. `drop_params` names parameters that tell no pages
    apart, as `[*TRACKING, "ref"]`: two URLs that differ in them alone are one page. What is left out is counted by its
    reason.
    `seeds` may be a function without arguments, a generator function too. It is called each time a crawl starts, and
    what it gives is stored as it comes, so it may give millions; known pages are left alone. It must come to an end.
    `sitemaps` are URLs of sitemaps, or True for those that the robots.txt of each host in scope names (/sitemap.xml
    if it names none). Of what they list the pages in scope that a handler reads are visited. With `lastmod=True` a
    later round leaves out those whose `lastmod` is what it was when they were last read; many sites get theirs wrong.
    `delay` is the seconds from one request to the next on a host: by default 1 s, and none on loopback and private
    hosts. `max_in_flight` is the requests at a time on a host that has a delay.
    `allow_private` permits loopback and private addresses. `headers` go out with every request; those that
    may be keys (a value with `secret(...)` in it, as `"Bearer " + secret("API_KEY")`, or a name like Authorization) and
    `cookies` go to the hosts of the seeds and `hosts` alone.
    `proxy` is the URL of an HTTP proxy, before LIMPET_PROXY. `session` makes the `requests.Session` that requests go
    through. `transport` makes an object with `fetch(request, deadline) -> Response` that takes the place of requests;
    it is used by one thread unless `tune(threads=)` says more. Both are called once a worker. Values of `headers`
    and `cookies`, and `proxy`, may be `secret("NAME")`.
    `robots=False` leaves robots.txt unread. With `follow="inline"` redirects on a page's own host are followed within
    its visit, cookies kept between the hops, and make no page of their own: for sites that need a session. Each hop is
    a request more at each visit, and for each page that leads to the same target. `user_agent` replaces the honest
    default, to which `contact` (a URL or an address) is added, so that the site's owner can reach you.

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
        include: Iterable[str] | None = None,
        exclude: Iterable[str] | None = None,
        max_depth: int | None = None,
        max_pages: int | None = None,
        traps: bool = True,
        order: str = "breadth",
        drop_params: Iterable[str] = (),
        delay: float | None = None,
        max_in_flight: int = 1,
        allow_private: bool = False,
        headers: Mapping[str, Text] | None = None,
        cookies: Mapping[str, Text] | None = None,
        proxy: Text | None = None,
        session: Callable[[], requests.Session] | None = None,
        transport: Callable[[], Http] | None = None,
        robots: bool = True,
        follow: str = "page",
        user_agent: str | None = None,
        contact: str | None = None,
    ) -> None:
        self.name = name
        problems: list[str] = []
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            problems.append(f"name {name!r}: small letters, digits, . _ - and at most 63 of them")
        entries = seeding.Entries.of(seeds, sitemaps, lastmod, hosts, problems)
        entries.check(robots, problems)
        bounds = bounding.bounds_of(
            entries.hosts, include, exclude, drop_params, max_depth, max_pages, traps, order, problems
        )
        entries.check_bounds(bounds, problems)
        Politeness(delay, max_in_flight, allow_private, robots).check(problems)
        check_flags(problems, lastmod=lastmod)
        ways = access.Ways.of(headers, cookies, proxy, session, transport, problems)
        self._honest = user_agent is None and not contact
        self.user_agent = _honest_agent(contact) if user_agent is None else user_agent
        if follow not in FOLLOW:
            problems.append(f"follow {follow!r}: one of {', '.join(map(repr, FOLLOW))}")
        if not one_line(self.user_agent) or not self.user_agent.strip():
            problems.append(f"user_agent and contact: one line of ASCII, not {self.user_agent!r}")
        if problems:
            raise SiteError("Site: " + "; ".join(problems))
        self._entries = entries
        self.sitemaps, self.lastmod, self.hosts = entries.sitemaps, lastmod, entries.hosts
        self.bounds, self.max_pages = bounds, max_pages
        self.authorities = entries.named | seeding.authorities(entries.given)  # none that a function gives
        self.seeds = tuple(link.url for link in entries.seeds)
        self.delay, self.max_in_flight = delay, max_in_flight
        self.allow_private, self.robots, self.follow = allow_private, robots, follow
        self.headers, self.cookies, self.network = ways.headers, ways.cookies, ways.network
        ways.check_homes(self.authorities)
        self.session, self.transport = ways.session, ways.transport
        self._tuning = Tuning(**({"slice": access.SLICE, "threads": 1} if transport else {}))
        self._login: Callable[[Any], Any] | None = None
        self._logged_out: Callable[[Page], Any] | None = None
        self.shapes = Shapes()
        self._handlers = Handlers(self.shapes)

    def __repr__(self) -> str:
        return f"<Site {self.name}>"

    def page(
        self, pattern: str, *, complete: bool = False, refresh: str | float | None = None
    ) -> Callable[[H], H]:
        """Register a handler for the pages whose URL fits `pattern`; of several the first one wins.

        `limpet.patterns` says what a pattern is. The handler's name is its function's. Stack the decorator
        for several patterns. With `complete` the handler gives all records that the page has: what it gave before and
        gives no more, at two visits in different rounds, is gone. Without, it stays as long as the page does: entries
        that move out of a listing are not gone. `refresh` ("24h", "30m", or seconds) makes pages of this pattern due
        again by themselves, that long after their last visit at the latest, spread over the period: `limpet consume`
        sees to it all the time, `limpet crawl` when it begins. Raises SiteError for a malformed pattern or period and
        for a second handler of a name.
        """
        compiled, period = Pattern(pattern), refresh_period(refresh)

        def register(handler: H) -> H:
            self._handlers.register(compiled, handler, complete=complete, refresh=period)
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
        shapes.check(type, part, schema)

        def register(cls: C) -> C:
            self.shapes.add(
                Shape.described(type, part, cls, key=key, volatile=volatile, schema=schema, requires=requires)
            )
            self._handlers.forget_codes()
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
        self._tuning.expect(slice=access.SLICE)  # each slice begins with one
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
        self._tuning.say(knobs)

    @property
    def knobs(self) -> Knobs:
        """The engine's settings."""
        return self._tuning.knobs

    def reach(self, contact: str) -> None:
        """Add how to reach the operator to the default User-Agent, unless the site file says it already."""
        if self._honest:
            self.user_agent = _honest_agent(contact)

    @property
    def given(self) -> tuple[Link, ...]:
        """The entries that the site file spells out; none that a function gives."""
        return self._entries.given

    @property
    def entries(self) -> Iterable[Link]:
        """The pages and sitemaps that a crawl starts from; a function is called. Raises SiteError when it fails."""
        return self._entries.all(self._handlers)

    def go_through(self, proxy: str | None, ca_bundle: str | None) -> None:
        """Use this machine's proxy, unless the site has its own, and the authorities that it trusts."""
        network = dataclasses.replace(self.network, ca_bundle=ca_bundle)
        if proxy and network.proxy is None:
            network = dataclasses.replace(network, proxy=proxy, named_by="LIMPET_PROXY")
        self.network = network

    def match(self, url: str) -> str | None:
        """The name of the handler whose pattern fits this canonical URL, or None."""
        return self._handlers.match(url)

    def code(self, handler: str | None) -> str:
        """A hash of the handler's code (see `limpet.code`), "" for None or a name that is not there."""
        return self._handlers.code(handler)

    def complete(self, handler: str | None) -> bool:
        """Whether the handler gives all records of its pages; False for None."""
        return self._handlers.complete(handler)

    @property
    def periods(self) -> Periods | None:
        """When pages are due again by themselves; None where none are."""
        return self._handlers.periods()

    def leads(self, handler: str | None) -> bool:
        """Whether the handler may give links (its attribute `leads`, or what its code names); False for None."""
        return self._handlers.leads(handler)

    def check(self) -> None:
        """Look at what only the whole file can tell. Raises SiteError for a shape that cannot be used, and for a seed
        whose handler is not there."""
        self.codes()
        seeding.check_handlers(self.given, self._handlers)

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
        seen.bounds = bounds.of(self.knobs)
        return extract.run(page.handler, handler, seen, self._handlers, self.knobs.max_links, self.shapes)

    def route(self, handler: str, url: str) -> tuple[str, Mapping[str, str]]:
        """The handler's first pattern that fits the URL, and what it names there; "" and nothing where none fits."""
        return self._handlers.route(handler, url)


def _honest_agent(contact: str | None) -> str:
    return f"limpet/{VERSION}" + (f" (+{contact})" if contact else "")
