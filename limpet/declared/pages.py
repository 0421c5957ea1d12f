"""A page of the file: its patterns, and what its handler gives."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from limpet.declared.blocks import Block, listed
from limpet.declared.fields import spelled_out
from limpet.declared.follows import links
from limpet.declared.places import Seen, Setting
from limpet.declared.records import records
from limpet.declared.tables import Table
from limpet.missing import MissingValue
from limpet.page import Page
from limpet.patterns import Pattern
from limpet.politeness import refresh_period
from limpet_store.errors import SiteError
from limpet_store.items import Rejection

KEYS = ("name", "pattern", "html", "complete", "refresh", "follow", "record")


@dataclass(frozen=True, slots=True)
class Plan:
    """What is done with a page."""

    html: bool  # and with no other kind of document
    blocks: Sequence[tuple[str, Block]]  # with the type of the record
    leads: bool  # it gives links
    complete: bool  # and all records that the page has
    refresh: str | float | None  # how often it is due again by itself

    def items(self, page: Page) -> Iterator[object]:
        """What a handler gives. A block that ends early costs itself alone."""
        if self.html and not page.is_html:
            return
        seen = Seen(page)
        for type_, block in self.blocks:
            try:
                yield from block(seen)
            except MissingValue as error:
                yield Rejection(type_, "", str(error))


def plan(table: Table, fitting: list[str], names: frozenset[str]) -> Plan:
    """What the table of a page with these patterns says; `names` are those of all pages."""
    table.only(KEYS)
    params = [_params(pattern) for pattern in fitting] or [{}]
    common = frozenset.intersection(*map(frozenset, params))
    digits = frozenset(name for name in common if all(each[name] == "int" for each in params))
    setting = Setting(common, digits, names)
    follow = [spelled_out(each, "css") for each in listed(table.given.get("follow", []))]
    table.given["follow"] = follow
    blocks = [("", links(each, setting)) for each in table.each("follow")]
    blocks += [(str(each.given.get("type", "")), records(each, setting)) for each in table.each("record")]
    if not blocks:
        table.wrong("neither record nor follow: it does nothing")
    return Plan(
        table.get("html", bool, False),
        blocks,
        bool(follow),
        table.get("complete", bool, False),
        _refresh(table),
    )


def _refresh(table: Table) -> str | float | None:
    given = table.given.get("refresh")
    try:
        refresh_period(given)
    except SiteError as error:
        table.wrong(str(error))
        return None
    return given


def patterns(table: Table) -> list[str]:
    """The page's patterns."""
    found = table.words("pattern", needed=True)
    for text in found:
        try:
            Pattern(text)
        except SiteError as error:
            table.wrong(str(error))
    return found


def _params(pattern: str) -> dict[str, str]:
    """The names in a pattern, and their kinds."""
    return {
        name: kind for name, _, kind in (each.partition(":") for each in re.findall(r"\{([^{}]*)\}", pattern))
    }
