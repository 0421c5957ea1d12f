"""One page of a site at a time, as a crawl would have it: fetched, decided and extracted by the worker's own step, and
nothing stored."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, cast

from limpet.page import Below, Missing, Page
from limpet.site import Site
from limpet_consumers import robots
from limpet_consumers.http import Http, Request, Response
from limpet_consumers.runtime import SiteRuntime
from limpet_consumers.step import Step, Timing
from limpet_consumers.transport import Transport
from limpet_store.admission import Discovery, HostRules, Scope, discover
from limpet_store.attempts import Attempt, PageRow
from limpet_store.canonical import Address, admit
from limpet_store.content import canonical_json
from limpet_store.errors import UsageError
from limpet_store.items import JSON, Extracted, Fetched
from limpet_store.outcomes import Kind, Outcome
from limpet_store.store import wall_ms


@dataclass(frozen=True, slots=True)
class Nothing:
    """A selector that found nothing: by which method of the page, below which element, and whether it had to."""

    call: str
    css: str
    below: Any
    required: bool = False


class Watched(Page):
    """A page that notes what was looked for in vain."""

    def __init__(self, fetched: Fetched, params: Mapping[str, str] | None = None) -> None:
        super().__init__(fetched, params or {})
        self.nothing: list[Nothing] = []

    def one(self, css: str, *default: Any, of: Below | None = None, **more: Any) -> Any:
        found = super().one(css, *default, of=of, **more)
        absent = isinstance(found, Missing)
        if absent or any(found is value for value in (*default, *more.values())):
            self.nothing.append(Nothing("one", css, of, required=absent))
        return found

    def all(self, css: str, *, of: Below | None = None) -> list[str]:
        found = super().all(css, of=of)
        if not found:
            self.nothing.append(Nothing("all", css, of))
        return found

    def css(self, css: str) -> Any:
        found = super().css(css)
        if not found:
            self.nothing.append(Nothing("css", css, None))
        return found

    def links(self, css: str = "a[href]", **more: Any) -> Iterator[Any]:
        count = 0
        for link in super().links(css, **more):
            count += 1
            yield link
        if not count:
            self.nothing.append(Nothing("links", css, None))


@dataclass(frozen=True, slots=True)
class Kept:
    """A link that becomes a page, and the handler that will read it, if any."""

    page: Discovery
    handler: str | None
    allowed: bool


@dataclass(slots=True, kw_only=True)
class Trial:
    """What came of a page. `robots` is a word or a sentence; without an outcome no request was made."""

    row: PageRow
    robots: str
    outcome: Outcome | None = None
    response: Response | None = None
    fetched: Fetched | None = None
    extracted: Extracted = field(default_factory=Extracted)
    page: Watched | None = None
    pattern: str = ""
    fetching: float = 0.0  # seconds
    extracting: float = 0.0
    kept: list[Kept] = field(default_factory=list)
    dropped: list[tuple[str, str]] = field(
        default_factory=list
    )  # (URL, reason) of links that lead to no page

    @property
    def url(self) -> str:
        return self.row.canonical

    @property
    def handler(self) -> str | None:
        return self.fetched.handler if self.fetched else None


ALLOWED, UNASKED = "allows it", "not asked"


class Lab:
    """Visits pages of one site. `http` stands in for our transport; `obeying` is whether what robots.txt forbids is
    left alone. `offline` says that `http` knows all answers: neither robots.txt nor secrets are wanted. Between two
    requests to a host it waits as a crawl would."""

    def __init__(
        self, site: Site, http: Http | None = None, *, offline: bool = False, obeying: bool = True
    ) -> None:
        self.site = site
        self._asking = site.robots and not offline
        self._obeying = obeying
        self._rules: dict[str, str | None] = {}  # origin -> rules, None: cannot be known
        self._scope = Named(site)
        self._seen = _Offline(site) if offline else _Watcher(site)
        self._http = Witness(http or transport(site), site)
        self._step = Step(cast(SiteRuntime, self._seen), self._http, self._scope, wall_ms, Timing())

    def visit(self, row: PageRow) -> Trial:
        """Try the page. What fails is in the trial; only bugs raise."""
        trial = Trial(row=row, robots=self._ask(row.canonical))
        if self._obeying and trial.robots not in (ALLOWED, UNASKED):
            return trial
        self._seen.forget()
        self._http.forget()
        began = time.perf_counter()
        outcome = self._step.run(Attempt(row, "", 0, 0))
        whole = time.perf_counter() - began
        trial.outcome, trial.response = outcome, self._http.response
        trial.fetched, trial.extracted, trial.page = self._seen.fetched, self._seen.extracted, self._seen.page
        trial.extracting = self._seen.seconds
        trial.fetching = max(0.0, whole - trial.extracting - self._http.waited)
        if trial.handler:
            trial.pattern, _ = self.site.route(trial.handler, row.canonical)
        self._sort_links(trial)
        return trial

    def after(self, trial: Trial) -> PageRow | None:
        """The page that a redirect leads to, or None."""
        outcome = trial.outcome
        if outcome is None or outcome.kind is not Kind.ALIAS or not outcome.discoveries:
            return None
        (target,) = outcome.discoveries
        if target.widens:
            self._scope.add(target.address)
        return row_of(target)

    def in_scope(self, url: str) -> bool:
        """Whether a link to the URL would be followed."""
        return admit(url) in self._scope

    def sitemaps(self, url: str) -> list[str]:
        """The sitemaps that the robots.txt of the URL's host names, if it was read."""
        return re.findall(r"^sitemap:[ \t]*(\S+)", self._rules.get(_origin(admit(url))) or "", re.I | re.M)

    def _sort_links(self, trial: Trial) -> None:
        row = trial.row
        found: list[Discovery] = (
            list(trial.outcome.discoveries) if trial.outcome and row.kind == "sitemap" else []
        )
        for link in trial.extracted.links:
            kept, dropped = discover([link], self._scope, parent=0, depth=row.depth + 1, home=row.canonical)
            found += kept
            trial.dropped += [(link.url, reason) for reason in dropped]
        for page in found:
            handler = page.handler or self.site.match(page.address.canonical)
            trial.kept.append(
                Kept(page, "sitemap" if page.kind == "sitemap" else handler, self._allows(page.address))
            )

    def _allows(self, address: Address) -> bool:
        rules = self._rules.get(_origin(address))
        return not rules or robots.allows(rules, address.canonical, self.site.user_agent)

    def _ask(self, url: str) -> str:
        if not self._asking:
            return UNASKED
        address = admit(url)
        origin = _origin(address)
        if origin not in self._rules:
            outcome = self._step.run(Attempt(row_for(f"{origin}/robots.txt", kind="robots"), "", 0, 0))
            self._rules[origin] = outcome.robots
            if outcome.robots is None:
                return f"cannot be read: {outcome.error}"
        if self._rules[origin] is None:
            return "cannot be read"
        return ALLOWED if self._allows(address) else "forbids it"


