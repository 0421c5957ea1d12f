"""One page of a site at a time, as a crawl would have it: fetched, decided and extracted by the worker's own step, and
nothing stored."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Self, cast

from limpet.site import Site
from limpet.trying.trial import Kept, Trial, row_for, row_of
from limpet.trying.watching import Offline, Watcher, Witness
from limpet_consumers import robots
from limpet_consumers.http import Http
from limpet_consumers.login import Access
from limpet_consumers.runtime import SiteRuntime
from limpet_consumers.step import Step, Timing
from limpet_consumers.ways import check_secrets, way_of
from limpet_store.admission import Discovery, discover, discovery
from limpet_store.attempts import Attempt, PageRow
from limpet_store.canonical import Address, admit
from limpet_store.errors import UsageError
from limpet_store.items import JSON, Link
from limpet_store.outcome import Kind, Outcome
from limpet_store.scope import Hosts, Scope
from limpet_store.store import wall_ms

ALLOWED, UNASKED = "allows it", "not asked"


class Lab:
    """Visits pages of one site. `http` stands in for our transport; `obeying` is whether what robots.txt forbids is
    left alone. `offline` says that `http` knows all answers: neither robots.txt nor secrets are wanted. Between two
    requests to a host it waits as a crawl would."""

    def __init__(
        self, site: Site, http: Http | None = None, *, offline: bool = False, obeying: bool = True
    ) -> None:
        if not offline:
            check_secrets(site)
        self.site = site
        self._offline = offline
        self._asking = site.robots and not offline
        self._obeying = obeying
        self._rules: dict[str, str | None] = {}  # origin -> rules, None: cannot be known
        self._scope = Named(site)
        self._seen = Offline(site) if offline else Watcher(site)
        self._way = None if http else way_of(site)
        self._http = Witness(http or cast(Http, self._way), site)
        runtime = cast(SiteRuntime, self._seen)
        access = _access(runtime, http or self._way)
        self._step = Step(runtime, self._http, self._scope, wall_ms, Timing(), access=access)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of what the site's own transport or session holds."""
        if self._way:
            self._way.close()

    def visit(self, row: PageRow) -> Trial:
        """Try the page. What fails is in the trial; only bugs raise."""
        if self._offline:  # the page was let in when it was saved, wherever the site is now
            self._scope.add(admit(row.canonical))
        trial = Trial(row=row, robots=self._ask(row.canonical))
        if self._obeying and trial.robots not in (ALLOWED, UNASKED):
            return trial
        self._seen.forget()
        self._http.forget()
        began = time.perf_counter()
        outcome = self._run(row)
        whole = time.perf_counter() - began
        trial.outcome, trial.response = outcome, self._http.response
        trial.fetched, trial.extracted, trial.page = self._seen.fetched, self._seen.extracted, self._seen.page
        trial.extracting = self._seen.seconds
        trial.fetching = max(0.0, whole - trial.extracting - self._http.waited)
        if trial.handler:
            trial.pattern, _ = self.site.route(trial.handler, row.canonical)
        self._sort_links(trial)
        return trial

    def _run(self, row: PageRow) -> Outcome:
        """Once more for a page that found itself logged out: then there is a new login."""
        outcome = self._step.run(Attempt(row, "", 0, 0))
        if outcome.kind is Kind.PUT_BACK and outcome.login_failed is None:
            outcome = self._step.run(Attempt(row, "", 0, 0))
        return outcome

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
        address = self._scope.admit(url)
        return address in self._scope and not self._scope.bounds.against_named(address.canonical)

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
    """Try a page, where it redirects to, and with `follow` the first link to each handler that was not met yet.

    A URL that the site starts from is asked for as the site file says: it may be a POST.
    """
    start = next((each for each in lab.site.given if each.url == url), Link(url))
    start = replace(start, to=to or start.to, data=start.data if data is None else data)
    waiting = [row_of(discovery(start, lab.site.bounds.admit(url), parent=None, depth=0))]
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


def first_of(site: Site) -> str:
    """Where a crawl of the site starts. Raises UsageError when that is nowhere."""
    entry = next(iter(site.entries), None)
    if entry is None:
        raise UsageError("the site has no seeds: name a URL")
    return entry.url


def _access(site: SiteRuntime, http: Http | None) -> Access | None:
    """The login of a site that has one. Nobody is asked whether another worker is logging in meanwhile."""
    if site.account is None or http is None:
        return None
    access = Access(site.account, http, site.knobs.total_timeout)
    access.allowed = True
    return access


class Named(Scope):
    """The hosts that the site file names, and where its seeds redirect to; no store is asked."""

    def __init__(self, site: Site) -> None:
        self.bounds = site.bounds
        self._named = Hosts(site.authorities | site.hosts)
        self._names: set[str] = set()

    def reload(self) -> None:
        """There is nothing to read again."""

    def add(self, address: Address) -> None:
        self._names.add(address.authority)

    def __contains__(self, address: Address) -> bool:
        return address.authority in self._names or address.authority in self._named


def _origin(address: Address) -> str:
    return f"{address.scheme}://{address.authority}"
