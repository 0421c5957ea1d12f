"""What numbers, prices and dates have in common: the error, and text with the accidents of typography removed."""

from __future__ import annotations

import unicodedata
from typing import Any

_INVISIBLE = "\u00ad\u061c\u200b\u200c\u200d\u200e\u200f\u2060\ufeff" + "".join(
    map(chr, (*range(0x202A, 0x202F), *range(0x2066, 0x206A)))
)
_ALIKE: dict[int, str | None] = {
    **dict.fromkeys(map(ord, _INVISIBLE)),
    **dict.fromkeys(map(ord, "−﹣－‐‑"), "-"),
    **dict.fromkeys(map(ord, "’＇"), "'"),
    **{ord(wide): narrow for wide, narrow in zip("，．：／＋￥＄", ",.:/+¥$", strict=True)},
}


class NotRead(ValueError):
    """A text that is not, beyond doubt, what was asked for. `text` is as it was found, `reason` says what is wrong."""

    def __init__(self, text: object, reason: str) -> None:
        super().__init__(f"{text!r}: {reason}")
        self.text = text
        self.reason = reason


def fold(text: Any) -> str:
    """`text` with ASCII digits, minus and apostrophe, single plain spaces and no direction marks. Raises NotRead
    for what is no text at all."""
    if not isinstance(text, str):
        raise NotRead(text, f"a {type(text).__name__}, not text")
    if not text.isascii():
        text = "".join(map(_digit, text.translate(_ALIKE)))
    return " ".join(text.split())


def _digit(char: str) -> str:
    return str(unicodedata.decimal(char)) if char.isdecimal() else char
