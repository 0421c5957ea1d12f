"""What a handler yields, made plain: exact JSON types that no later step can refuse, copied at once so that a
handler may reuse its dicts. One bad record costs itself alone."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import Any

from limpet.missing import Missing
from limpet_store.items import JSON, Record, Rejection

MAX_HANDED_DOWN = 16_384  # bytes of a link's data as JSON
MOST_SCHEMA = 2**31 - 1
MOST_KEY = (
    1_000  # characters of a key, or of each field of one: more is the text of an element that was not meant
)
NO_KEYS = frozenset({"nan", "NaN", "None", "null", "undefined"})
_DEEPEST = 100
_SHOWN = 200


class Refused(ValueError):
    """A value that cannot be stored: the reason, and the value for people to look at."""

    def __init__(self, reason: str, value: object = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.value = value

    @property
    def field(self) -> str:
        """The field to blame: what stands before the reason, without `data.`."""
        where, colon, _ = self.reason.partition(": ")
        return where.removeprefix("data.") if colon and where != "data" and " " not in where else ""


class Absent(Refused):
    """The value is one that `Page.one` did not find."""


def record(given: Record, *, keyless: bool = False) -> Record | Rejection:
    """The record in plain types, its type, key and part stripped; or why it cannot be stored.

    `keyless`: it may have no key, to get one by `keyed`.
    """
    try:
        key = None if keyless and given.key is None else _key(given.key)
        return Record(
            _word(given.type, "type"), key, _data(given.data), _part(given.part), _names(given.requires, "requires"),
            _names(given.volatile, "volatile"), _schema(given.schema),
        )  # fmt: skip
    except Refused as error:
        key = "" if given.key is None or isinstance(given.key, Missing) else shown_key(given.key)
        return Rejection(
            printable(given.type),
            key,
            printable(error.reason),
            printable(error.value),
            printable(error.field),
        )


def rejection(given: Rejection) -> Rejection:
    """A rejection that a handler made itself, as text that every store takes."""
    return Rejection(
        printable(given.type),
        shown_key(given.key),
        printable(given.reason),
        printable(given.value),
        printable(given.field),
    )


def keyed(plain: Record) -> Record | Rejection:
    """A record in plain types, its key made sure of."""
    try:
        return replace(plain, key=_key(plain.key))
    except Refused as error:
        return Rejection(plain.type, "", printable(error.reason), printable(error.value), "key")


def handed_down(data: Any) -> JSON:
    """A link's data in plain types. Raises Refused."""
    if data is None:
        return None
    plain = tidy(data, "data")
    size = len(json.dumps(plain, ensure_ascii=False).encode())
    if size > MAX_HANDED_DOWN:
        raise Refused(f"data: {size} bytes of JSON, at most {MAX_HANDED_DOWN} can be handed down")
    return plain


def printable(value: object) -> str:
    """Any value as at most 200 characters that every store, log and terminal takes."""
    text = str.__str__(value) if isinstance(value, str) else _shown(value)
    return text[:_SHOWN].encode("utf_8", "backslashreplace").decode().replace("\0", "\\0")[:_SHOWN]


def shown_key(key: object) -> str:
    """A key for people; of several fields it is the JSON that `limpet show` takes and the store has."""
    if isinstance(key, (list, tuple)) and all(type(each) in (str, int) for each in key):
        key = json.dumps(key, ensure_ascii=False, separators=(",", ":"))
    return printable(key)


def _shown(value: object) -> str:
    try:
        return repr(value)
    except Exception:
        return f"<{type(value).__name__}>"


