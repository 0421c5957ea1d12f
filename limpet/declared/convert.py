"""JSON and text into the types of fields. What is there and is not of its type is an `Unreadable`, which rejects the
record."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from limpet.page import Page
from limpet.values import NotRead, Unreadable, dates, numbers, prices
from limpet.values.shown import part
from limpet_store.items import JSON

Convert = Callable[[JSON, Any], Any]
OPTIONS: Mapping[str, tuple[str, ...]] = {  # type -> the keys that go with it
    "text": ("match", "all"),
    "int": ("match", "decimal"),
    "number": ("match", "decimal"),
    "price": ("match", "decimal", "currency"),
    "date": ("match", "format", "order", "languages", "timezone"),
    "url": ("all",),
    "bool": (),
    "json": (),
}
DEFAULTS: Mapping[str, tuple[type, ...]] = {  # type -> what a default may be
    "text": (str,),
    "int": (int,),
    "number": (int, float),
    "price": (dict,),
    "date": (str,),
    "url": (str,),
    "bool": (bool,),
    "json": (str, int, float, bool, list, dict),
}


def converter(kind: str, options: Mapping[str, Any], label: str) -> Convert:
    """From a value that is there to one of the type. `label` says where it stood."""
    convert = _MAKERS[kind](options)

    def read(value: JSON, page: Page) -> Any:
        try:
            return convert(value, page)
        except NotRead as error:
            return Unreadable(label, error.text, error.reason)

    return read


def check(kind: str, options: Mapping[str, Any]) -> None:
    """Raises ValueError for options that the readers refuse."""
    if "match" in options:
        try:
            re.compile(options["match"])
        except re.error as error:
            raise ValueError(f"match {options['match']!r} is no regular expression: {error}") from None
    if kind in ("int", "number", "price", "date"):
        more = {name: value for name, value in options.items() if name != "match"}
        with suppress(NotRead):
            _MAKERS[kind](more)("1", None)


def whole(value: Any, shown: object) -> Any:
    """`value` if it is an int. Raises NotRead."""
    if type(value) is not int:
        raise NotRead(shown, "not a whole number")
    return value


def _as_text(value: JSON) -> str:
    """A text, or a number's digits. Raises NotRead."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return repr(value)
    if not isinstance(value, str):
        raise NotRead(value, f"a {type(value).__name__}, not text")
    return value


def _text(options: Mapping[str, Any]) -> Convert:
    match = options.get("match")

    def read(value: JSON, _: Any) -> str:
        return part(_as_text(value).strip(), match)

    return _every(read) if options.get("all") else read


def _number(options: Mapping[str, Any]) -> Convert:
    match, decimal = options.get("match"), options.get("decimal")

    def read(value: JSON, _: Any) -> int | float:
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return value
        return numbers.number(part(_as_text(value), match), decimal)

    return read


def _int(options: Mapping[str, Any]) -> Convert:
    read = _number(options)
    return lambda value, page: whole(read(value, page), value)


def _price(options: Mapping[str, Any]) -> Convert:
    match, currency = options.get("match"), options.get("currency")
    decimal: numbers.DecimalSign | None = options.get("decimal")

    def read(value: JSON, _: Any) -> prices.Price:
        sign: numbers.DecimalSign | None = decimal if isinstance(value, str) else "."
        return prices.price(part(_as_text(value), match), sign, currency)

    return read


def _date(options: Mapping[str, Any]) -> Convert:
    more = {name: value for name, value in options.items() if name != "match"}
    match = options.get("match")
    return lambda value, _: dates.date(part(_as_text(value), match), **more)


def _url(options: Mapping[str, Any]) -> Convert:
    if options.get("all"):
        return lambda value, page: [
            url for each in _listed(value) if isinstance(each, str) and (url := page.link(each).url)
        ]

    def read(value: JSON, page: Any) -> str:
        url: str = page.link(value).url if page and isinstance(value, str) else ""
        if not url:
            raise NotRead(value, "leads to no page")
        return url

    return read


def _bool(_: Mapping[str, Any]) -> Convert:
    def read(value: JSON, _: Any) -> bool:
        if not isinstance(value, bool):
            raise NotRead(value, "neither true nor false")
        return value

    return read


def _every(read: Convert) -> Convert:
    return lambda value, page: [found for each in _listed(value) if (found := read(each, page))]


def _listed(value: JSON) -> list[JSON]:
    return value if isinstance(value, list) else [value]


_MAKERS: Mapping[str, Callable[[Mapping[str, Any]], Convert]] = {
    "text": _text,
    "int": _int,
    "number": _number,
    "price": _price,
    "date": _date,
    "url": _url,
    "bool": _bool,
    "json": lambda _: lambda value, page: value,
}
