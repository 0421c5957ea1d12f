"""Tables of a site file, and the mistakes in them: each one line that names its place."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

KINDS: dict[type, str] = {
    str: "a text",
    bool: "true or false",
    int: "a whole number",
    list: "a list",
    dict: "a table",
}


def near(name: str, known: Iterable[str]) -> str:
    """What was meant by an unknown `name`, as the end of a sentence."""
    names = sorted(known)
    alike = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    return f"; did you mean {alike[0]!r}?" if alike else f"; there is {', '.join(names) or 'none'}"


class Table:
    """One table at `where`. What is wrong in it goes to `mistakes`, and reads as if it were not there."""

    def __init__(self, given: Any, where: str, mistakes: list[str]) -> None:
        self.where = where
        self.mistakes = mistakes
        self.given: dict[str, Any] = given if isinstance(given, dict) else {}
        if not isinstance(given, dict):
            self.wrong(f"a table is needed, not {given!r}")

    def wrong(self, words: str) -> None:
        """Note a mistake."""
        self.mistakes.append(f"{self.where}: {words}" if self.where else words)

    def only(self, keys: Iterable[str]) -> None:
        """Refuse all other keys."""
        known = list(keys)
        for key in self.given:
            if key not in known:
                self.wrong(f"unknown key {key!r}{near(key, known)}")

    def __contains__(self, key: str) -> bool:
        return key in self.given

    def get(self, key: str, kind: type, default: Any = None) -> Any:
        """The value if it is there and of the kind."""
        value = self.given.get(key, default)
        if key in self.given and type(value) is not kind:
            self.wrong(f"{key} is {value!r}; {KINDS[kind]} is needed")
            return default
        return value

    def word(self, key: str, *, needed: bool = False) -> str:
        """A text that is not empty; "" where there is none."""
        value: str = self.get(key, str, "")
        if needed and key not in self.given:
            self.wrong(f"{key} is missing")
        elif self.given.get(key) == "":
            self.wrong(f"{key} is empty")
        return value

    def words(self, key: str, *, needed: bool = False) -> list[str]:
        """A list of texts; one alone may stand without the list."""
        value = self.given.get(key, [])
        found = [value] if isinstance(value, str) else value
        if not isinstance(found, list) or not all(isinstance(word, str) and word for word in found):
            self.wrong(f"{key} is {value!r}; a text or a list of texts is needed")
            return []
        if needed and not found:
            self.wrong(f"{key} is {'empty' if key in self.given else 'missing'}")
        return found

    def below(self, key: str, name: str | None = None) -> Table:
        """The table under `key`, empty if there is none."""
        return Table(self.given.get(key, {}), self._under(name or key), self.mistakes)

    def each(self, key: str, name: str | None = None) -> list[Table]:
        """The tables under `key`; one alone may stand without the list."""
        value = self.given.get(key, [])
        listed = value if isinstance(value, list) else [value]
        many = len(listed) > 1
        places = [f"{name or key} {number}" if many else name or key for number in range(1, len(listed) + 1)]
        return [
            Table(each, self._under(place), self.mistakes) for each, place in zip(listed, places, strict=True)
        ]

    def _under(self, name: str) -> str:
        return f"{self.where}, {name}" if self.where else name
