"""What a match of a selector shows to a reader of numbers or dates."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

from lxml import etree

from limpet import markup
from limpet.values.plain import NotRead

_texts: Any = etree.XPath("descendant::text()[normalize-space()]", smart_strings=False)


def figures(found: Any) -> str:
    """The text of a match. Raises NotRead where two elements' digits meet: `5<sup>99</sup>` is not 599."""
    text = markup.text_of(found)
    if not isinstance(found, str):
        _check_seams(text, _texts(found))
    return text


def _check_seams(text: str, pieces: Iterable[str]) -> None:
    for left, right in pairwise(piece.strip() for piece in pieces):
        if left[-1:].isdigit() and right[:1].isdigit():
            raise NotRead(text, f"{left[-20:]!r} and {right[:20]!r} stand in two elements")


def moment(found: Any) -> str:
    """The `datetime` attribute of a match, as `<time>` has it, else its text."""
    stamp = "" if isinstance(found, str) else found.get("datetime", "").strip()
    return stamp or markup.text_of(found)


def part(text: str, match: str | None) -> str:
    """What the first group (or all) of the regular expression `match` finds in `text`. Raises NotRead."""
    if match is None:
        return text
    found = re.search(match, text)
    if found is None:
        raise NotRead(text, f"nothing in it fits {match!r}")
    return found[found.re.groups and 1] or ""
