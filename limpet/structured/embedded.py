"""Data that a page hands to its own scripts. See `Page.embedded`.

Only literals are read. What a script computes (functions, `new Date()`, names of other variables) is not, and costs
the value that it stands in: ask for a smaller one inside it by its key.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any
from urllib.parse import unquote

from limpet import markup
from limpet.structured.tolerant import Broken, Budget, literal, skip_space, values
from limpet_store.items import JSON

_MOST_PLACES = 1_000  # of a name in a page
_VARIABLE = re.compile(r"[\w$]+(?:\.[\w$]+)*")
_GLOBAL = re.compile(r"(?:window|self|globalThis)\.")
_ASSIGNED = r"""["']?\]?\s*=(?![=>])\s*(?:[\w$.]{1,80}\s*\|\|\s*)?"""
_HELD = r"""["']?\s*[:(]\s*"""
_BEFORE = re.compile(r"[\w$]\Z|(?:^|\n)[ \t]*//[^\n]*\Z")  # part of a longer name, or commented out
_PARSE = re.compile(r"JSON\s*\.\s*parse\s*\(\s*(decodeURIComponent\s*\(\s*)?")
_GOES_ON = re.compile(r"(?!-->)[-+*/%.?&|=(\[]")


class NotThere(LookupError):
    """Nothing of this name."""


def find(root: Any, name: str, xml: bool = False) -> JSON:
    """The data called `name` below the element `root`. Raises NotThere, and Broken for what cannot be read."""
    budget = Budget()
    try:
        for script in root.iter("script"):
            if script.get("id") == name:
                return _only(script.text or "", budget)
        if _VARIABLE.fullmatch(name):
            return _variable(root, _GLOBAL.sub("", name, count=1), budget)
        for found in markup.select(name, xml)(root)[:1]:
            return _only(found if isinstance(found, str) else found.xpath("string()"), budget)
    except Broken as error:
        raise Broken(f"{name!r} cannot be read: {error}") from None
    raise NotThere(f"nothing at {name!r}")


def _only(text: str, budget: Budget) -> JSON:
    found = values(text, budget)
    if len(found) != 1:
        raise Broken(f"{len(found)} values instead of one")
    return found[0]


def _variable(root: Any, name: str, budget: Budget) -> JSON:
    """The first object or list; else the first other value that is not null."""
    texts = [script.text for script in root.iter("script") if script.text and name in script.text]
    others: list[JSON] = []
    broken: Broken | None = None
    for text, at, assigned in islice(_places(texts, name), _MOST_PLACES):
        try:
            value = _value_at(text, at, budget)
        except Broken as error:
            broken = broken or (error if assigned else None)  # `name(` and `name:` may be anything
            if budget.left < 0:
                break
            continue
        if isinstance(value, (dict, list)):
            return value
        others.append(value)
    if others:
        return next((value for value in others if value is not None), None)
    raise broken or NotThere(f"nothing at {name!r}")


def _places(texts: list[str], name: str) -> Iterator[tuple[str, int, bool]]:
    """Where a value of this name may begin: first all assignments, then members of objects and arguments."""
    for rest in (_ASSIGNED, _HELD):
        pattern = re.compile(re.escape(name) + rest)
        for text in texts:
            for found in pattern.finditer(text):
                start = found.start()
                if not _BEFORE.search(text, max(0, start - 200), start):
                    yield text, found.end(), rest is _ASSIGNED


def _value_at(text: str, at: int, budget: Budget) -> JSON:
    call = _PARSE.match(text, at)
    value, end = literal(text, call.end() if call else at, budget)
    if call:
        if not isinstance(value, str):
            raise Broken("JSON.parse of what is no string")
        closing = "))" if call[1] else ")"
        if "".join(text[end : end + 10].split())[: len(closing)] != closing:
            raise Broken("JSON.parse of an expression")
        end = text.index(")", end) + 1
        value = _only(unquote(value) if call[1] else value, budget)
    if _GOES_ON.match(text, skip_space(text, end)):
        raise Broken("an expression, not a value")
    return value
