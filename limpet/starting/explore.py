"""Look at a few pages of a site, politely, and guess how it is to be read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from limpet.page import Page
from limpet.patterns import Pattern
from limpet.site import Site
from limpet.starting.api import api
from limpet.starting.blocks import blocks, next_page
from limpet.starting.draft import Detail, Draft, Listing, identifier
from limpet.starting.fields import SITES, said, thing
from limpet.starting.urls import common_kind, noun, pattern
from limpet.trying.lab import Lab
from limpet.trying.trial import Trial, row_for
from limpet_consumers import sitemap_reader
from limpet_consumers.http import Http, Request, Response
from limpet_consumers.redirects import MOST_HOPS
from limpet_consumers.runtime import Knobs
from limpet_consumers.ways import way_of
from limpet_store.canonical import admit
from limpet_store.errors import LimpetError, UsageError
from limpet_store.items import Fetched

LEAST_TEXT = 200  # characters; with less and with scripts, a page is filled by them
LEVELS = 2  # of sitemaps below the first
SAMPLES = 2  # pages of one kind that are compared


class Explorer:
    """Fetches pages of a site that has no file yet; every page once."""

    def __init__(self, name: str, url: str, *, ignore_robots: bool, say: Callable[[str], None]) -> None:
        self.name = name
        self.url = url
        self._obeying = not ignore_robots
        site = Site(name, [url])
        self._http = _Once(way_of(site))
        self._lab = Lab(site, self._http, obeying=self._obeying)
        self._say = say
        self.remarks: list[str] = []  # what somebody should know who goes on with the draft

    def lab_for(self, site: Site) -> Lab:
        """A place to try the finished site, where no page is fetched again."""
        return Lab(site, self._http, obeying=self._obeying)

    def draft(self) -> Draft:
        """Guess. Raises UsageError when the first page cannot be had."""
        first = self._first()
        found = self._look(first)
        self._remark(first, found)
        return found

    def _look(self, first: Page) -> Draft:
        bare = Draft(name=self.name, seed=self.url)
        if _is_json(first):
            return replace(bare, api=api(first))
        if first.type.endswith("xml") and not first.is_html:
            return self._listed(bare, first)
        list_ = blocks(first)
        if list_ is None or _about_one(first):
            return replace(bare, detail=_detail([first], [first.url])) if thing([first]) else bare
        following = next_page(first, list_)
        more = [url for url in [_link(first, following)] if url]
        listing = Listing(patterns=_patterns([first.url, *more]), following=following, blocks=list_)
        samples = self._samples(list_.urls)
        detail = _detail(samples, list_.urls) if samples else None
        return replace(bare, listing=listing, detail=detail)

    def _listed(self, bare: Draft, first: Page) -> Draft:
        """A draft from a sitemap: the kind of page that it has most of."""
        urls = self._entries(first, LEVELS)
        kind = common_kind(urls) if urls else []
        samples = self._samples(kind)
        return replace(bare, sitemap=True, detail=_detail(samples, kind) if samples else None)

    def _entries(self, page: Page, levels: int) -> list[str]:
        """The pages of a sitemap, or of the first that an index names. Raises UsageError for what is none."""
        try:
            entries = sitemap_reader.read(page.body, Knobs().max_sitemap)
        except sitemap_reader.NotRead as error:
            raise UsageError(f"{page.url}: {error}") from None
        inner = next((entry.url for entry in entries if entry.kind == "sitemap"), None)
        if inner is None:
            return [admit(entry.url).canonical for entry in entries]
        trial = self._lab.visit(row_for(inner)) if levels else None
        below = trial and _page(trial)
        return self._entries(below, levels - 1) if below else []

    def _remark(self, first: Page, found: Draft) -> None:
        if not (found.listing or found.detail or found.api):
            self.remarks.append("nothing was recognised there; `limpet shell` is a good place to look around")
        if first.is_html and _is_script(first):
            data = ", ".join(said([first]))
            self.remarks.append(
                "the page has hardly any text of its own, so JavaScript may bring it: "
                + (f"there is {data}" if data else "the browser's network tab shows from which URL")
            )
        for url in self._lab.sitemaps(first.url)[:3]:
            self.remarks.append(f"robots.txt names a sitemap, which may be a shorter way: {url}")

    def _first(self) -> Page:
        row = row_for(self.url)
        for _ in range(MOST_HOPS):
            trial = self._lab.visit(row)
            target = self._lab.after(trial)
            if target is None:
                break
            self._say(f"{row.canonical} redirects to {target.canonical}")
            row = target
        page = _page(trial)
        if page is None:
            why = (trial.outcome and trial.outcome.error) or f"robots.txt {trial.robots}"
            raise UsageError(f"{row.canonical}: {why}")
        self.url = page.url
        return page

    def _samples(self, urls: list[str]) -> list[Page]:
        """The first pages of the list that can be had."""
        found: list[Page] = []
        for url in urls[: SAMPLES + 2]:
            try:
                trial = self._lab.visit(row_for(url))
            except LimpetError:
                continue
            page = _page(trial)
            if page is not None and page.is_html:
                found.append(page)
            if len(found) == SAMPLES:
                break
        return found


class _Once:
    """A transport that asks for nothing twice."""

    def __init__(self, http: Http) -> None:
        self._http = http
        self._known: dict[str, Response] = {}

    def fetch(self, request: Request, deadline: float) -> Response:
        if request.url not in self._known:
            self._known[request.url] = self._http.fetch(request, deadline)
        return self._known[request.url]


def _page(trial: Trial) -> Page | None:
    """The page of an answer that may be read."""
    response = trial.response
    if response is None or not 200 <= response.status < 300:
        return None
    return Page(Fetched(trial.url, response.status, response.headers, response.body))


def _is_script(page: Page) -> bool:
    """Whether a page comes nearly empty, to be filled by its scripts."""
    words = " ".join(page.selector.xpath("//body//text()[not(ancestor::script or ancestor::style)]").getall())
    return len(" ".join(words.split())) < LEAST_TEXT and bool(page.css("script"))


def _is_json(page: Page) -> bool:
    return page.type.endswith("json") or (not page.is_html and page.body.lstrip()[:1] in (b"{", b"["))


def _about_one(page: Page) -> bool:
    """Whether the page is of one thing, and what else it links is beside the point."""
    found = thing([page])
    if found is None or found.source == "markup" or found.type in SITES:
        return False
    return found.key is not None and not _many(page, found.type)


def _many(page: Page, type_: str) -> bool:
    """A list says of each of its things what it is."""
    name = type_.replace("_", "").title()
    return len(page.jsonld(name)) + len(page.microdata(name)) > 1


def _link(page: Page, css: str | None) -> str | None:
    return next((link.url for link in page.links(css) if link.url), None) if css else None


def _patterns(urls: list[str]) -> list[str]:
    """One pattern for a list and its next page, or one for each where one would fit everything."""
    together = pattern(urls)
    if len(urls) > 1 and ("{rest:path}" in together or together.startswith("/{")):
        return list(dict.fromkeys(pattern([url]) for url in urls))
    return [together]


def _detail(pages: list[Page], urls: list[str]) -> Detail:
    found = thing(pages)
    kind = common_kind(urls)
    fits = pattern(kind)
    name = found.type if found and found.type else noun(fits)
    return Detail(
        name=identifier(name or "item"),
        patterns=[fits],
        thing=found,
        params=_telling(fits, kind),
        other=said(pages),
    )


def _telling(text: str, urls: list[str]) -> list[str]:
    """The pieces of the URL that tell one page from another: a number before a name, one before several."""
    compiled = Pattern(text)
    rows = [compiled.params(url) or {} for url in urls]
    apart = [name for name in rows[0] if len({row.get(name) for row in rows}) == len(rows)]
    numbers = [name for name in apart if all(row[name].isdecimal() and row[name][0] != "0" for row in rows)]
    best = numbers[:1] or apart[-1:]
    if best or len({tuple(row.items()) for row in rows}) < len(rows):
        return best
    return list(rows[0])
