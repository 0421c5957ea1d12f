"""HTML microdata, as the HTML standard collects it, in the shape of JSON-LD.

Beside the standard, as search engines do it: a `content` attribute is the value of any element, scripts and styles
are no text, and an item with `itemprop` that belongs to no other item is a top item. Texts are stripped, each run of
whitespace one space.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lxml import etree

from limpet.structured.nodes import Node, Nodes
from limpet.structured.tolerant import DEEPEST
from limpet.structured.urls import Absolute
from limpet_store.items import JSON

_MOST = 2_000_000  # steps through elements and characters of text, for one page
_PROPERTY = 10  # steps that a property costs
# Attributes, as a walk that only asks for one is five times faster than one that asks for elements with it.
_items, _properties, _refers, _ids = (
    etree.XPath(f"descendant-or-self::*/@{name}") for name in ("itemscope", "itemprop", "itemref", "id")
)
_text: Callable[[Any], Any] = etree.XPath(
    "descendant::text()[not(parent::script or parent::style)]", smart_strings=False
)
_URL = dict.fromkeys(["audio", "embed", "iframe", "img", "source", "track", "video"], "src")
_URL |= {"a": "href", "area": "href", "link": "href", "object": "data"}
_PLAIN = {"data": "value", "meter": "value", "time": "datetime"}


class _TooMuch(Exception):
    """More than a page is worth: items that refer to items that refer to items."""


def read(root: Any, absolute: Absolute) -> Nodes:
    """The top items below the element `root`, in the page's order."""
    reader = _Reader(root, absolute)
    top: list[Node] = []
    try:
        reader.collect()
        for item in sorted(reader.items, key=lambda item: item.get("itemprop") is not None):
            if item not in reader.reached:
                top.append(reader.node(item, ()))  # noqa: PERF401 - `reached` grows meanwhile
    except _TooMuch:
        reader.errors["microdata: too much of it in one page"] = None
    return Nodes(top, list(reader.errors), top, "microdata")


class _Reader:
    def __init__(self, root: Any, absolute: Absolute) -> None:
        self.root = root
        self.absolute = absolute
        self.errors: dict[str, None] = {}  # once each
        self.items: list[Any] = []
        self.reached: set[Any] = set()  # items that are the value of a property
        self.order: dict[Any, int] = {}
        self.inside: dict[Any, list[Any]] = {}  # item or target of an itemref: the properties it brings
        self.targets: dict[str, Any] = {}
        self.left = _MOST

    def collect(self) -> None:
        """Bring each property to the item it stands in, and to each `itemref` that points at it."""
        self.items = _having(_items, self.root)
        if not self.items:
            return
        if _having(_refers, self.root):
            for element in _having(_ids, self.root):
                self.targets.setdefault(element.get("id"), element)
        pointed = set(self.targets.values())
        for number, element in enumerate(_having(_properties, self.root)):
            self.order[element] = number
            self._bring(element, pointed)

    def _bring(self, element: Any, pointed: set[Any]) -> None:
        if element in pointed and element.get("itemscope") is None:
            self.inside.setdefault(element, []).append(element)
        outer = element.getparent()
        while outer is not None:
            self._spend(1)
            is_item = outer.get("itemscope") is not None
            if is_item or outer in pointed:
                self.inside.setdefault(outer, []).append(element)
            outer = None if is_item else outer.getparent()

    def _spend(self, steps: int) -> None:
        self.left -= steps
        if self.left < 0:
            raise _TooMuch

    def node(self, item: Any, around: tuple[Any, ...]) -> Node:
        """The item as a node. `around` are the items that it is a value in."""
        found: Node = {}
        types = [_without_schema(name) for name in item.get("itemtype", "").split()]
        if types:
            found["@type"] = types[0] if len(types) == 1 else types
        if item.get("itemid"):
            found["@id"] = self.absolute(item.get("itemid"))
        if len(around) >= DEEPEST // 2:
            self.errors["microdata: items nested too deeply"] = None
            return found
        for name, given in self._properties(item, (*around, item)).items():
            found[name] = given[0] if len(given) == 1 else given
        return found

    def _properties(self, item: Any, around: tuple[Any, ...]) -> dict[str, list[JSON]]:
        found: dict[str, list[JSON]] = {}
        for element in self._elements(item):
            self._spend(_PROPERTY)
            if element.get("itemscope") is None:
                value: JSON = self._value(element)
            elif element in around:
                self.errors["microdata: an item that is inside itself"] = None
                continue
            else:
                self.reached.add(element)
                value = self.node(element, around)
            for name in dict.fromkeys(element.get("itemprop").split()):
                found.setdefault(_without_schema(name), []).append(value)
        return found

    def _elements(self, item: Any) -> list[Any]:
        own = self.inside.get(item, [])
        refs = item.get("itemref", "").split()
        if not refs:
            return own
        together = dict.fromkeys(own)
        for ref in refs:
            target = self.targets.get(ref)
            if target is not None and target.get("itemscope") is not None:
                together |= dict.fromkeys([target] if target.get("itemprop") is not None else [])
            else:
                together |= dict.fromkeys(self.inside.get(target, []))
            self._spend(len(together) + 1)
        return sorted(together, key=lambda element: self.order[element])

    def _value(self, element: Any) -> str:
        content: str | None = element.get("content")
        if content is not None or element.tag == "meta":
            return (content or "").strip()
        if element.tag in _URL:
            url = element.get(_URL[element.tag])
            return "" if url is None else self.absolute(url)
        if element.tag in _PLAIN and (plain := element.get(_PLAIN[element.tag])) is not None:
            return str(plain).strip()
        text = "".join(_text(element))
        self._spend(len(text))
        return " ".join(text.split())


def _having(attribute: Callable[[Any], Any], root: Any) -> list[Any]:
    """The elements below `root` that have it, in the page's order."""
    return [value.getparent() for value in attribute(root)]


def _without_schema(name: str) -> str:
    for vocabulary in (
        "http://schema.org/",
        "https://schema.org/",
        "http://www.schema.org/",
        "https://www.schema.org/",
    ):
        if name.lower().startswith(vocabulary):
            return name[len(vocabulary) :] or name
    return name
