"""What structured data is made of: nodes, which are plain dicts with an "@type"."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any

from limpet.missing import MissingValue
from limpet_store.items import JSON

Node = dict[str, JSON]
_ONLY_NAMED = {"@id", "@type"}
_REQUIRED: Any = object()


class Nodes(list[Node]):
    """Nodes of one page, and `errors`: what of the page could not be read, each with its place.

    An empty list with errors is a page that may have had more; one without errors has none.
    """

    def __init__(self, nodes: Iterable[Node], errors: Sequence[str], top: Sequence[Node], what: str) -> None:
        super().__init__(nodes)
        self.errors = list(errors)
        self._top = top
        self._what = what

    def one(self, default: Any = _REQUIRED) -> Node | Any:
        """The first node; where there is none `default`.

        Without a default raises MissingValue, naming the type and what could not be read: it ends the handler
        with a rejection, and keeps what was yielded before.
        """
        if self:
            return self[0]
        if default is not _REQUIRED:
            return default
        raise MissingValue("; ".join([f"no {self._what} in this page", *self.errors[:3]]))

    def of(self, *types: str) -> Nodes:
        """Those of the page's nodes that have one of these types, wherever they are nested; all top nodes for none.

        The less deeply nested come first, then in the page's order. Types are compared without vocabulary and
        case: "Product" is "http://schema.org/Product" and "schema:product", but no subtype of it.
        """
        if not types:
            return Nodes(self._top, self.errors, self._top, self._what)
        wanted = {local(name) for name in types}
        found = (node for node in everywhere(self._top) if not wanted.isdisjoint(map(local, types_of(node))))
        return Nodes(found, self.errors, self._top, f"{' or '.join(types)} ({self._what})")

    def resolve(self, reference: JSON) -> JSON:
        """The page's node that `{"@id": ...}` stands for, or, where there is none, `reference` itself.

        One step: references inside the node stay as they are, so that a cycle cannot grow.
        """
        if not isinstance(reference, dict) or set(reference) - _ONLY_NAMED or "@id" not in reference:
            return reference
        wanted = reference["@id"]
        return self._by_id.get(wanted, reference) if isinstance(wanted, str) else reference

    @cached_property
    def _by_id(self) -> dict[str, Node]:
        found: dict[str, Node] = {}
        for node in everywhere(self._top):
            name = node.get("@id")
            if isinstance(name, str) and set(node) - _ONLY_NAMED:
                found.setdefault(name, node)
        return found


def types_of(node: Node) -> list[str]:
    """The types of a node, as they are written."""
    given = node.get("@type")
    return [name for name in (given if isinstance(given, list) else [given]) if isinstance(name, str)]


def local(name: str) -> str:
    """A type or property without its vocabulary, in lower case."""
    return name.strip().rstrip("/#").replace("#", "/").replace(":", "/").rpartition("/")[2].lower()


def top_of(value: JSON) -> Iterator[Node]:
    """The nodes that a JSON-LD value holds at its top: lists are opened, and graphs, which may nest."""
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, list):
            yield from top_of(item)
        elif isinstance(item, dict):
            if "@graph" not in item or "@type" in item:
                yield item
            if "@graph" in item:
                yield from top_of(item["@graph"])


def everywhere(top: Sequence[Node]) -> Iterator[Node]:
    """These nodes and all that are nested in them, level by level."""
    seen: set[int] = set()
    level: list[JSON] = list(top)
    while level:
        deeper: list[JSON] = []
        for value in level:
            if isinstance(value, list):
                deeper += [item for item in value if isinstance(item, (dict, list))]
            elif id(value) not in seen:
                seen.add(id(value))
                yield value
                inner = (item for key, item in value.items() if key != "@context")
                deeper += [item for item in inner if isinstance(item, (dict, list))]
        level = deeper
