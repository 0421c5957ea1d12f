"""Paths into JSON: JMESPath (jmespath.org), which parsel brings along, without its functions.

    items[0].name   items[*].name   "@type"   "product-id"   offers[?currency == 'EUR'].price | [0]   @

Without functions nothing can fail when a path is followed, and what is asked for stays a place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import jmespath  # type: ignore[import-untyped,unused-ignore]
from jmespath.exceptions import (  # type: ignore[import-untyped,unused-ignore]
    JMESPathError,
    LexerError,
)

from limpet_store.items import JSON

Path = Callable[[JSON], JSON]  # None where nothing is


class BadPath(ValueError):
    """No path; the text says why."""


def path(text: str) -> Path:
    """A path as a function. Raises BadPath."""
    try:
        expression = jmespath.compile(text)
    except JMESPathError as error:
        raise BadPath(f"{text!r} is no JMESPath{_why(error)}") from None
    if any(node["type"] == "function_expression" for node in _nodes(expression.parsed)):
        raise BadPath(f"{text!r} calls a function; a path only leads to a value")
    steps = _steps(expression.parsed)
    return expression.search if steps is None else partial(_walk, steps)


def _why(error: Any) -> str:
    if isinstance(error, LexerError):
        return f": column {error.lexer_position + 1}; names with other signs are quoted: '\"product-id\"'"
    return f": column {error.lex_position + 1}" if hasattr(error, "lex_position") else ": it is empty"


def _nodes(node: Any) -> Iterator[Any]:
    yield node
    for child in node["children"]:
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


def _walk(steps: list[str | int], value: JSON) -> JSON:
    for step in steps:
        if isinstance(step, str):
            value = value.get(step) if isinstance(value, dict) else None
        else:
            inside = isinstance(value, list) and -len(value) <= step < len(value)
            value = value[step] if inside else None
    return value