def tidy(value: Any, where: str, depth: int = 0) -> JSON:
    """`value` as plain None, bool, int, float, str, list and dict; a Decimal, a date and a datetime as text. Raises
    Refused, naming the place."""
    if isinstance(value, str):
        return text(value, where)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return _integer(value, where, bits=1024)
    if isinstance(value, float):
        return _finite(value, where)
    if isinstance(value, (Decimal, date)):
        return _as_text(value, where)
    if depth >= _DEEPEST:
        raise Refused(f"{where[:40]}...: nested deeper than {_DEEPEST}")
    if isinstance(value, Mapping):
        return {_name(key, where): tidy(item, f"{where}.{key}", depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [tidy(item, f"{where}[{index}]", depth + 1) for index, item in enumerate(value)]
    raise Refused(f"{where}: {type(value).__name__} is not JSON", value)


def text(value: str, where: str) -> str:
    """A plain string that UTF-8 and every database can hold. Raises Refused."""
    if isinstance(value, Missing):
        raise Absent(f"{where}: {value.problem}", value.shown)
    if "\0" in value:
        raise Refused(f"{where}: holds a NUL, or is made from a missing value", value)
    plain = str.__str__(value)
    if not plain.isascii():
        try:
            plain.encode("utf_8")
        except UnicodeEncodeError:
            raise Refused(f"{where}: holds a lone surrogate", value) from None
    return plain


def _as_text(value: Decimal | date, where: str) -> str:
    """A Decimal with its digits as they are, a date or datetime in ISO 8601."""
    if isinstance(value, date):
        return value.isoformat()
    if not value.is_finite() or abs(value.adjusted()) > 300:  # an exponent may stand for gigabytes of digits
        raise Refused(f"{where}: {value} is not JSON", value)
    return format(value, "f")


def _integer(value: int, where: str, bits: int) -> int:
    plain = int(value)
    if plain.bit_length() > bits:
        raise Refused(f"{where}: a number of more than {bits} bits")
    return plain


def _finite(value: float, where: str) -> float:
    if not math.isfinite(value):
        raise Refused(f"{where}: {value} is not JSON", value)
    return float(value)


def _name(key: Any, where: str) -> str:
    if not isinstance(key, str):
        raise Refused(f"{where}: the key {printable(key)} is not a string", key)
    return text(key, f"{where}: a key")


def _word(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise Refused(f"{where}: {type(value).__name__} is not a string", value)
    plain = text(value, where).strip()
    if not plain:
        raise Refused(f"{where}: empty", value)
    return plain


def _key(value: Any) -> str | int | list[str | int]:
    if isinstance(value, (list, tuple)):
        if not value:
            raise Refused("key: an empty list", value)
        return [_one_key(each) for each in value]
    return _one_key(value)


def _one_key(value: Any) -> str | int:
    if isinstance(value, int) and not isinstance(value, bool):
        return _integer(value, "key", bits=63)
    if value is None:
        raise Refused("key: there is none")
    if not isinstance(value, str):
        raise Refused(f"key: {type(value).__name__} is neither a string nor an integer", value)
    word = _word(value, "key")
    if len(word) > MOST_KEY:
        raise Refused(f"key: {len(word):,} characters, at most {MOST_KEY:,}", word)
    if not any(map(str.isprintable, word)):
        raise Refused("key: nothing to be seen in it", word)
    if word in NO_KEYS:
        raise Refused(f"key: {word!r} is what a missing value looks like", value)
    return word


def _names(value: Any, where: str) -> tuple[str, ...]:
    if value == ():
        return ()
    if isinstance(value, str) or not isinstance(value, Collection):
        raise Refused(f"{where}: a list of names", value)
    return tuple(sorted({_word(each, where) for each in value}))


def _schema(value: Any) -> int:
    if not is_schema(value):
        raise Refused(f"schema: {printable(value)} is no whole number from 1 to {MOST_SCHEMA:,}", value)
    return int(value)


def is_schema(value: Any) -> bool:
    """Whether it can be the number of a shape."""
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MOST_SCHEMA


def _part(value: Any) -> str:
    absent = isinstance(value, Missing)  # which is not to be compared
    return "" if not absent and value == "" else _word(value, "part")


def _data(value: Any) -> Mapping[str, JSON]:
    if not isinstance(value, Mapping):
        raise Refused(f"data: {type(value).__name__} is not a dict", value)
    plain: dict[str, JSON] = tidy(value, "data")
    return plain
