"""What `page.request`, `page.graphql` and `page.follow` take besides what they name: the arguments of `limpet.request`,
by type, so that editors and type checkers know them."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypedDict

from limpet_store.items import JSON
from limpet_store.secret import Secret

Text = str | Secret


class Common(TypedDict, total=False):
    """Of every request."""

    headers: Mapping[str, Text] | None
    params: Mapping[str, Text] | None
    vary: Sequence[str]
    to: str | Callable[..., Any] | None
    data: JSON
    priority: int
    merge: str | None


class Keyed(Common, total=False):
    """Of `graphql`, which makes the body itself."""

    key: str | None


class Sent(Common, total=False):
    """Of `follow`, which has a key of its own."""

    method: str | None
    json: JSON
    form: Mapping[str, str] | None
    body: bytes | str | None
    safe: bool


class Asked(Sent, Keyed, total=False):
    """Of `request`."""


def check(caller: str, given: Mapping[str, Any], known: type, own: Sequence[str] = ()) -> None:
    """Raise TypeError, as Python would of `caller`, for an argument that it has not."""
    names = [*own, *known.__annotations__]
    for name in given:
        if name not in names:
            near = difflib.get_close_matches(name, names, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(sorted(names))}"
            raise TypeError(f"{caller}() has no argument {name!r}; {hint}")
