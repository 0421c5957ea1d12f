"""Records with a shape: a dataclass, a TypedDict or a pydantic model says which fields a record has, and of which type.

Every field is checked by itself (msgspec, strictly: "5" is no int), so a rejection names the one to blame.
"""

from __future__ import annotations

import dataclasses
import enum
import typing
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any, Self

from limpet import clean
from limpet.models import first_of, is_model, refused, validated
from limpet_store.errors import SiteError
from limpet_store.items import JSON, Record, Rejection

Key = str | tuple[str, ...]


@dataclass(frozen=True)
class Field:
    """One field: its type, and whether a whole record has to have it."""

    hint: Any
    required: bool


@dataclass(frozen=True)
class Shape:
    """What `@site.record` said of one type of record, or of one part of it."""

    type_: str
    part: str
    cls: type
    key: Key | None
    volatile: tuple[str, ...]
    schema: int
    requires: tuple[str, ...]

    @classmethod
    def described(
        cls,
        type_: str,
        part: str,
        described: type,
        *,
        key: str | Sequence[str] | None,
        volatile: Iterable[str],
        schema: int,
        requires: Iterable[str],
    ) -> Self:
        """What the decorator says of a class."""
        names = key if key is None or isinstance(key, str) else tuple(key)
        return cls(type_, part, described, names, _sorted(volatile), schema, _sorted(requires))

    @cached_property
    def fields(self) -> Mapping[str, Field]:
        """Raises SiteError when a type cannot be resolved."""
        try:
            return _fields(self.cls)
        except Exception as error:
            raise SiteError(f"record {self.type_!r}: {self.cls.__name__}: {error}") from error

    def check_names(self) -> None:
        """Raises SiteError for a class that is no shape, and when `key` or `volatile` names none of its fields."""
        _ = self.fields
        named = (self.key,) if isinstance(self.key, str) else self.key or ()
        for what, names in (("key", named), ("volatile", self.volatile)):
            for name in names:
                if name not in self.fields:
                    raise SiteError(
                        f"record {self.type_!r}: {what} {name!r} is no field of {self.cls.__name__}"
                    )

    @cached_property
    def facts(self) -> str:
        """What of it decides about the records that a handler gives: part of the handler's code."""
        hints = {name: (repr(field.hint), field.required) for name, field in self.fields.items()}
        return repr(
            (
                self.type_,
                self.part,
                self.key,
                self.volatile,
                self.schema,
                self.requires,
                hints,
            )
        )

    def record(self, given: object) -> Record:
        """An instance of the class as a record, not checked yet."""
        fields = given.model_dump() if hasattr(given, "model_dump") else _shallow(given)
        return Record(self.type_, None, fields, self.part)

    def shaped(self, record: Record) -> Record | Rejection:
        """The record with its values as their types have them, its key and what the shape says; or why not."""
        values = self._values(record)
        key = record.key
        if key is None and self.key is not None:
            key = _key_of(self.key, record.data if isinstance(values, Rejection) else values)
        if isinstance(values, Rejection):
            return dataclasses.replace(values, key=clean.shown_key(key) if key is not None else "")
        return dataclasses.replace(
            record, key=key, data=values, volatile=self.volatile, schema=self.schema,
            requires=record.requires or self.requires,
        )  # fmt: skip

    def _values(self, record: Record) -> dict[str, JSON] | Rejection:
        """The data in their types, or the first field to blame and how many others there are."""
        if is_model(self.cls):
            return validated(self.cls, record)
        whole = record.part == self.part  # a part of a record has some of its fields
        values: dict[str, JSON] = {}
        wrong: list[Rejection] = []
        for name, value in record.data.items():
            found = self._field(record, name, value)
            if isinstance(found, Rejection):
                wrong.append(found)
            else:
                values[name] = found[0]
        for name, field in self.fields.items():
            if whole and field.required and name not in record.data:
                wrong.append(_rejection(record, name, "missing", ""))
        return first_of(wrong) if wrong else values

    def _field(self, record: Record, name: str, value: JSON) -> tuple[JSON] | Rejection:
        import msgspec

        if name not in self.fields:
            return _rejection(record, name, f"{self.cls.__name__} has no such field", value)
        try:
            found = msgspec.convert(value, self.fields[name].hint, dec_hook=_price)
            return (msgspec.to_builtins(found),)
        except msgspec.ValidationError as error:
            return _rejection(record, name, str(error).replace("`", ""), value)


def check(type_: Any, part: Any, schema: Any) -> None:
    """Raise SiteError for what describes no record."""
    problems = []
    if not isinstance(type_, str) or not type_.strip():
        problems.append(f"type {type_!r}: a word")
    if not isinstance(part, str):
        problems.append(f"part {part!r}: a word")
    if not clean.is_schema(schema):
        problems.append(f"schema {schema!r}: a whole number, at least 1")
    if problems:
        raise SiteError(f"@site.record: {'; '.join(problems)}")


