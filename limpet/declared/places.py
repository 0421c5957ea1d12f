"""Where values stand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from limpet import clean, markup
from limpet.declared.tables import Table, near
from limpet.page import Page
from limpet.paths import BadPath, Path, path
from limpet_store.items import JSON

Get = Callable[["Seen", Any], JSON]  # from a page and the item of `each`; None where nothing is
PLACES = (  # keys of a field
    "css",
    "json",
    "path",
    "jsonld",
    "microdata",
    "embedded",
    "opengraph",
    "param",
    "data",
    "page",
    "value",
)
WITH_PATH = ("jsonld", "microdata", "embedded")


class Seen:
    """A page while its handler reads it. What is made of the whole page is made once."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self._made: dict[tuple[object, ...], Any] = {}

    @cached_property
    def json(self) -> JSON:
        return self.page.json()

    @cached_property
    def opengraph(self) -> JSON:
        return self.page.opengraph()

    def nodes(self, kind: str, types: tuple[str, ...]) -> Any:
        """The nodes of JSON-LD or microdata."""
        return self._once((kind, types), lambda: getattr(self.page, kind)(*types))

    def embedded(self, name: str) -> JSON:
        """The data; None where there is none. Raises MissingValue for what is there and is no literal."""
        return self._once(("embedded", name), lambda: self.page.embedded(name, None))

    def _once(self, key: tuple[object, ...], make: Callable[[], Any]) -> Any:
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]


@dataclass(frozen=True, slots=True)
class Setting:
    """What holds for all values of a page: its parameters, the names of all pages, and what a text alone means."""

    params: frozenset[str]
    digits: frozenset[str]  # those of the parameters that are digits
    pages: frozenset[str]
    alone: str = "css"  # or "path": below an item of JSON


@dataclass(frozen=True, slots=True)
class Place:
    """A place that is no selector. `label` names it to people."""

    label: str
    get: Get
    every: Callable[[Seen], Iterable[JSON]] | None = None  # where there may be more than `get` gives
    errors: Callable[[Seen], list[str]] = lambda seen: []  # what could not be read there

    def items(self, seen: Seen, below: Any) -> Iterator[JSON]:
        """What is there, lists opened."""
        for value in self.every(seen) if self.every else (self.get(seen, below),):
            if isinstance(value, list):
                yield from value
            elif value is not None:
                yield value


def kind_of(table: Table, setting: Setting, places: Sequence[str] = PLACES) -> str | None:
    """The one key among `places` that says where the value stands; None with a mistake noted."""
    found = [name for name in places if name in table and not (name == "path" and _joins(table))]
    if len(found) != 1:
        said = " and ".join(found) or "no place"
        table.wrong(f"{said}: where does it stand? One of {', '.join(places)} is needed")
        return None
    if found == ["path"] and setting.alone != "path":
        table.wrong("path goes with jsonld, microdata or embedded, or below an `each` of JSON")
        return None
    return found[0]


def _joins(table: Table) -> bool:
    return any(name in table for name in WITH_PATH)


def selector(table: Table, key: str = "css", *, elements: bool = False) -> str | None:
    """The selector under `key`, tried once; `elements`: it must select elements."""
    css = table.word(key)
    if not css:
        return None
    try:
        markup.select(css, False)
    except Exception as error:  # cssselect's, parsel's and libxml2's own
        table.wrong(f"{key} {css!r} is no CSS selector: {' '.join(str(error).split())}")
        return None
    if elements and "::" in css:
        table.wrong(f"{key} {css!r} selects text; elements are needed here")
        return None
    return css


def place(table: Table, kind: str, setting: Setting) -> Place | None:
    """A place of any kind but css; None with a mistake noted."""
    if kind == "value":
        return _constant(table)
    if kind in WITH_PATH:
        return _with_path(table, kind)
    text = table.word(kind)
    if not text:
        return None
    if kind in _BY_PATH:
        step = _path(table, kind)
        return None if step is None else Place(text, _BY_PATH[kind](step))
    known = {"param": setting.params, "page": frozenset({"url"})}.get(kind)
    if known is not None and text not in known:
        table.wrong(f"{kind} {text!r} is not there{near(text, known)}")
        return None
    return Place(f"{kind} {text}", _BY_NAME[kind](text))


def _constant(table: Table) -> Place | None:
    try:
        value = clean.tidy(table.given["value"], "value")
    except clean.Refused as error:
        table.wrong(str(error))
        return None
    return Place("value", lambda seen, below: value)


def _with_path(table: Table, kind: str) -> Place | None:
    names = (table.word(kind),) if kind == "embedded" else tuple(table.words(kind, needed=True))
    step = _path(table, "path") if "path" in table else _same
    if not names or not all(names) or step is None:
        return None
    label = f"{kind} {' or '.join(names)}" + (f": {table.given['path']}" if "path" in table else "")
    if kind == "embedded":
        return Place(label, lambda seen, below: step(seen.embedded(names[0])))
    return _nodes(label, kind, names, step)


def _nodes(label: str, kind: str, types: tuple[str, ...], step: Path) -> Place:
    def first(seen: Seen, below: Any) -> JSON:
        found = seen.nodes(kind, types)
        return step(found[0]) if found else None

    def every(seen: Seen) -> Iterable[JSON]:
        return map(step, seen.nodes(kind, types))

    return Place(label, first, every, lambda seen: seen.nodes(kind, types).errors)


def _path(table: Table, key: str) -> Path | None:
    text = table.word(key)
    try:
        return path(text) if text else None
    except BadPath as error:
        table.wrong(f"{key} {error}")
        return None


def _same(value: JSON) -> JSON:
    return value


_BY_PATH: Mapping[str, Callable[[Path], Get]] = {
    "json": lambda step: lambda seen, below: step(seen.json),
    "path": lambda step: lambda seen, below: step(below),
    "data": lambda step: lambda seen, below: step(seen.page.data),
}
_BY_NAME: Mapping[str, Callable[[str], Get]] = {
    "opengraph": lambda name: lambda seen, below: seen.opengraph.get(name),
    "param": lambda name: lambda seen, below: seen.page.params.get(name),
    "page": lambda name: lambda seen, below: seen.page.url,
}
