"""One page's own part of a turn: fetch, then extract. It touches neither SQL nor Redis and runs in any thread."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from limpet_consumers import decide, redirects, robots, sitemap_reader, sitemaps, validators
from limpet_consumers.asking import Asked, Asking, may_be_private
from limpet_consumers.following import Allowed, Answer, Following
from limpet_consumers.http import FetchFailed, Http, Response
from limpet_consumers.login import Access, NotLoggedIn, Unwanted
from limpet_consumers.pace import Paces
from limpet_consumers.runtime import SiteRuntime
from limpet_store import records
from limpet_store.admission import Discovery, chosen, discover
from limpet_store.attempts import Attempt
from limpet_store.canonical import admit
from limpet_store.content import NotStorable
from limpet_store.errors import ExtractError
from limpet_store.items import Extracted, Fetched, Rejection
from limpet_store.outcome import Kind, Outcome
from limpet_store.records import PartWrite
from limpet_store.scope import Scope
from limpet_store.secret import hidden


class Timing:
    """Seconds that requests waited, and how many there were: what decides the number in flight."""

    def __init__(self) -> None:
        self.wait = 0.0
        self.requests = 0
        self._lock = threading.Lock()

    def add(self, wait: float) -> None:
        with self._lock:
            self.wait += wait
            self.requests += 1


class Step:
    """Turns attempts into outcomes for one site."""

    def __init__(
        self,
        site: SiteRuntime,
        http: Http,
        scope: Scope,
        now: Callable[[], int],
        timing: Timing,
        share: float | None = None,
        access: Access | None = None,
        allowed: Allowed = lambda host, at, url: True,
    ) -> None:
        self._site = site
        self._http = http
        self._scope = scope
        self._now = now
        self._timing = timing
        self._share = share  # of the pages that lead no further; None: all
        self._access = access
        self._paces = Paces()
        self._asking = Asking(site)
        self._following = Following(http, self._asking, scope, allowed, now, inline=site.follow == "inline")

    def run(self, attempt: Attempt) -> Outcome:
        """Fetch and extract one page. Every failure that belongs to the page is an outcome."""
        outcome = self._run(attempt)
        pace = self._paces.news(attempt.page) if attempt.page.delay else None
        return outcome if pace is None else replace(outcome, pace=pace)

    def _run(self, attempt: Attempt) -> Outcome:
        try:
            if self._access and attempt.page.kind == "page":
                return self._run_inside(self._access, attempt)
            return self._read(attempt, self._fetch(attempt))
        except FetchFailed as error:
            return decide.failed(attempt, error)

    def _run_inside(self, access: Access, attempt: Attempt) -> Outcome:
        """The same for a site that wants a login: what shows that there is none is put back, whatever its status."""
        try:
            login = access.enter()
            got = self._fetch(attempt)
            proves = _tells(got.response) and access.judge(
                attempt.page.id, login, self._fetched(attempt, got)
            )
        except NotLoggedIn as error:
            return decide.put_back(attempt, error)
        except (Unwanted, ExtractError) as error:
            return decide.unread(attempt, got.response.status, str(error))
        outcome = self._read(attempt, got)
        return replace(outcome, logged_in=True) if proves else outcome

    def _read(self, attempt: Attempt, got: Answer) -> Outcome:
        outcome = self._decided(attempt, got)
        if got.hops:
            outcome = replace(outcome, last_request=got.asked_at)
        if self._share is None or outcome.kind is not Kind.DONE:
            return outcome
        return replace(outcome, discoveries=[self._sampled(each) for each in outcome.discoveries])

    def _sampled(self, found: Discovery) -> Discovery:
        """The page as it is, or to be held: it leads no further, and is not in the sample."""
        handler = found.handler or self._site.match(found.address.canonical)
        stays = found.kind != "page" or found.position or self._site.leads(handler)
        if stays or chosen(found.key, self._share or 0.0):
            return found
        return replace(found, held="sample")

    def _decided(self, attempt: Attempt, got: Answer) -> Outcome:
        """What the status says, else what is in the page."""
        response = got.response
        if attempt.page.kind == "robots":
            return self._robots(attempt, response)
        decided = self._redirected(attempt, got) or decide.without_body(
            attempt, response, self._now(), asked_for_changes=bool(self._validators(attempt))
        )
        if decided is None and attempt.page.kind == "sitemap":
            return sitemaps.outcome(attempt, response, self._site, self._scope)
        return decided or self._extract(attempt, got)

    def _redirected(self, attempt: Attempt, got: Answer) -> Outcome | None:
        outcome = redirects.outcome(attempt, got.response, got.url, self._scope)
        if outcome is None or not outcome.discoveries or attempt.page.fetched_at is None:
            return outcome
        there = self._site.match(outcome.discoveries[0].address.canonical)
        own = self._site.match(attempt.page.canonical)  # of a handler that its link named nothing is known
        return replace(outcome, other_kind=attempt.page.handler is None and there not in (None, own))

    def _fetch(self, attempt: Attempt) -> Answer:
        page = attempt.page
        request = self._asking.request(Asked.of(page), self._validators(attempt))
        deadline = self._site.knobs.total_timeout
        if page.kind == "robots":
            got = Answer(robots.fetch(self._http, request, deadline, self._may_be_private), page.canonical)
        else:
            if page.kind == "sitemap":
                request = replace(request, most=sitemap_reader.MOST_BYTES + 1)
            got = self._following.answer(page, request, deadline)
        self._timing.add(got.response.wait)
        if page.delay:
            self._paces.add(page.host, got.response.wait)
        return got

    def _validators(self, attempt: Attempt) -> Mapping[str, str]:
        """They are sent only while the code that read the page is the same: else there is more to learn."""
        page = attempt.page
        has = page.etag or page.modified
        return validators.of(page) if has and page.code == self._code(self._handler(attempt)) else {}

    def _handler(self, attempt: Attempt) -> str | None:
        return attempt.page.handler or self._site.match(attempt.page.canonical)

    def _code(self, handler: str | None) -> str:
        return f"{handler or ''}:{self._site.code(handler)}"

    def _robots(self, attempt: Attempt, response: Response) -> Outcome:
        """RFC 9309: 2xx are the rules, 4xx are none; a server that cannot say, or says a part, is asked again."""
        status = response.status
        if status >= 500 or status in (206, 304, 429):
            wait = decide.retry_after(response.headers.get("retry-after"), self._now())
            kind = Kind.BLOCKED if status in (429, 503) else Kind.RETRY
            return Outcome(
                attempt=attempt, kind=kind, status=status, error=f"robots.txt: HTTP status {status}",
                host_failed=kind is Kind.RETRY, retry_after=wait, jitter=random.random(),
            )  # fmt: skip
        rules = robots.rules_text(response.body) if status < 300 else ""
        delay = robots.crawl_delay(rules, self._site.user_agent) if rules else 0
        page = attempt.page
        found: Sequence[Discovery] = ()
        if self._site.sitemaps is True and admit(page.canonical) in self._scope:
            found = sitemaps.named(robots.sitemaps(rules), page.canonical, page.id, self._scope)
        return Outcome(
            attempt=attempt, kind=Kind.DONE, status=status, robots=rules, crawl_delay=delay, discoveries=found
        )

    def _may_be_private(self, url: str) -> bool:
        return may_be_private(self._site, url)

    def _fetched(self, attempt: Attempt, got: Answer, handler: str | None = None) -> Fetched:
        page, response = attempt.page, got.response
        return Fetched(
            url=page.canonical, status=response.status, headers=response.headers, body=response.body,
            handler=handler, data=json.loads(page.data) if page.data else None, depth=page.depth,
            base=got.url if got.hops else "",
        )  # fmt: skip

    def _extract(self, attempt: Attempt, got: Answer) -> Outcome:
        page, response = attempt.page, got.response
        handler = self._handler(attempt)
        try:
            found = self._site.extract(self._fetched(attempt, got, handler))
        except ExtractError as error:
            return decide.unread(attempt, response.status, hidden(str(error)), error.kind)
        discoveries, dropped = discover(
            found.links,
            self._scope,
            parent=page.id,
            depth=page.depth + 1,
            home=page.canonical,
            query=page.query,
        )
        parts, rejections = prepare(self._site.name, found)
        leads = any(
            d.position or d.handed for d in discoveries
        )  # it must be read each time, for those it leads to
        return Outcome(
            attempt=attempt, kind=Kind.DONE, status=response.status, discoveries=discoveries, parts=parts,
            rejections=rejections, dropped=_sum(found.dropped, dropped),
            etag=None if leads else validators.kept(response.headers, "etag"),
            modified=None if leads else validators.kept(response.headers, "last-modified"),
            code=self._code(handler), cut=found.cut, complete=self._site.complete(handler),
        )  # fmt: skip


def _tells(response: Response) -> bool:
    """Whether an answer may say that nobody is logged in: not one that says that there is no such page."""
    return 200 <= response.status < 500 and response.status not in (304, 404, 410, 429)


def prepare(source: str, found: Extracted) -> tuple[list[PartWrite], list[Rejection]]:
    """The page's records, encoded; what cannot be stored, or contradicts an earlier one of the page, is rejected."""
    parts: dict[tuple[str, str], PartWrite] = {}
    rejections = [replace(r, reason=hidden(r.reason), value=hidden(r.value)) for r in found.rejections]
    for record in found.records:
        try:
            write = records.prepare(source, record)
        except NotStorable as error:
            rejections.append(Rejection(record.type, ascii(record.key), str(error)))
            continue
        first = parts.setdefault((write.record, write.part), write)
        if first.hash != write.hash:
            rejections.append(
                Rejection(record.type, write.key, "twice on one page, with different data", write.data[:200])
            )
    return list(parts.values()), rejections


def _sum(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    return {reason: one.get(reason, 0) + other.get(reason, 0) for reason in {*one, *other}}
