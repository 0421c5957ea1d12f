"""Where a crawl starts: URLs, or a function that gives them anew each time a crawl starts."""

from __future__ import annotations

import inspect
import re
import traceback
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import ada_url

from limpet_store.errors import SiteError
from limpet_store.items import Link

Seeds = Iterable[str | Link]
_FIRST = 1  # the priority of sitemaps: they say what there is


def seed(given: Any, problems: list[str]) -> Link:
    """A seed as a link; what is wrong with it joins `problems`."""
    link = given if isinstance(given, Link) else Link(given)
    if not is_url(link.url):
        problems.append(f"seed {link.url!r}: not an absolute http or https URL")
    return link


def sitemap(given: Any, problems: list[str]) -> Link:
    """A sitemap to start from."""
    if not is_url(given):
        problems.append(f"sitemap {given!r}: not an absolute http or https URL")
    return Link(given, kind="sitemap", priority=_FIRST)


def is_url(text: Any) -> bool:
    """Whether this is an absolute http or https URL."""
    return isinstance(text, str) and bool(re.match("https?://", text, re.I)) and ada_url.check_url(text)


def check(function: Callable[[], Seeds], problems: list[str]) -> None:
    """Whether a function can give seeds at all; it is not called."""
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        problems.append("seeds: a plain function or generator function, not an async one")


def called(function: Callable[[], Seeds]) -> Iterator[Link]:
    """What the function gives now, one by one. Raises SiteError, in one line, when it fails or gives no URL."""
    try:
        given = function()
        if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
            raise SiteError(f"seeds: the function gave {given!r}, not URLs")
        for each in given:
            problems: list[str] = []
            link = seed(each, problems)
            if problems:
                raise SiteError(problems[0])
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
