"""Secrets by reference: the store, logs and messages hold the name, the value is looked up when it is sent."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn
from urllib.parse import quote, quote_plus

from limpet_store.errors import UsageError
from limpet_store.items import JSON

LEAST = 4  # characters; what is shorter is found in any text
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
_revealed: dict[str, str] = {}  # value -> name, of this process


class SecretMissing(UsageError):
    """Neither the variable nor its file is there."""


class Secret:
    """The value of an environment variable, or of the file that `<NAME>_FILE` names, looked up when it is needed.

    Text may stand around it: `"Bearer " + secret("API_KEY")`. It cannot be formatted or printed: `repr` has the name
    alone. `reveal()` gives the value.
    """

    __slots__ = ("after", "before", "name")

    def __init__(self, name: str, before: str = "", after: str = "") -> None:
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise UsageError(f"secret({name!r}): the name of an environment variable")
        self.name = name
        self.before = before
        self.after = after

    def __radd__(self, text: str) -> Secret:
        return Secret(self.name, text + self.before, self.after) if isinstance(text, str) else NotImplemented

    def __add__(self, text: str) -> Secret:
        return Secret(self.name, self.before, self.after + text) if isinstance(text, str) else NotImplemented

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and self.plain == other.plain

    def __hash__(self) -> int:
        return hash((self.name, self.before, self.after))

    def __repr__(self) -> str:
        around = "".join(f", {side}=..." for side in ("before", "after") if getattr(self, side))
        return f"secret({self.name!r}{around})"

    def __str__(self) -> NoReturn:
        raise TypeError(f'{self!r} is no text: write "..." + secret({self.name!r}), or .reveal() in a login')

    def __format__(self, _: str) -> NoReturn:
        str(self)
        raise AssertionError

    @property
    def plain(self) -> JSON:
        """The reference as JSON: what is stored."""
        return {"secret": self.name, "before": self.before, "after": self.after}

    def reveal(self) -> str:
        """The value with the text around it. Raises SecretMissing."""
        value = os.environ.get(self.name)
        if value is None:
            value = _from_file(self.name)
        keep_out(value, self.name)
        return self.before + value + self.after


def _from_file(name: str) -> str:
    path = os.environ.get(f"{name}_FILE")
    if path is None:
        raise SecretMissing(
            f"the secret {name} is not there: set {name}, or {name}_FILE to a file that holds it"
        )
    try:
        return Path(path).read_text("utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise SecretMissing(f"the secret {name} is not there: {name}_FILE cannot be read ({why})") from None


def keep_out(value: str, name: str) -> None:
    """Let `hidden` take this value out of texts."""
    if len(value) >= LEAST:
        _revealed[value] = name


def hidden(text: str) -> str:
    """The text without the values of the secrets that this process has revealed, as they are or as in a URL: for what
    foreign code says in its exceptions."""
    for value in sorted(_revealed, key=len, reverse=True):
        for form in {value, quote(value, safe=""), quote_plus(value)}:
            text = text.replace(form, f"secret({_revealed[value]!r})")
    return text


def told(text: str) -> str | None:
    """The name of a secret that this process has revealed and that the text tells; None for most."""
    if not _revealed:
        return None
    for value, name in _revealed.items():
        if value in text or quote(value, safe="") in text or quote_plus(value) in text:
            return name
    return None


def stored(value: str | Secret) -> JSON:
    """A text or a reference as it is stored."""
    return value.plain if isinstance(value, Secret) else value


def read(value: JSON) -> str | Secret:
    """What `stored` gave, as it was."""
    return value if isinstance(value, str) else Secret(value["secret"], value["before"], value["after"])


def revealed(values: Mapping[str, JSON]) -> dict[str, str]:
    """What `stored` gave, as it is sent. Raises SecretMissing."""
    found = {name: read(value) for name, value in values.items()}
    return {name: value if isinstance(value, str) else value.reveal() for name, value in found.items()}
