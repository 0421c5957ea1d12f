"""What records and links have in common: one for each item, and only where something stands."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from limpet.declared.fields import Read, condition, field, spelled_out
from limpet.declared.places import Seen, Setting, kind_of, place, selector
from limpet.declared.tables import Table

Each = Callable[[Seen], Iterable[Any]]
ITEMS = ("json", "jsonld", "microdata", "embedded", "data")  # where several may stand
Block = Callable[[Seen], Iterator[object]]


def fields(table: Table, where: str, setting: Setting, word: str = "field") -> dict[str, Read]:
    """The readers of a table's values by name; `where` and `word` name their places."""
    place = Table({}, where, table.mistakes)
    found = {name: field(given, place, f"{word} {name!r}", setting) for name, given in table.given.items()}
    return {name: read for name, read in found.items() if read is not None}


def each(table: Table, setting: Setting) -> tuple[Each, Setting]:
    """What there is one of for each record or link, and what a text alone means below it."""
    if "each" not in table:
        return lambda seen: (None,), setting
    below = Setting(setting.params, setting.digits, setting.pages, "path")
    given = table.given["each"]
    if isinstance(given, str) or (isinstance(given, dict) and set(given) == {"css"}):
        css = selector(
            Table(spelled_out(given, "css"), f"{table.where}, each", table.mistakes), elements=True
        )
        return lambda seen: seen.page.css(css or "*"), setting
    inner = Table(given, f"{table.where}, each", table.mistakes)
    inner.only(("css", *ITEMS, "path"))
    kind = kind_of(inner, setting, ITEMS)
    found = place(inner, kind, setting) if kind else None
    return lambda seen: found.items(seen, None) if found else (), below


def when(table: Table, setting: Setting) -> Read | None:
    """Whether an item counts; None where all do."""
    return condition(table.given["when"], table, "when", setting) if "when" in table else None


def listed(value: Any) -> list[Any]:
    """A list as it is, anything else as the only one."""
    return value if isinstance(value, list) else [value]
