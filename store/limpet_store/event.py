"""A log message in fields: words for people, an object for programs. Any logger takes it for its message."""

from __future__ import annotations

from limpet_store.secret import hidden

Field = str | int | float | bool | None


class Event:
    """What happened, and to what. Fields that are None are left out; nothing is put into words before it is written."""

    __slots__ = ("fields", "name")

    def __init__(self, name: str, **fields: Field) -> None:
        self.name = name
        self.fields = {key: value for key, value in fields.items() if value is not None}

    def __str__(self) -> str:
        told = (f"{key}={str(value).partition(chr(10))[0]}" for key, value in self.fields.items())
        return hidden(" ".join([self.name, *told]))
