"""How much markup one page may hold, told from its bytes before anything is built: an element of four bytes becomes 130
in memory, a link 400, and an element of many attributes takes time that grows with their square.

What is counted may be a little more than a parser finds (in scripts, in comments), so the bounds lie far above what
pages have.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from limpet_store.errors import ExtractError
from limpet_store.failures import TOO_MANY_LINKS, UNREADABLE

if TYPE_CHECKING:
    from limpet_consumers.runtime import Knobs

SPARE = 10  # times `max_links` anchors: most of them lead to the same pages, or nowhere
MOST_ATTRIBUTES = 2_000  # of one element
ATTRIBUTES_EACH = 4  # on average, of as many elements as there may be
CROWDED = 128_000  # bytes: an element in less costs a second, not hours
_ANCHOR = re.compile(rb"<a[\s/]", re.I)
_ATTRIBUTE = rb"""(?>[\s/]*+[^\s/>=][^\s/>=]*+(?:\s*+=\s*+(?:"[^"]*+"|'[^']*+'|[^\s>"'][^\s>]*+))?+)"""
# As far as no element has too many attributes, in one pass that never goes back.
_SPARSE = re.compile(
    rb"(?:[^<]*+<(?:(?![a-zA-Z])|[a-zA-Z]\w*+>|[a-zA-Z][^\s/>]*+(?:%s){0,%d}+(?!%s)))*+[^<]*+"
    % (_ATTRIBUTE, MOST_ATTRIBUTES, _ATTRIBUTE)
)
# One that has, outside comments and scripts. Each alternative eats what it looked at: it is linear too.
_MANY = re.compile(
    rb"<!--(?:-?>|.*?(?:--!?>|\Z))|<(script|style)\b[^>]*+(?<!/)>.*?(?:</\1|\Z)"
    rb"|<[a-z][^\s/>]*+(?:(?P<many>%s{%d})|%s*+)" % (_ATTRIBUTE, MOST_ATTRIBUTES + 1, _ATTRIBUTE),
    re.I | re.S,
)


class Bounds(NamedTuple):
    """What a document may hold."""

    links: int
    elements: int

    def check(self, source: bytes) -> None:
        """Raise ExtractError for a document (in UTF-8) over them. Small ones cost nothing: they cannot be."""
        if len(source) > 3 * self.links or len(source) > 3 * self.elements:
            self._count(source)
        if len(source) > CROWDED and _crowded(source):
            raise ExtractError(f"an element with more than {MOST_ATTRIBUTES:,} attributes", UNREADABLE)

    def _count(self, source: bytes) -> None:
        elements = source.count(b"<") - source.count(b"</")
        if elements > self.links and sum(1 for _ in _ANCHOR.finditer(source)) > self.links:
            raise ExtractError(f"more than {self.links:,} links; see tune(max_links=)", TOO_MANY_LINKS)
        if elements > self.elements or source.count(b"=") > ATTRIBUTES_EACH * self.elements:
            raise ExtractError(
                f"more than {self.elements:,} elements, or {ATTRIBUTES_EACH} attributes for each; "
                "see tune(max_elements=)",
                UNREADABLE,
            )


@lru_cache(maxsize=8)
def of(knobs: Knobs) -> Bounds:
    """Those of a site."""
    return Bounds(max(DEFAULT.links, SPARE * knobs.max_links), knobs.max_elements)


DEFAULT = Bounds(100_000, 250_000)


def _crowded(source: bytes) -> bool:
    sparse = _SPARSE.match(source)
    whole = sparse is not None and sparse.end() == len(source)
    return not whole and any(found["many"] for found in _MANY.finditer(source))