def walk(
    lab: Lab, url: str, *, to: str | None = None, data: JSON = None, follow: bool = False
) -> Iterator[Trial]:
    """Try a page, where it redirects to, and with `follow` the first link to each handler that was not met yet."""
    kind = "sitemap" if url in _sitemaps(lab.site) else "page"
    waiting = [row_for(url, handler=to, data=data, kind=kind)]
    met: set[str | None] = {None}
    while waiting:
        row: PageRow | None = waiting.pop(0)
        while row is not None:
            trial = lab.visit(row)
            yield trial
            row = lab.after(trial)
        met.add(trial.handler)
        for kept in trial.kept if follow else ():
            if kept.handler not in met and kept.allowed:
                met.add(kept.handler)
                waiting.append(row_of(kept.page))


def _sitemaps(site: Site) -> Collection[str]:
    return site.sitemaps if isinstance(site.sitemaps, tuple) else ()


def first_of(site: Site) -> str:
    """Where a crawl of the site starts. Raises UsageError when that is nowhere."""
    entry = next(iter(site.entries), None)
    if entry is None:
        raise UsageError("the site has no seeds: name a URL")
    return entry.url


def row_for(
    url: str, *, kind: str = "page", handler: str | None = None, data: JSON = None, **more: Any
) -> PageRow:
    """The row that a page would have. Raises URLRejected."""
    address = admit(url)
    given = {
        "id": 0, "host": 0, "kind": kind, "url": address.url, "canonical": address.canonical, "method": "GET",
        "handler": handler, "data": None if data is None else canonical_json(data), "depth": 0, "hops": 0,
        "priority": 0, "state": "pending", "due_at": 0, "round": 1, "failures": 0, "lost": 0, "open": 0,
        "blocked_until": 0, "paused": 0, "delay": 0, **more,
    }  # fmt: skip
    return PageRow._make(given.get(name) for name in PageRow._fields)


