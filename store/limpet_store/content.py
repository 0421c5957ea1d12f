"""Canonical JSON and the hashes made of it: record ids and content hashes.

Everything that comes from a page passes here *before* a transaction begins, so that no value can be refused
inside one.
"""

from __future__ import annotations

import hashlib
import json
import math
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

GONE_HASH = hashlib.sha256(b"null").hexdigest()[:32]  # the content hash of a gone version


class NotStorable(ValueError):
    """A value that is not JSON, or that no database stores faithfully; the text names the place."""


def storable(value: Any, where: str = "data") -> Any:
    """The value as plain JSON with NFC strings and sorted-key-safe dicts. Raises NotStorable.

    Refused: NaN and infinities, lone surrogates, NUL, keys that are not strings, other types.
    """
    if isinstance(value, str):
        return _text(value, where)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise NotStorable(f"{where} is {value}, which JSON does not have")
        return float(value)
    if isinstance(value, Mapping):
        return {_key(k, where): storable(v, f"{where}.{k}") for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [storable(v, f"{where}[{i}]") for i, v in enumerate(value)]
    raise NotStorable(f"{where} is of type {type(value).__name__}, which JSON does not have")


def _key(key: object, where: str) -> str:
    if not isinstance(key, str):
        raise NotStorable(f"{where} has the key {key!r}: keys are strings")
    return _text(key, where)


def _text(text: str, where: str) -> str:
    if text.isascii():
        if "\0" in text:
            raise NotStorable(f"{where} has a NUL character")
        return str(text)
    if "\0" in text:
        raise NotStorable(f"{where} has a NUL character")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise NotStorable(f"{where} has a lone surrogate, which is no character") from None
    return unicodedata.normalize("NFC", text)


_encode = json.JSONEncoder(sort_keys=True, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def canonical_json(value: Any) -> str:
    """The one text of a storable value: sorted keys, no spaces."""
    return _encode(value)


def content_hash(text: str) -> str:
    """128 bits, hex, of canonical JSON."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def record_id(source: str, type_: str, key: str) -> str:
    """128 bits, hex, over an unambiguous encoding: ("a:b", "c") and ("a", "b:c") differ."""
    return content_hash(_encode([source, type_, key]))


def key_text(key: str | int | Sequence[str | int]) -> str:
    """A natural key as the store has it: of a list its JSON. Raises NotStorable for a text that looks like a list's,
    since the two would be one record."""
    if isinstance(key, (str, int)):
        text: str = storable(str(key), "key")
        if text.startswith("[") and shown_key(text) != text:
            raise NotStorable("key looks like a list of keys: give a list")
        return text
    return canonical_json(storable(list(key), "key"))


def shown_key(text: str) -> str | list[str | int]:
    """The key as it was given, but an integer as text."""
    if not text.startswith("["):
        return text
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return found if found and canonical_json(found) == text and all(map(_is_key, found)) else text


def _is_key(value: object) -> bool:
    return isinstance(value, (str, int)) and not isinstance(value, bool)
