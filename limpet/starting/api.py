"""A page of JSON: where its list is, what identifies the items, where it goes on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from limpet.page import Page
from limpet.starting.draft import Api, identifier
from limpet.starting.urls import noun, pattern

KEYS = ("id", "sku", "uuid", "code", "key", "slug", "number", "isbn", "gtin", "ean", "name", "url")
NEXT = ("next", "next_page", "nextPage", "next_url", "nextUrl", "nextPageUrl", "next_link")
DEEPEST = 4
MOST_FIELDS = 12


def api(page: Page) -> Api | None:
    """A guess at the page; None where it has no object. Raises ExtractError when it is no JSON."""
    found = page.json()
    lists = [(path, value) for path, value in _walk(found, ()) if _is_list(value)]
    if not lists and not isinstance(found, dict):
        return None
    path, items = max(lists, key=lambda pair: len(pair[1])) if lists else (None, [found])
    names = [name for name in items[0] if all(name in item for item in items)]
    following = next((way for way, value in _walk(found, ()) if _goes_on(way, value)), None)
    name = noun(pattern([page.url])) or noun("/".join(["", *(path or ()), ""])) or "item"
    fits = pattern([page.url]).partition("?")[0]
    return Api(
        patterns=[fits], path=path, key=_key(items, names), fields=names[:MOST_FIELDS], following=following,
        name=identifier(name),
    )  # fmt: skip


def _walk(value: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    yield path, value
    if isinstance(value, dict) and len(path) < DEEPEST:
        for name, inner in value.items():
            yield from _walk(inner, (*path, name))


def _is_list(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, dict) for item in value)


def _goes_on(path: tuple[str, ...], value: Any) -> bool:
    linked = isinstance(value, str) and value.startswith(("http://", "https://", "/", "?"))
    return linked and bool(path) and path[-1] in NEXT


def _key(items: list[dict[str, Any]], names: list[str]) -> str | None:
    """The first name that identifies: there in all items, and each time another."""
    for name in (*(key for key in KEYS if key in names), *(n for n in names if n.lower().endswith("id"))):
        values = [item[name] for item in items]
        if all(isinstance(value, (str, int)) for value in values) and len(set(values)) == len(values):
            return name
    return None
