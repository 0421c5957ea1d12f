"""The handlers of a site: which page goes to which, and what their code is."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from limpet import code
from limpet.page import Page
from limpet.patterns import Pattern
from limpet.shapes import Shapes
from limpet_store.errors import SiteError
from limpet_store.periods import Periods

Handler = Callable[[Page], Any]


class Handlers:
    """Handlers by name, and the patterns that lead to them, in the order of the file."""

    def __init__(self, shapes: Shapes) -> None:
        self._shapes = shapes
        self._named: dict[str, Handler] = {}
        self._patterns: list[tuple[Pattern, str]] = []
        self._periods: list[tuple[Pattern, str, float]] = []
        self._codes: dict[str, str] = {}
        self._complete: set[str] = set()

    def __contains__(self, name: object) -> bool:
        return name in self._named

    def __iter__(self) -> Iterator[str]:
        return iter(self._named)

    def get(self, name: str | None) -> Handler | None:
        """The handler of this name."""
        return self._named.get(name or "")

    def register(
        self, pattern: Pattern, handler: Handler, *, complete: bool = False, refresh: float | None = None
    ) -> None:
        """`refresh` is in seconds. Raises SiteError for what is no plain function, and for a second handler of a
        name."""
        name = getattr(handler, "__name__", "")
        if not inspect.isfunction(inspect.unwrap(handler)) or inspect.iscoroutinefunction(handler):
            raise SiteError(f"@site.page({pattern.text!r}): a handler is a plain function")
        if self._named.setdefault(name, handler) is not handler:
            raise SiteError(f"a second handler {name!r}: each needs a name of its own")
        self._patterns.append((pattern, name))
        self._periods.append((pattern, name, refresh or 0.0))
        if complete:
            self._complete.add(name)
        self._codes.pop(name, None)

    def forget_codes(self) -> None:
        """Something that all their codes may depend on has changed."""
        self._codes.clear()

    def match(self, url: str) -> str | None:
        """The name of the first handler whose pattern fits."""
        return next((name for pattern, name in self._patterns if pattern.params(url) is not None), None)

    def route(self, handler: str, url: str) -> tuple[str, Mapping[str, str]]:
        """The handler's first pattern that fits the URL, and what it names there; "" and nothing where none fits."""
        for pattern, name in self._patterns:
            if name == handler and (params := pattern.params(url)) is not None:
                return pattern.text, params
        return "", {}

    def period(self, handler: str | None, url: str) -> int:
        """How often a page is due again by itself, in ms; 0: not by itself. `handler` is the one that its link chose:
        where none of its patterns fits the URL, its first says."""
        mine = [each for each in self._periods if handler in (None, each[1])]
        fits = (seconds for pattern, _, seconds in mine if pattern.params(url) is not None)
        first = mine[0][2] if handler and mine else 0.0
        return round(1000 * next(fits, first))

    def periods(self) -> Periods | None:
        """All of them; None where no page has one."""
        told = [(pattern.text, name, seconds) for pattern, name, seconds in self._periods]
        longest = max((seconds for _, _, seconds in told), default=0.0)
        return Periods(self.period, round(1000 * longest), repr(told)) if longest else None

    def code(self, name: str | None) -> str:
        """See `Site.code`."""
        handler = self.get(name)
        if name is None or handler is None:
            return ""
        if name not in self._codes:
            extra = "-complete" if name in self._complete else ""  # what it no longer gives now matters
            self._codes[name] = code.code_hash(handler, self._shapes) + extra
        return self._codes[name]

    def complete(self, name: str | None) -> bool:
        """See `Site.complete`."""
        return name in self._complete

    def leads(self, name: str | None) -> bool:
        """See `Site.leads`."""
        handler = self.get(name)
        return handler is not None and bool(getattr(handler, "leads", None) or code.leads(handler))
