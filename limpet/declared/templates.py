"""URLs with values in them: `/item/{id}`, `/list?page={n+1}`."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from typing import Any
from urllib.parse import quote

from limpet.declared.tables import near
from limpet.missing import Missing
from limpet.values import Unreadable

Fill = Callable[[Mapping[str, Any], Mapping[str, str]], str | None]
_PIECE = re.compile(r"\{([^{}]*)\}")
_NAME = re.compile(r"([A-Za-z_]\w*)(?:([+-])([0-9]{1,9}))?")


class BadTemplate(ValueError):
    """No template; the text says why."""


def template(text: str, data: Collection[str], params: Collection[str], numbers: Collection[str]) -> Fill:
    """From (data, parameters) to the URL; None where a value is null, a `Missing` where one is missing.

    `numbers` are the names that may be counted up or down. Raises BadTemplate.
    """
    parts = _PIECE.split(text)
    if any("{" in part or "}" in part for part in parts[::2]):
        raise BadTemplate(f"{text!r}: unbalanced braces")
    if len(parts) == 1:
        raise BadTemplate(f"{text!r}: no {{name}} in it, so it would be one and the same page")
    pieces = [_piece(text, part, {*data, *params}, numbers) for part in parts[1::2]]

    def fill(values: Mapping[str, Any], known: Mapping[str, str]) -> str | None:
        url = parts[0]
        for (name, step), fixed in zip(pieces, parts[2::2], strict=True):
            value = values[name] if name in values else known[name]
            if value is None or isinstance(value, Missing):
                return value
            if type(value) not in (str, int):
                return Unreadable(name, value, f"a {type(value).__name__} does not go into a URL")
            url += quote(str(int(value) + step if step else value), safe="") + fixed
        return url

    return fill


def _piece(text: str, part: str, known: Collection[str], numbers: Collection[str]) -> tuple[str, int]:
    found = _NAME.fullmatch(part)
    if not found:
        raise BadTemplate(f"{text!r}: {{{part}}} is not name, name+1 or name-1")
    name, sign, step = found.groups()
    if name not in known:
        raise BadTemplate(f"{text!r}: {name!r} is neither in data nor in the pattern{near(name, known)}")
    if step and name not in numbers:
        raise BadTemplate(
            f"{text!r}: {name} is not known to be a number; {{{name}:int}} in the pattern says so"
        )
    return name, int(step or 0) * (-1 if sign == "-" else 1)
