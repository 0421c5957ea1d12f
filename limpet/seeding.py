"""Where a crawl starts: URLs, or a function that gives them anew each time a crawl starts."""

from __future__ import annotations

import inspect
import re
import traceback
from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from typing import Any, Self

import ada_url

from limpet import clean, links
from limpet_store.canonical import admit
from limpet_store.errors import SiteError, URLRejected
from limpet_store.items import Link
from limpet_store.scope import ANY, Bounds

Seeds = Iterable[str | Link]
_FIRST = 1  # the priority of sitemaps: they say what there is


@dataclass(frozen=True, slots=True)
class Entries:
    """What a site file says of where a crawl starts and of what is in scope."""

    function: Callable[[], Seeds] | None  # gives the seeds; it is called anew by each crawl
    seeds: tuple[Link, ...]  # that the file spells out
    maps: tuple[Link, ...]
    sitemaps: bool | tuple[str, ...]
    lastmod: bool
    hosts: frozenset[str]

    @classmethod
    def of(cls, seeds: Any, sitemaps: Any, lastmod: Any, hosts: Any, problems: list[str]) -> Self:
        """What was given, checked; what is wrong joins `problems`."""
        function = seeds if callable(seeds) else None
        if function:
            _check(function, problems)
        given = () if function else _listed("seeds", seeds, problems)
        named = () if sitemaps is True else _listed("sitemaps", sitemaps or (), problems)
        maps = tuple(sitemap(each, problems) for each in named)
        return cls(
            function,
            tuple(seed(each, problems) for each in given),
            maps,
            sitemaps is True or tuple(link.url for link in maps),
            lastmod,
            frozenset(_authority(host, problems) for host in _listed("hosts", hosts or (), problems)),
        )

    def check(self, robots: bool, problems: list[str]) -> None:
        """Whether it is enough to start from; what is missing joins `problems`."""
        starts = bool(self.function or self.given)
        if not starts and not self.hosts and not problems:
            problems.append("neither seeds nor hosts: there is nothing in scope")
        if self.sitemaps is True and not (robots and starts):
            problems.append(
                "sitemaps=True asks the robots.txt of the seeds' hosts: without, name the sitemaps"
            )
        if self.lastmod is True and not self.sitemaps:
            problems.append("lastmod=True without sitemaps")

    def check_bounds(self, bounds: Bounds, problems: list[str]) -> None:
        """Whether the site wants its own seeds; what is excluded joins `problems`."""
        for link in self.seeds:
            with suppress(URLRejected, TypeError):  # which is told elsewhere
                if bounds.against_entry(bounds.admit(link.url).canonical):
                    problems.append(f"seed {link.url!r}: exclude leaves it out")

    @property
    def named(self) -> frozenset[str]:
        """The hosts that are named one by one: secrets may go there."""
        return frozenset(host for host in self.hosts if not host.startswith(ANY))

    @property
    def given(self) -> tuple[Link, ...]:
        """Seeds and sitemaps that the file spells out."""
        return self.seeds + self.maps

    def all(self, handlers: Container[str]) -> Iterable[Link]:
        """What a crawl starts from now, one by one. Raises SiteError when the function fails or gives no page."""
        return chain(self.given, called(self.function, handlers)) if self.function else self.given


def authorities(given: Iterable[Link]) -> frozenset[str]:
    """The hosts of links."""
    return frozenset(admit(link.url).authority for link in given)


def seed(given: Any, problems: list[str]) -> Link:
    """A seed as a link in plain types; what is wrong with it joins `problems`."""
    link = given if isinstance(given, Link) else Link(given)
    if not is_url(link.url):
        problems.append(f"seed {link.url!r}: not an absolute http or https URL")
        return link
    if link.merge:
        problems.append(f"seed {link.url!r}: merge collects what pages hand down; leave it out")
        return link
    try:
        return links.plain(link)
    except clean.Refused as error:
        problems.append(f"seed {link.url!r}: {error}")
        return link


def check_handlers(given: Iterable[Link], handlers: Container[str]) -> None:
    """Raise SiteError for a seed whose handler is not there."""
    for link in given:
        if link.to is not None and link.to not in handlers:
            raise SiteError(f"seed {link.url!r}: there is no handler {link.to!r}")


def sitemap(given: Any, problems: list[str]) -> Link:
    """A sitemap to start from."""
    if not is_url(given):
        problems.append(f"sitemap {given!r}: not an absolute http or https URL")
    return Link(given, kind="sitemap", priority=_FIRST)


def is_url(text: Any) -> bool:
    """Whether this is an absolute http or https URL."""
    return isinstance(text, str) and bool(re.match("https?://", text, re.I)) and ada_url.check_url(text)


def _check(function: Callable[[], Seeds], problems: list[str]) -> None:
    """Whether a function can give seeds at all; it is not called."""
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        problems.append("seeds: a plain function or generator function, not an async one")


def called(function: Callable[[], Seeds], handlers: Container[str]) -> Iterator[Link]:
    """What the function gives now, one by one. Raises SiteError, in one line, when it fails or gives no page."""
    try:
        given = function()
        if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
            raise SiteError(f"seeds: the function gave {given!r}, not URLs")
        for each in given:
            problems: list[str] = []
            link = seed(each, problems)
            if problems:
                raise SiteError(problems[0])
            check_handlers([link], handlers)
            yield link
    except (SiteError, MemoryError):
        raise
    except (Exception, SystemExit) as error:
        raise SiteError(f"seeds: {_story(error)}") from error


def _story(error: BaseException) -> str:
    words = " ".join(traceback.format_exception_only(error)[-1].split())
    frames = traceback.extract_tb(error.__traceback__)
    where = f" (line {frames[-1].lineno} of {frames[-1].filename})" if len(frames) > 1 else ""
    return f"raised {words}{where}"


def _listed(name: str, given: Any, problems: list[str]) -> Iterable[Any]:
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        problems.append(f"{name}: a list, not {given!r}")
        return ()
    return given


def _authority(host: Any, problems: list[str]) -> str:
    below = ANY if isinstance(host, str) and host.startswith(ANY) else ""
    name = host.removeprefix(ANY) if isinstance(host, str) else ""
    if not name or re.search(r"[/?#@\s\\]", name) or not is_url(f"http://{name}/"):
        problems.append(f"host {host!r}: a name, name:port or *.name")
        return ""
    try:
        # Parsed under the other scheme, a default port would stay.
        return below + admit(f"{'https' if name.endswith(':443') else 'http'}://{name}/").authority
    except URLRejected as error:
        problems.append(f"host {host!r}: {error.reason}")
        return ""
