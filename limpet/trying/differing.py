"""What a page gives now, held against what was expected of it, in lines for people."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from limpet.shown import blame, one_line

MOST = 5  # lines of one kind
NAMES = {"links": "link", "rejections": "rejection"}


def differences(expected: Mapping[str, Any], found: Mapping[str, Any]) -> list[str]:
    """One line for each difference; none when the page gives what it gave."""
    return [one_line(line, 240) for line in _differences(expected, found)]


def _differences(expected: Mapping[str, Any], found: Mapping[str, Any]) -> Iterator[str]:
    for name in ("handler", "outcome", "error"):
        if expected.get(name) != found.get(name):
            yield f"{name}: {_json(expected.get(name))} -> {_json(found.get(name))}"
    yield from _records(expected.get("records", []), found.get("records", []))
    for name, noun in NAMES.items():
        yield from _listed(noun, expected.get(name, []), found.get(name, []))
    yield from _fields("dropped", expected.get("dropped", {}), found.get("dropped", {}))


def _records(expected: list[Any], found: list[Any]) -> Iterator[str]:
    before, after = (({_name(record): record["data"] for record in side}) for side in (expected, found))
    for name in before.keys() | after.keys():
        if name in before and name in after:
            yield from _fields(name, before[name], after[name])
    yield from _few("-", [name for name in before if name not in after])
    yield from _few("+", [name for name in after if name not in before])


def _name(record: Mapping[str, Any]) -> str:
    part = f" (part {record['part']})" if record.get("part") else ""
    return f"{record['type']} {record['key']}{part}"


def _fields(name: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    for field in sorted(before.keys() | after.keys()):
        if field not in after:
            yield f"{name}: {field}: {_json(before[field])} -> nothing"
        elif field not in before:
            yield f"{name}: {field}: nothing -> {_json(after[field])}"
        elif before[field] != after[field]:
            yield f"{name}: {field}: {_json(before[field])} -> {_json(after[field])}"


def _listed(noun: str, expected: list[Any], found: list[Any]) -> Iterator[str]:
    before, after = Counter(map(_line, expected)), Counter(map(_line, found))
    yield from _few(f"- {noun}", list((before - after).elements()))
    yield from _few(f"+ {noun}", list((after - before).elements()))


def _few(sign: str, lines: list[str]) -> Iterator[str]:
    yield from (f"{sign} {line}" for line in lines[:MOST])
    if len(lines) > MOST:
        yield f"{sign} and {len(lines) - MOST} more"


def _line(item: Any) -> str:
    if isinstance(item, str):
        return item
    name = " ".join(filter(None, (item.get("type"), item.get("key"))))
    reason = blame(item.get("field", ""), item.get("reason", ""))
    return f"{name}: {reason}" if name else reason


def _json(value: Any) -> str:
    return "nothing" if value is None else json.dumps(value, ensure_ascii=False)
