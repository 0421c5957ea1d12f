"""Text from the web as it may be printed: control, escape and bidirectional characters made visible."""

from __future__ import annotations

import re

# C0 and C1 controls, and the characters that reorder or hide text in a terminal.
_UNSAFE = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)


def plain(text: str) -> str:
    """The text with unsafe characters escaped; line breaks stay."""
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def one_line(text: str, width: int = 200) -> str:
    """The first line of it, escaped and cut."""
    first = plain(text.strip().split("\n", 1)[0])
    return first if len(first) <= width else first[: width - 1] + "…"


def blame(field: str, reason: str) -> str:
    """The reason of a rejection, with the field to blame, unless it names that itself."""
    return reason if not field or field in reason else f"{field}: {reason}"


def seconds(value: float) -> str:
    """A duration as people say it."""
    if value < 90:
        return f"{value:.0f} s"
    if value < 5400:
        return f"{value / 60:.0f} min"
    return f"{value / 3600:.1f} h"