def row_of(page: Discovery) -> PageRow:
    """The row that a discovered page would have."""
    named = {name: getattr(page, name) for name in PageRow._fields if hasattr(page, name)}
    row = row_for(page.address.url)
    return row._replace(**{name: value for name, value in named.items() if name != "parent"})


def transport(site: Site) -> Transport:
    """The transport that a worker of the site has."""
    knobs = site.knobs
    return Transport(
        connect=knobs.connect_timeout,
        read=knobs.read_timeout,
        max_body=knobs.max_body,
        unframed=knobs.unframed,
    )


class Named(Scope):
    """The hosts that the site file names, and where its seeds redirect to; no store is asked."""

    def __init__(self, site: Site) -> None:
        self._names = set(site.authorities)

    def reload(self) -> None:
        """There is nothing to read again."""

    def add(self, address: Address) -> None:
        self._names.add(address.authority)

    def __contains__(self, address: Address) -> bool:
        return address.authority in self._names


class _Watcher:
    """The site as the step sees it; keeps what was extracted, and from what."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self.forget()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._site, name)

    def forget(self) -> None:
        self.fetched: Fetched | None = None
        self.extracted = Extracted()
        self.page: Watched | None = None
        self.seconds = 0.0

    def extract(self, fetched: Fetched) -> Extracted:
        self.fetched = fetched
        began = time.perf_counter()
        try:
            self.extracted = self._site.extract(fetched, self._view)
        finally:
            self.seconds = time.perf_counter() - began
        return self.extracted

    def _view(self, fetched: Fetched, params: Mapping[str, str]) -> Page:
        self.page = Watched(fetched, params)
        return self.page


class _Offline(_Watcher):
    """A site that sends nothing: secrets of its headers need not be there, and nobody logs in."""

    headers: Mapping[str, str] = MappingProxyType({})
    account = None


class Witness:
    """A transport that keeps the last response and waits a host's delay between two requests."""

    def __init__(self, http: Http, site: Site, sleep: Callable[[float], None] = time.sleep) -> None:
        self._http = http
        self._rules = HostRules(delay=site.delay)
        self._sleep = sleep
        self._last: dict[str, float] = {}
        self.forget()

    def forget(self) -> None:
        self.response: Response | None = None
        self.waited = 0.0

    def fetch(self, request: Request, deadline: float) -> Response:
        address = admit(request.url)
        free = self._last.get(address.authority, 0.0) + self._rules.delay_ms(address) / 1000
        wait = max(0.0, free - time.monotonic())
        if wait:
            self._sleep(wait)
        self.waited += wait
        self._last[address.authority] = time.monotonic()
        self.response = self._http.fetch(request, deadline)
        return self.response


def _origin(address: Address) -> str:
    return f"{address.scheme}://{address.authority}"
