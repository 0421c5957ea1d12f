"""Values as people write them into scripts: JSON, JSON with the usual mistakes, JavaScript literals.

Mended is what has one meaning only: comments and CDATA marks around and between, commas and semicolons too many, a
comma that was forgotten before an object or a member, a value that was left out (`"price": ,` is None), raw line
breaks in strings, single quotes, bare keys, `!0`, `True`, hexadecimal numbers. NaN, Infinity, undefined and numbers
that no double can hold become None. A number that begins with 0 stays text, as those digits are a code (GTIN). Of
equal keys the last counts. Lone surrogates and NULs in strings become U+FFFD. So what is read can be stored.

Everything else is Broken, and nothing of it is kept: expressions, names, functions, templates with `${}`, a
quote inside a quoted string, a text that ends too early, nesting deeper than 90.
"""

from __future__ import annotations

import html
import json
import math
import re
from dataclasses import dataclass
from typing import Any, NoReturn

from limpet_store.items import JSON

DEEPEST = 90  # so that a record has room around it

# Nothing may follow it: to try again with other ends of its comments would take for ever. The lengths are bounded
# because a hostile page has many comments without an end.
_SPACE = re.compile(
    r"""(?:[\s\ufeff\u200b]++ | /\*.{0,9999}?\*/ | //[ \t]{0,99}(?:<!\[CDATA\[|\]\]>|<!--|-->)
    | //[^\n\r\u2028\u2029]{0,9999}+ | <!--[^<{\[]{0,9999}?--> | <!-- | --> | <!\[CDATA\[ | \]\]>)*""",
    re.S | re.X,
)
_TOKEN = re.compile(
    r"""(?P<mark>[{}\[\]:,])
    | "(?P<double>[^"\\]*+(?:\\.[^"\\]*+)*)" | '(?P<single>[^'\\]*+(?:\\.[^'\\]*+)*)'
    | `(?P<back>[^`\\$]*+(?:(?:\\.|\$(?!\{))[^`\\$]*+)*)`
    | (?P<number>[-+]?(?:0[xX][\da-fA-F]++ | (?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][-+]?\d++)?))n?(?![\w$.])
    | (?P<word>!\s?[01] | void\s0 | [-+]?Infinity(?![\w$]) | [^\W\d][\w$]*+ | \$[\w$]*+)""",
    re.S | re.X,
)
_ESCAPE = re.compile(r"\\(?:u\{([\da-fA-F]{1,6})\}|u([\da-fA-F]{4})|x([\da-fA-F]{2})|(\r\n|.))", re.S)
_SHORT = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "0": "\0"}
_SHORT |= dict.fromkeys(("\n", "\r", "\r\n", "\u2028", "\u2029"), "")  # a line that goes on
_WORDS: dict[str, bool | None] = {"true": True, "false": False, "!0": True, "!1": False}
_WORDS |= dict.fromkeys(["null", "none", "undefined", "void0", "nan", "infinity", "+infinity", "-infinity"])
_UNSTORABLE = re.compile(r"\\u(?:d[89a-f]|0000)", re.I)
_ALL_ESCAPED = re.compile(r"[\s\[{\ufeff]*&(?:quot|#0*34|#x0*22);", re.I)
_NOT_ENDED = re.compile(r"[\w$.]")  # the 0 of 012 is not its value
_TOO_MUCH = "too much to mend in one page"
_NOTHING: Any = object()


class Broken(ValueError):
    """A text that is no value, and where it stops being one."""


@dataclass(slots=True)
class Budget:
    """Characters that may still be read the slow way, for all texts of a page together."""

    left: int = 2_000_000


def values(text: str, budget: Budget) -> list[JSON]:
    """All values of `text`, which stand one after another in it; [] when there is none. Raises Broken."""
    if _ALL_ESCAPED.match(text):
        text = html.unescape(text)
    found: list[JSON] = []
    at = skip_space(text, 0)
    while at < len(text):
        if text[at] in (";,}])" if found else ";,"):
            at += 1  # one mark too many
        else:
            value, at = literal(text, at, budget)
            found.append(value)
        at = skip_space(text, at)
    return found


def literal(text: str, at: int, budget: Budget) -> tuple[JSON, int]:
    """The value that begins at `at`, and where it ends. Raises Broken."""
    try:
        value, end = _decoder.raw_decode(text, at)
    except RecursionError:
        raise _broken(text, at, f"nested deeper than {DEEPEST}") from None
    except ValueError as error:
        budget.left -= getattr(error, "pos", at) - at
        return _mend(text, at, budget)
    if isinstance(value, (dict, list)):
        _check_depth(text, at, value)
    elif _NOT_ENDED.match(text, end):
        return _mend(text, at, budget)
    return _storable(value) if _UNSTORABLE.search(text, at, end) else value, end


def skip_space(text: str, at: int) -> int:
    """Where what is neither whitespace nor comment begins."""
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _float(digits: str) -> float | None:
    value = float(digits)
    return value if math.isfinite(value) else None


def _integer(digits: str) -> int | None:
    return int(digits) if len(digits) <= 308 else None