def _sorted(names: Iterable[str]) -> tuple[str, ...]:
    if isinstance(names, str):
        raise SiteError(f"@site.record: {names!r} is to be a list of names")
    return tuple(sorted(set(names)))


class Shapes:
    """The shapes of a site, by type and part of the record and by class."""

    def __init__(self) -> None:
        self._named: dict[tuple[str, str], Shape] = {}
        self._classes: dict[type, Shape] = {}

    def add(self, shape: Shape) -> None:
        """Raises SiteError for a second shape of a type or class."""
        name = (shape.type_, shape.part)
        if name in self._named or shape.cls in self._classes:
            raise SiteError(
                f"record {shape.type_!r}{shape.part and f', part {shape.part!r}'}: described twice"
            )
        self._named[name] = self._classes[shape.cls] = shape

    def __iter__(self) -> typing.Iterator[Shape]:
        return iter(self._named.values())

    def record(self, given: object) -> Record | Rejection | None:
        """What a handler gave as a record in plain types and in its shape; None when it is none."""
        shape = self._classes.get(type(given))
        if shape is not None:
            given = shape.record(given)
        if not isinstance(given, Record):
            return None
        plain = clean.record(given, keyless=True)
        if isinstance(plain, Rejection):
            return _with_key(plain, shape, given)
        shape = self._named.get((plain.type, plain.part)) or self._named.get((plain.type, ""))
        found = shape.shaped(plain) if shape else plain
        return found if isinstance(found, Rejection) else clean.keyed(found)

    def rejected(self, error: BaseException) -> Rejection | None:
        """A pydantic model of the site that refused its values while the handler made it; None for other errors."""
        if not type(error).__module__.startswith("pydantic"):
            return None
        model = getattr(error, "title", "")
        shape = next((shape for shape in self if shape.cls.__name__ == model), None)
        return refused(error, shape.type_) if shape else None


def _price(hint: Any, value: Any) -> Any:
    """A `limpet.values.Price` again, the one class of ours that a field may have. Raises TypeError for what is none."""
    import msgspec

    from limpet.values import Price

    if hint is Price and isinstance(value, dict) and value.keys() == {"amount", "currency"}:
        convert = msgspec.convert
        return Price(convert(value["amount"], Decimal), convert(value["currency"], str | None))
    raise TypeError(f"Expected {hint.__name__}, got {type(value).__name__}")


def _fields(cls: type) -> dict[str, Field]:
    if is_model(cls):
        return {name: Field(info.annotation, info.is_required()) for name, info in cls.model_fields.items()}  # type: ignore[attr-defined]
    hints = typing.get_type_hints(cls, include_extras=True)
    if typing.is_typeddict(cls):
        required: Collection[str] = cls.__required_keys__  # type: ignore[attr-defined]
        return {name: Field(_bare(hint), name in required) for name, hint in hints.items()}
    if not dataclasses.is_dataclass(cls):
        raise TypeError("a dataclass, a TypedDict or a pydantic model is needed")
    return {
        field.name: Field(
            hints[field.name],
            field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING,
        )
        for field in dataclasses.fields(cls)
    }


def _bare(hint: Any) -> Any:
    """Without Required[...] and NotRequired[...]."""
    while typing.get_origin(hint) in (typing.Required, typing.NotRequired):
        (hint,) = typing.get_args(hint)
    return hint


def _shallow(given: Any) -> dict[str, Any]:
    return {field.name: unfold(getattr(given, field.name)) for field in dataclasses.fields(given)}


def unfold(value: Any) -> Any:
    """Dataclasses and enumerations in a value as what they hold."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _shallow(value)
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, (list, tuple)):
        return [unfold(each) for each in value]
    if isinstance(value, dict):
        return {name: unfold(each) for name, each in value.items()}
    return value


def _with_key(rejection: Rejection, shape: Shape | None, given: Record) -> Rejection:
    """So that people see which record it was, where the fields say it."""
    if rejection.key or shape is None or shape.key is None or rejection.field == shape.key:
        return rejection
    return dataclasses.replace(rejection, key=clean.shown_key(_key_of(shape.key, given.data)))


def _key_of(key: Key, data: Mapping[str, JSON]) -> Any:
    return data.get(key) if isinstance(key, str) else [data.get(name) for name in key]


def _rejection(record: Record, field: str, reason: str, value: object) -> Rejection:
    return Rejection(record.type, "", clean.printable(reason), clean.printable(value), clean.printable(field))
