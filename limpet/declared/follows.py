"""The links of a page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from parsel import Selector

from limpet.declared import blocks
from limpet.declared.blocks import Block
from limpet.declared.fields import spelled_out, type_of
from limpet.declared.places import Seen, Setting, kind_of, place, selector
from limpet.declared.tables import Table, near
from limpet.declared.templates import BadTemplate, Fill, template
from limpet.links import NoLink
from limpet.page import Page
from limpet_store.items import Link

Targets = Callable[[Seen, Any, Mapping[str, Any], Mapping[str, Any]], Iterable[Link]]
TARGETS = ("css", "json", "path", "jsonld", "microdata", "embedded", "opengraph")
KEYS = (*TARGETS, "url", "each", "when", "to", "data", "priority", "merge")


def links(table: Table, setting: Setting) -> Block:
    """What gives the links that a table says."""
    table.only(KEYS)
    each, below = blocks.each(table, setting)
    when = blocks.when(table, below)
    more = _more(table, setting)
    data = blocks.fields(table.below("data"), table.where, below, "data")
    targets = _targets(table, below)

    def found(seen: Seen) -> Iterator[object]:
        for item in each(seen):
            if when is None or when(seen, item):
                handed = {name: read(seen, item) for name, read in data.items()}
                yield from targets(seen, item, handed, {**more, "data": handed or None})

    return found


def _more(table: Table, setting: Setting) -> dict[str, Any]:
    to = table.word("to") or None
    if to is not None and to not in setting.pages:
        table.wrong(f"to {to!r} is no page{near(to, setting.pages)}")
    merge = table.word("merge") or None
    if merge not in (None, "list"):
        table.wrong(f'merge is {merge!r}; "list" collects what all links hand down')
    if merge and not table.given.get("data"):
        table.wrong("merge without data: there is nothing to collect")
    return {"to": to, "priority": table.get("priority", int, 0), "merge": merge}


def _targets(table: Table, setting: Setting) -> Targets:
    """The links of one item."""
    said = [name for name in TARGETS if name in table]
    if "url" in table:
        if said:
            table.wrong(f"url and {said[0]}: one of them says where it leads")
        return _filled(_template(table, setting))
    if not said and "each" in table:
        return lambda seen, item, _, more: [_to(seen.page, item, more)]
    kind = kind_of(table, setting, TARGETS)
    if kind == "css":
        css = selector(table) or "*"
        if "each" in table and setting.alone == "css":
            return lambda seen, item, _, more: [seen.page.link(item.css(css), **more)]
        return lambda seen, item, _, more: seen.page.links(css, **more)
    found = place(table, kind, setting) if kind else None
    return lambda seen, item, _, more: (
        [_to(seen.page, url, more) for url in found.items(seen, item)] if found else []
    )


def _to(page: Page, target: Any, more: Mapping[str, Any]) -> Link:
    """A link to an element, or to a URL in JSON; other JSON is no link."""
    return page.link(target, **more) if isinstance(target, (str, Selector)) else NoLink(reason="no link")


def _template(table: Table, setting: Setting) -> Fill | None:
    data = table.given.get("data", {})
    data = data if isinstance(data, dict) else {}
    numbers = {name for name, given in data.items() if type_of(spelled_out(given, setting.alone)) == "int"}
    text = table.word("url")
    try:
        return template(text, data, setting.params, (setting.digits - set(data)) | numbers) if text else None
    except BadTemplate as error:
        table.wrong(f"url {error}")
        return None


def _filled(fill: Fill | None) -> Targets:
    def targets(seen: Seen, _: Any, data: Mapping[str, Any], more: Mapping[str, Any]) -> list[Link]:
        assert fill is not None
        url = fill(data, seen.page.params)
        if url is None:
            return []
        return [seen.page.link(url, **more)] if url else [Link(url)]  # a missing value: the link is rejected

    return targets
