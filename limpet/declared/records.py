"""The records of a page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from limpet.declared import blocks
from limpet.declared.blocks import Block, listed
from limpet.declared.fields import Read, field, spelled_out, type_of
from limpet.declared.places import Seen, Setting
from limpet.declared.tables import Table, near
from limpet_store.items import Record

KEYS = ("type", "each", "when", "key", "part", "fields", "volatile", "schema", "requires")
IDENTIFYING = {"text", "int", "date", "url", "json"}  # types of fields that may be a key


def records(table: Table, setting: Setting) -> Block:
    table.only(KEYS)
    type_ = table.word("type", needed=True)
    each, below = blocks.each(table, setting)
    when = blocks.when(table, below)
    fields = blocks.fields(table.below("fields"), table.where.removesuffix(", record"), below)
    key = _key(table, below)
    part = table.get("part", str, "")
    volatile, requires = table.words("volatile"), table.words("requires")
    for name in volatile:
        if name not in table.given.get("fields", {}):
            table.wrong(f"volatile {name!r} is no field{near(name, table.given.get('fields', {}))}")
    schema = table.get("schema", int, 1)
    if schema < 1:
        table.wrong(f"schema is {schema}; it counts from 1")
    if not table.given.get("fields"):
        table.wrong("fields are missing: [page.record.fields]")

    def records(seen: Seen) -> Iterator[object]:
        for item in each(seen):
            if when is None or when(seen, item):
                data = {name: read(seen, item) for name, read in fields.items()}
                yield Record(type_, key(seen, item, data), data, part, requires, volatile, schema)

    return records


def _key(table: Table, setting: Setting) -> Callable[[Seen, Any, Mapping[str, Any]], Any]:
    """The key of a record: a field, a place, or a list of them."""
    given = table.given.get("key")
    if given is None or given == []:
        table.wrong('key is missing: the field that identifies a record, or a place as { param = "n" }')
    readers = [_one_key(table, each, setting) for each in listed(given) if given is not None]

    def key(seen: Seen, below: Any, data: Mapping[str, Any]) -> Any:
        found = [data[read] if isinstance(read, str) else read(seen, below) for read in readers]
        return found if isinstance(given, list) else found[0]

    return key


def _one_key(table: Table, given: Any, setting: Setting) -> str | Read:
    if not isinstance(given, str):
        inner = given if isinstance(given, dict) else {}
        if not isinstance(given, dict):
            table.wrong(f'key {given!r}: the name of a field or a place as {{ css = ".sku" }} is needed')
        _check_key(table, "key", inner)
        return field(given, table, "key", setting) or "" if inner else ""
    fields = table.given.get("fields", {})
    if given not in fields:
        place = f"a selector is written {{ {setting.alone} = {given!r} }}"
        table.wrong(f"key {given!r} is no field{near(given, fields)}; {place}")
    else:
        _check_key(table, f"key {given!r}", spelled_out(fields[given], setting.alone))
    return given


def _check_key(table: Table, what: str, given: Any) -> None:
    if not isinstance(given, dict):
        return
    if "default" in given or given.get("optional"):
        table.wrong(f"{what} must be there; it has no default")
    if (type_ := type_of(given)) not in IDENTIFYING or given.get("all"):
        table.wrong(
            f"{what} is of the type {type_}{' with all' * bool(given.get('all'))}, which identifies nothing"
        )
