"""JSON-LD: the `<script type="application/ld+json">` blocks of a page.

Read as data, not as RDF: contexts are not applied, values stay as they are written (entities and relative URLs
included). A block that cannot be read costs itself alone; half a block is never taken.
"""

from __future__ import annotations

from typing import Any

from limpet.structured.nodes import Node, Nodes, top_of
from limpet.structured.tolerant import Broken, Budget, values
from limpet_store.items import JSON

_MOST_BLOCKS = 10_000


def read(root: Any) -> Nodes:
    """The top nodes of all blocks below the element `root`, in the page's order."""
    top: list[Node] = []
    errors: list[str] = []
    budget = Budget()
    blocks = (script for script in root.iter("script") if _is_jsonld(script.get("type")))
    for number, script in enumerate(blocks, 1):
        if number > _MOST_BLOCKS:
            errors.append(f"JSON-LD: more than {_MOST_BLOCKS} blocks")
            break
        try:
            top += top_of(_block(script.text or "", budget))
        except Broken as error:
            errors.append(f"JSON-LD block {number}: {error}")
    return Nodes(top, errors, top, "JSON-LD")


def _is_jsonld(kind: str | None) -> bool:
    return kind is not None and kind.partition(";")[0].strip().lower() == "application/ld+json"


def _block(text: str, budget: Budget) -> JSON:
    found = values(text, budget)
    if len(found) == 1 and isinstance(found[0], str) and found[0].lstrip()[:1] in ("{", "["):  # encoded twice
        return values(found[0], budget)
    return found
