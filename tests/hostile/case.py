"""A row of the tables, and short ways to write the common ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hostile.answers import page
from hostile.server import Answer, Answers, Script

from limpet import Page, Record

NONE: Mapping[str, Any] = {}
Headers = Mapping[str, str | None]


def path_of(page: Page) -> str:
    """Path and query of a page's URL."""
    return "/" + page.url.split("/", 3)[3]


def read(page: Page) -> Any:
    """A record of each heading, known by the page's path; and the links."""
    for text in page.all("h1"):
        yield Record("page", path_of(page), {"text": text})
    yield from page.links()


@dataclass(frozen=True, kw_only=True)
class Case:
    """A row of the table. All of what is stored is compared: pages, records and requests that are not named fail it.

    `pages` has each page of the store by its URL (on HERE its path), with its state and, where there is one, the
    reason: "done", "dead: cut short". `records` are the texts by path, `asked` the requests by path; those of OTHER
    have its URL before the path. Every record must have exactly one message for each version, in order.
    """

    name: str
    here: Answers
    other: Answers = field(default_factory=dict)
    greeting: Script | None = None
    seeds: tuple[str, ...] = ("/",)
    site: Mapping[str, Any] = field(default_factory=dict)
    tune: Mapping[str, float] = field(default_factory=dict)
    later: Mapping[str, float] = field(default_factory=dict)  # what is tuned from the second round on
    reads: tuple[Callable[[Page], Any], ...] = (read,)  # the handler, by round
    rounds: int = 1
    until: int = 0  # so many requests are enough: what is left stays pending
    pages: Mapping[str, str]
    records: Mapping[str, str] = field(default_factory=dict)
    asked: Mapping[str, int]
    versions: Mapping[str, int] = field(default_factory=dict)  # by path, where it is not 1
    gone: frozenset[str] = frozenset()  # paths of records that are gone
    rejected: int = 0
    dropped: Mapping[str, int] = field(default_factory=dict)  # links left out, over all pages, by reason
    told: Mapping[str, str] = field(default_factory=dict)  # what the error of a page says
    columns: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # of pages
    sent: Mapping[str, Headers] = field(default_factory=dict)  # of the last request to a path
    host: Mapping[str, Any] = field(default_factory=dict)  # columns of HERE's host
    untouched: bool = False  # OTHER may have been connected to, and got no byte
    env: Mapping[str, str] = field(default_factory=dict)
    hidden: str = ""  # what is nowhere in the store, nor in the log
    connections: int | None = None  # to HERE

    def __repr__(self) -> str:
        return self.name


def done(name: str, script: Answer | Sequence[Answer], text: str | None = "hello", **more: Any) -> Case:
    """One page, read at the first request."""
    records = {} if text is None else {"/": text}
    given = {"here": {"/": script}, "pages": {"/": "done"}, "records": records, "asked": {"/": 1}}
    return Case(name=name, **{**given, **more})


def fails(
    name: str, script: Answer, reason: str, asked: int = 2, requests: Mapping[str, int] = NONE, **more: Any
) -> Case:
    """One page that is never read; by default it is tried again. `requests` are those to other paths."""
    given = {"here": {"/": script}, "pages": {"/": f"dead: {reason}"}, "asked": {"/": asked, **requests}}
    return Case(name=name, **{**given, **more})


def keeps(name: str, script: Answer, state: str, asked: int = 2, **more: Any) -> Case:
    """A page that was whole, and at its second visit is not: its record, its version and its link stay."""
    given = {
        "here": {"/": [page("hello", "/a"), script], "/a": page("there")},
        "rounds": 2, "pages": {"/": state, "/a": "done"}, "records": {"/": "hello", "/a": "there"},
        "asked": {"/": 1 + asked, "/a": 2},
    }  # fmt: skip
    return Case(name=name, **{**given, **more})
