"""Data that pages carry for machines: JSON-LD, microdata, scripts' own state, OpenGraph.

Users reach it through `Page.jsonld`, `microdata`, `embedded` and `opengraph`; nothing here is imported before.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from limpet_store.errors import ExtractError
from limpet_store.items import JSON

if TYPE_CHECKING:
    from limpet.page import Page

_STATE = re.compile(r"(?:window|self|globalThis)\.([\w$]{1,80})\s*=(?=\s*(?:[{\[]|JSON\.parse))")
_MOST_STATES = 50


class Found(NamedTuple):
    """Something that a page says about itself: `page.jsonld(type)`, or `page.embedded(type)`, gives it."""

    kind: str  # "jsonld", "microdata", "embedded" or "opengraph": the name of the Page method
    type: str  # "Product"; of embedded data its name; of OpenGraph its og:type, or ""
    node: JSON


def survey(page: Page) -> list[Found]:
    """All the structured data of a page: every node that has a type, nested ones after those around them.

    For a person who begins a site file: it costs what all four methods cost together. What cannot be read is
    left out; `page.jsonld().errors` and `page.microdata().errors` name it.
    """
    found = [Found("jsonld", *pair) for pair in _typed(page.jsonld())]
    found += [Found("microdata", *pair) for pair in _typed(page.microdata())]
    for name in _names(page):
        with suppress(ExtractError):
            found.append(Found("embedded", name, page.embedded(name)))
    if graph := page.opengraph():
        found.append(Found("opengraph", str(graph.get("og:type", "")), graph))
    return found


def _typed(top: list[dict[str, JSON]]) -> Iterator[tuple[str, JSON]]:
    from limpet.structured.nodes import everywhere, types_of

    for node in everywhere(top):
        for name in types_of(node)[:1]:
            yield name, node


def _names(page: Page) -> list[str]:
    """What `page.embedded` could be asked for: scripts of JSON with an id, and variables of the window."""
    names: dict[str, None] = {}
    for script in page.selector.root.iter("script"):
        kind = (script.get("type") or "").lower()
        if "json" not in kind:
            names |= dict.fromkeys(_STATE.findall(script.text or ""))
        elif "ld+json" not in kind and script.get("id"):
            names[script.get("id")] = None
    return list(names)[:_MOST_STATES]
