"""Paths into JSON: JMESPath (jmespath.org), which parsel brings along, without its functions.

    items[0].name   items[*].name   "@type"   "product-id"   offers[?currency == 'EUR'].price | [0]   @

Without functions what is asked for stays a place, and following a path can hardly fail.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import Any

import jmespath  # type: ignore[import-untyped,unused-ignore]
from jmespath.exceptions import (  # type: ignore[import-untyped,unused-ignore]
    JMESPathError,
    LexerError,
)

from limpet.missing import MissingValue
from limpet_store.items import JSON

Path = Callable[[JSON], JSON]  # None where nothing is


class BadPath(ValueError):
    """No path; the text says why."""


@lru_cache(maxsize=1_000)
def path(text: str) -> Path:
    """A path as a function. Raises BadPath; what it gives, MissingValue where a text is compared with a number."""
    try:
        expression = jmespath.compile(text)
    except JMESPathError as error:
        raise BadPath(f"{text!r} is no JMESPath{_why(error)}") from None
    for node in _nodes(expression.parsed):
        if node["type"] == "function_expression":
            raise BadPath(f"{text!r} calls a function; a path only leads to a value")
        if node["type"] == "slice" and node["children"][2] == 0:
            raise BadPath(f"{text!r}: steps of 0")
    steps = _steps(expression.parsed)
    if steps is None:
        return _searching(text, expression.search)
    return _member(steps[0]) if len(steps) == 1 and isinstance(steps[0], str) else partial(_walk, steps)


def _why(error: Any) -> str:
    if isinstance(error, LexerError):
        return f": column {error.lexer_position + 1}; names with other signs are quoted: '\"product-id\"'"
    return f": column {error.lex_position + 1}" if hasattr(error, "lex_position") else ": it is empty"


def _nodes(node: Any) -> Iterator[Any]:
    yield node
    for child in node["children"] if node["type"] != "slice" else ():
        yield from _nodes(child)


def _steps(node: Any) -> list[str | int] | None:
    """A chain of names and indexes as it is; None for anything more. The library takes ten times as long for one."""
    kind = node["type"]
    if kind in ("field", "index"):
        return [node["value"]]
    if kind in ("current", "identity"):
        return []
    if kind not in ("subexpression", "index_expression"):
        return None
    steps: list[str | int] = []
    for child in node["children"]:
        more = _steps(child)
        if more is None:
            return None
        steps += more
    return steps


def _searching(text: str, search: Path) -> Path:
    def found(value: JSON) -> JSON:
        try:
            return search(value)
        except TypeError as error:
            raise MissingValue(f"{text!r} cannot be followed here: {error}") from None

    return found


def _member(name: str) -> Path:
    return lambda value: value.get(name) if isinstance(value, dict) else None


def _walk(steps: list[str | int], value: JSON) -> JSON:
    for step in steps:
        if isinstance(step, str):
            value = value.get(step) if isinstance(value, dict) else None
        else:
            inside = isinstance(value, list) and -len(value) <= step < len(value)
            value = value[step] if inside else None
    return value
