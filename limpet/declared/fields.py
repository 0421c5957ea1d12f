"""One value: where it stands, of which type it is, and what holds where nothing is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from parsel import Selector

from limpet import clean
from limpet.declared import convert
from limpet.declared.places import PLACES, Place, Seen, Setting, kind_of, place, selector
from limpet.declared.tables import Table, near
from limpet.missing import Missing, MissingValue
from limpet.values import NotRead, Unreadable

Read = Callable[[Seen, Any], Any]
_TEXTS = ("css", "opengraph", "param", "page")  # where a text stands; elsewhere any JSON may
_NOTHING: Any = object()
KEYS = (*PLACES, "type", "default", "optional", *dict.fromkeys(sum(convert.OPTIONS.values(), ())))


def spelled_out(given: Any, alone: str) -> Any:
    """A field as a table: a text alone is its place."""
    return {alone: given} if isinstance(given, str) else given


def field(given: Any, where: Table, name: str, setting: Setting) -> Read | None:
    """The reader of a field; None with a mistake noted."""
    known = len(where.mistakes)
    table = Table(spelled_out(given, setting.alone), f"{where.where}, {name}", where.mistakes)
    table.only(KEYS)
    place_kind = kind_of(table, setting)
    type_ = type_of(table.given)
    if type_ not in convert.OPTIONS:
        table.wrong(f"unknown type {type_!r}{near(type_, convert.OPTIONS)}")
        return None
    options = _options(table, type_)
    default = _default(table, type_, place_kind)
    if place_kind is None or len(where.mistakes) > known:
        return None
    if place_kind == "css":
        css = selector(table)
        return None if css is None else _on_page(css, type_, options, default)
    found = place(table, place_kind, setting)
    if found is None:
        return None
    read = None if type_ == "json" else convert.converter(type_, options, found.label)
    return _elsewhere(found, read, default)


def type_of(given: Any) -> str:
    """The type of a field that is spelled out; "" for what is none."""
    if not isinstance(given, dict):
        return ""
    return str(given.get("type", "text" if any(name in given for name in _TEXTS) else "json"))


def condition(given: Any, where: Table, name: str, setting: Setting) -> Read | None:
    """Whether anything stands in a place: an element, or what is neither empty, false nor 0."""
    table = Table(spelled_out(given, setting.alone), f"{where.where}, {name}", where.mistakes)
    table.only(PLACES)
    kind = kind_of(table, setting)
    if kind == "css":
        css = selector(table)
        return None if css is None else _is_there(css)
    found = place(table, kind, setting) if kind else None
    return None if found is None else lambda seen, below: not _is_nothing(found.get(seen, below) or None)


def _options(table: Table, type_: str) -> dict[str, Any]:
    allowed = convert.OPTIONS[type_]
    for name in dict.fromkeys(sum(convert.OPTIONS.values(), ())):
        if name in table and name not in allowed:
            fitting = [each for each, names in convert.OPTIONS.items() if name in names]
            table.wrong(f"{name} goes with the type {' or '.join(fitting)}, not {type_}")
    options = {name: _option(table, name) for name in allowed if name in table}
    options = {name: value for name, value in options.items() if value not in (None, "", [])}
    if "all" in options and "match" in options:
        table.wrong("match reads one text; leave it or `all` out")
    try:
        convert.check(type_, options)
    except ValueError as error:
        table.wrong(str(error))
    return options


def _option(table: Table, name: str) -> Any:
    if name == "languages":
        return table.words(name)
    return table.get(name, bool) if name == "all" else table.word(name)


def _default(table: Table, type_: str, place_kind: str | None) -> Any:
    """What holds where nothing is; _NOTHING where that rejects the record."""
    optional = table.get("optional", bool, False)
    if place_kind == "css" and type_ == "bool" and (optional or "default" in table):
        table.wrong("whether an element is there is always known; leave `default` and `optional` out")
    if "default" not in table:
        return None if optional else _NOTHING
    if optional:
        table.wrong("optional means that the default is null; leave it or `default` out")
    try:
        default = clean.tidy(table.given["default"], "default")
    except clean.Refused as error:
        table.wrong(str(error))
        return _NOTHING
    kinds = (list,) if table.given.get("all") else convert.DEFAULTS[type_]
    if type(default) not in kinds:
        table.wrong(f"default {default!r} is not of the type {type_}")
    return default


def _on_page(css: str, type_: str, options: Mapping[str, Any], default: Any) -> Read:
    if type_ == "bool":
        return _is_there(css)
    if options.get("all"):
        return _all(css, convert.converter(type_, options, css), default)
    if type_ in ("int", "number", "price", "date"):
        return _typed(css, type_, options, default)
    return _one(css, convert.converter(type_, options, css), default, plain=type_ == "text" and not options)


def _is_there(css: str) -> Read:
    return lambda seen, below: bool((below if isinstance(below, Selector) else seen.page).css(css))


def _all(css: str, read: convert.Convert, default: Any) -> Read:
    def texts(seen: Seen, below: Any) -> Any:
        found = seen.page.all(css, of=_element(below))
        return default if not found and default is not _NOTHING else read(found, seen.page)

    return texts


def _one(css: str, read: convert.Convert, default: Any, *, plain: bool) -> Read:
    rest = () if default is _NOTHING else (_NOTHING,)

    def text(seen: Seen, below: Any) -> Any:
        found = seen.page.one(css, *rest, of=_element(below))
        if found is _NOTHING:
            return default
        return found if plain or isinstance(found, Missing) else read(found, seen.page)

    return text


def _typed(css: str, type_: str, options: Mapping[str, Any], default: Any) -> Read:
    method = "number" if type_ == "int" else type_
    rest = () if default is _NOTHING else (_NOTHING,)

    def value(seen: Seen, below: Any) -> Any:
        found = getattr(seen.page, method)(css, *rest, of=_element(below), **options)
        if found is _NOTHING:
            return default
        return _whole(css, found) if type_ == "int" else found

    return value


def _whole(css: str, found: Any) -> Any:
    try:
        return found if isinstance(found, Missing) else convert.whole(found, str(found))
    except NotRead as error:
        return Unreadable(css, error.text, error.reason)


def _element(below: Any) -> Selector | None:
    """An item of JSON is nothing to look below: its page is."""
    return below if isinstance(below, Selector) else None


def _elsewhere(found: Place, read: convert.Convert | None, default: Any) -> Read:
    get = found.get

    def value(seen: Seen, below: Any) -> Any:
        try:
            there = get(seen, below)
        except MissingValue as error:  # it is there and is no literal
            return Unreadable(found.label, "", str(error))
        if _is_nothing(there):
            return _absent(found, seen) if default is _NOTHING else default
        return read(there, seen.page) if read else there

    return value


def _is_nothing(value: Any) -> bool:
    return value is None or (type(value) is str and not value.strip())


def _absent(found: Place, seen: Seen) -> Missing:
    if errors := found.errors(seen):
        return Unreadable(found.label, "", "; ".join(["nothing is there", *errors[:3]]))
    return Missing(found.label)
