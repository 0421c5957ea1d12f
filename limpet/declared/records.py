"""The records of a page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from limpet.declared import blocks, convert
from limpet.declared.blocks import Block, listed
from limpet.declared.fields import field, spelled_out, type_of
from limpet.declared.places import Seen, Setting
from limpet.declared.tables import Table, near
from limpet_store.items import Record

KEYS = ("type", "each", "when", "key", "part", "fields", "volatile", "schema", "requires")
Given = Mapping[str, Any]
Key = Callable[[Seen, Any, Mapping[str, Any]], Any]
IDENTIFYING = {"text", "int", "date", "url", "json"}  # types of fields that may be a key


def records(table: Table, setting: Setting) -> Block:
    """What gives the records that a table says."""
    table.only(KEYS)
    each, below = blocks.each(table, setting)
    when = blocks.when(table, below)
    given = table.below("fields")
    if not given.given:
        table.wrong("fields are missing: [page.record.fields]")
    fields = blocks.fields(given, table.where.removesuffix(", record"), below)
    key = _key(table, given.given, below)
    about = _about(table, given.given)

    def records(seen: Seen) -> Iterator[object]:
        for item in each(seen):
            if when is None or when(seen, item):
                data = {name: read(seen, item) for name, read in fields.items()}
                yield Record(key=key(seen, item, data), data=data, **about)

    return records


def _about(table: Table, fields: Given) -> dict[str, Any]:
    """What is the same for all records."""
    volatile, schema = table.words("volatile"), table.get("schema", int, 1)
    for name in volatile:
        if name not in fields:
            table.wrong(f"volatile {name!r} is no field{near(name, fields)}")
    if schema < 1:
        table.wrong(f"schema is {schema}; it counts from 1")
    return {
        "type": table.word("type", needed=True),
        "part": table.get("part", str, ""),
        "requires": table.words("requires"),
        "volatile": volatile,
        "schema": schema,
    }


def _key(table: Table, fields: Given, setting: Setting) -> Key:
    """The key of a record: a field, a place, or a list of them."""
    given = table.given.get("key", [])
    keys = [_one_key(table, each, fields, setting) for each in listed(given)]
    if not keys:
        table.wrong('key is missing: the field that identifies a record, or a place as { param = "n" }')
    if isinstance(given, list):
        return lambda seen, below, data: [key(seen, below, data) for key in keys if key]
    return keys[0] or (lambda seen, below, data: None)


def _one_key(table: Table, given: Any, fields: Given, setting: Setting) -> Key | None:
    if isinstance(given, str):
        _check_field(table, given, fields, setting)
        return lambda seen, below, data: data[given]
    if not isinstance(given, dict):
        table.wrong(f'key {given!r}: the name of a field or a place as {{ css = ".sku" }} is needed')
        return None
    _check_identifying(table, "key", given)
    read = field(given, table, "key", setting)
    return read and (lambda seen, below, data: read(seen, below))


def _check_field(table: Table, name: str, fields: Given, setting: Setting) -> None:
    if name not in fields:
        place = f"a place is written {{ {setting.alone} = {name!r} }}"
        table.wrong(f"key {name!r} is no field{near(name, fields)}; {place}")
    elif isinstance(said := spelled_out(fields[name], setting.alone), dict):
        _check_identifying(table, f"key {name!r}", said)


def _check_identifying(table: Table, what: str, given: Given) -> None:
    if "default" in given or given.get("optional"):
        table.wrong(f"{what} must be there; it has no default")
    if given.get("all"):
        table.wrong(f"{what} is a list, which identifies nothing")
    elif (type_ := type_of(given)) in convert.OPTIONS and type_ not in IDENTIFYING:
        table.wrong(f"{what} is of the type {type_}, which identifies nothing")
