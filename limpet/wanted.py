"""What a user asks to enqueue: URLs and JSON lines, each checked with its line number."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from limpet import clean, links
from limpet.shown import one_line
from limpet_producer import enqueue
from limpet_store.admission import HostRules
from limpet_store.items import Link
from limpet_store.scope import Scope
from limpet_store.store import Store

CHUNK = 1_000  # lines in one transaction
NAMED = 3  # rejected lines that are named for each reason
FIELDS = frozenset({"url", "to", "data", "priority"})


@dataclass(frozen=True, slots=True)
class Defaults:
    """What holds for a line that does not say otherwise, and the handlers there are."""

    to: str | None
    priority: int
    handlers: Collection[str]


@dataclass(slots=True)
class Report:
    """What became of the lines. `examples` holds the first few rejected ones of each reason."""

    new: int = 0
    known: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)

    @property
    def rejected(self) -> int:
        return self.reasons.total()

    def reject(self, line: int, url: str, reason: str, more: str = "") -> None:
        self.reasons[reason] += 1
        if self.reasons[reason] <= NAMED:
            self.examples.append(one_line(f"line {line}: {reason}: {url}{more and f' ({more})'}"))


class _Wrong(ValueError):
    """A line that cannot be a page: the reason for counting, and more for people."""

    def __init__(self, reason: str, more: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.more = more


def enqueue_lines(
    store: Store, lines: Iterable[str], defaults: Defaults, scope: Scope, rules: HostRules, *, now: int
) -> Report:
    """Enqueue what the lines name, in transactions of up to 1,000; blank lines and comments (#) are skipped.

    Wrong lines cost nothing but themselves. A kill loses no line of a finished chunk; running it again is safe.
    """
    report = Report()
    numbered = _numbered(lines)
    while chunk := list(islice(numbered, CHUNK)):
        pages: list[Link] = []
        places: dict[str, list[int]] = {}  # URL -> its lines
        for number, text in chunk:
            try:
                link = _link(text, defaults)
            except _Wrong as error:
                report.reject(number, text, error.reason, error.more)
                continue
            pages.append(link)
            places.setdefault(link.url, []).append(number)
        done = enqueue.links(store, pages, scope, rules, now=now)
        report.new += done.new
        report.known += len(pages) - len(done.rejected) - done.new
        for url, reason in done.rejected:
            report.reject(places[url].pop(0), url, reason)
    return report


def _numbered(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(lines, 1):
        text = line.strip(" \t\r\n\ufeff")
        if text and not text.startswith("#"):
            yield number, text


def _link(text: str, defaults: Defaults) -> Link:
    if not text.startswith("{"):
        return Link(text, defaults.to, None, defaults.priority)
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        raise _Wrong("not JSON") from None
    if not isinstance(given.get("url"), str):
        raise _Wrong('no "url"')
    if unknown := given.keys() - FIELDS:
        raise _Wrong("unknown field", f"{min(unknown)!r}; there are: {', '.join(sorted(FIELDS))}")
    return Link(
        given["url"].strip(),
        _handler(given.get("to") or defaults.to, defaults.handlers),
        _data(given.get("data")),
        _priority(given.get("priority", defaults.priority)),
    )


def _handler(name: Any, handlers: Collection[str]) -> str | None:
    if name is None or name in handlers:
        return name  # type: ignore[no-any-return]
    raise _Wrong("no such handler", f"{name!r}; there are: {listed(handlers)}")


def listed(handlers: Collection[str]) -> str:
    """The handlers there are."""
    return ", ".join(sorted(handlers)) or "none"


def _data(value: Any) -> Any:
    try:
        return clean.handed_down(value)
    except clean.Refused as error:
        raise _Wrong("data cannot be stored", error.reason) from None


def _priority(value: Any) -> int:
    try:
        return links.priority(value)
    except clean.Refused:
        raise _Wrong("priority is no whole number within a million") from None
