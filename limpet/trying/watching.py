"""What stands around a page that is tried: it notes what is looked for in vain, and what went to and fro."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from limpet.missing import Missing
from limpet.page import Below, Page
from limpet.site import Site
from limpet.trying.near_miss import near_miss
from limpet_consumers.http import Http, Request, Response
from limpet_store.admission import HostRules
from limpet_store.canonical import admit
from limpet_store.items import Extracted, Fetched


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

    def pick(self, path: str, *default: Any, **more: Any) -> Any:
        found = super().pick(path, *default, **more)
        if super().pick(path, None, **{name: more[name] for name in more.keys() & {"of"}}) is None:
            self.nothing.append(Nothing("pick", path, None, required=isinstance(found, Missing)))
        return found

    @property
    def missed(self) -> list[Nothing]:
        """What found nothing, each selector once, those that had to find something first."""
        first: dict[tuple[str, str], Nothing] = {}
        for nothing in sorted(self.nothing, key=lambda each: not each.required):
            first.setdefault((nothing.call, nothing.css), nothing)
        return list(first.values())

    def nearest(self, nothing: Nothing) -> str:
        """What may have been meant, in words; "" where nothing is near."""
        if nothing.call == "pick":
            return ""
        below = getattr(nothing.below, "root", None)
        if nothing.below is not None and below is None:
            below = nothing.below[0].root if nothing.below else None
        found = near_miss(self.selector.root, nothing.css, below=below, xml=self.selector.type == "xml")
        return found.text if found else ""

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

    def links(self, css: str | None = None, **more: Any) -> Iterator[Any]:
        count = 0
        for link in super().links(css, **more):
            count += 1
            yield link
        if not count:
            self.nothing.append(Nothing("links", css or "a[href]", None))


class Watcher:
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


class Offline(Watcher):
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