_decoder = json.JSONDecoder(
    strict=False, parse_constant=lambda _: None, parse_float=_float, parse_int=_integer
)


def _check_depth(text: str, at: int, value: JSON) -> None:
    level = [value]
    for _ in range(DEEPEST):
        inner = [node.values() if type(node) is dict else node for node in level]
        level = [item for items in inner for item in items if type(item) is dict or type(item) is list]
        if not level:
            return
    raise _broken(text, at, f"nested deeper than {DEEPEST}")


def _storable(value: JSON) -> JSON:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, dict):
        return {_text(key): _storable(item) for key, item in value.items()}
    return [_storable(item) for item in value] if isinstance(value, list) else value


def _text(value: str) -> str:
    """Surrogates joined where they are a pair, else U+FFFD, as is a NUL."""
    if not value.isascii():
        value = value.encode("utf_16_le", "surrogatepass").decode("utf_16_le", "replace")
    return value.replace("\0", "\ufffd")


def _broken(text: str, at: int, why: str) -> Broken:
    line = text.count("\n", 0, at) + 1
    column = at - text.rfind("\n", 0, at)
    near = " ".join(text[at : at + 40].split())
    return Broken(f"line {line} column {column}: {why}" + (f", at {near!r}" if near else ""))


def _mend(text: str, at: int, budget: Budget) -> tuple[JSON, int]:
    if budget.left < 0:
        raise _broken(text, at, _TOO_MUCH)
    reader = _Reader(text, at, at + budget.left)
    try:
        token = reader.take()
        return reader.value(token, 0), reader.at
    finally:
        budget.left -= reader.at - at


class _Reader:
    """A recursive descent over tokens. `_decoder` is a hundred times faster and has had its try."""

    def __init__(self, text: str, at: int, limit: int) -> None:
        self.text = text
        self.at = at  # the end of the current token
        self.limit = limit
        self.start = at  # its beginning

    def take(self) -> re.Match[str]:
        """The next token."""
        self.start = skip_space(self.text, self.at)
        if self.start > self.limit:
            self.fail(_TOO_MUCH)
        token = _TOKEN.match(self.text, self.start)
        if token is None:
            if self.start == len(self.text):
                self.fail("the text ends too early")
            if self.text[self.start] in "\"'`":
                self.at = len(self.text)  # so much was read to see that it does not end
            self.fail("not a value")
        self.at = token.end()
        return token

    def fail(self, why: str) -> NoReturn:
        raise _broken(self.text, self.start, why)

    def value(self, token: re.Match[str], depth: int) -> JSON:
        """The value that begins with `token`."""
        if token["mark"]:
            if token[0] not in "{[":
                self.fail("not a value")
            if depth >= DEEPEST:
                self.fail(f"nested deeper than {DEEPEST}")
            return self._object(depth + 1) if token[0] == "{" else self._array(depth + 1)
        if token["number"]:
            return _number(token["number"], token[0])
        if token["word"]:
            value = _WORDS.get("".join(token[0].lower().split()), _NOTHING)
            return self.fail("a name, not a value") if value is _NOTHING else value
        return self._string(token)

    def _object(self, depth: int) -> JSON:
        found: dict[str, JSON] = {}
        token = self.take()
        while token[0] != "}":
            if token[0] != ",":
                key = self._key(token)
                token = self.take()
                if token[0] in (",", "}"):
                    found[key] = None
                    continue
                found[key] = self.value(token, depth)
            token = self.take()
        return found

    def _key(self, token: re.Match[str]) -> str:
        if token["mark"]:
            self.fail("not a key")
        key = token[0] if token["word"] or token["number"] else self._string(token)
        if self.take()[0] != ":":
            self.fail("no colon after the key")
        return key

    def _array(self, depth: int) -> JSON:
        found: list[JSON] = []
        empty = True  # nothing stands before the next comma
        while (token := self.take())[0] != "]":
            if token[0] == ",":
                if empty:
                    found.append(None)
                empty = True
            elif empty or token[0] == "{":
                found.append(self.value(token, depth))
                empty = False
            else:
                self.fail("no comma before it")
        return found

    def _string(self, token: re.Match[str]) -> str:
        raw: str = token["double"] or token["single"] or token["back"] or ""
        return _text(_ESCAPE.sub(self._escape, raw)) if "\\" in raw else raw

    def _escape(self, found: re.Match[str]) -> str:
        code = found[1] or found[2] or found[3]
        if not code:
            return self.fail("a broken escape") if found[4] in "ux" else _SHORT.get(found[4], found[4])
        return chr(int(code, 16)) if int(code, 16) <= 0x10FFFF else self.fail("a broken escape")


def _number(digits: str, written: str) -> JSON:
    unsigned = digits.lstrip("+-")
    if unsigned[:2] in ("0x", "0X"):
        value = int(unsigned, 16)
        return None if value.bit_length() > 1024 else -value if digits[0] == "-" else value
    if unsigned[0] == "0" and unsigned[1:2].isdigit():
        return written
    return _float(digits) if not unsigned.isdigit() else _integer(digits)
