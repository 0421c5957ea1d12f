"""Text from the web as it may be printed: control, escape and bidirectional characters made visible.

Left as they are: combining marks and variation selectors, which change how one letter looks, and letters that look
like others.
"""

from __future__ import annotations

import json
import logging
import re
from typing import Any

# C0 and C1 controls, what reorders or hides text in a terminal, and the tags that spell words nobody sees.
_UNSAFE = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)


def plain(text: str) -> str:
    """The text with unsafe characters escaped; line breaks stay."""
    return text if text.isprintable() else _UNSAFE.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def plain_json(text: str) -> str:
    """A line of JSON that says the same to every reader of JSON, its unsafe characters in JSON's own escapes."""
    return text if text.isprintable() else _UNSAFE.sub(lambda found: json.dumps(found[0])[1:-1], text)


def as_json(value: Any, indent: int | None = None) -> str:
    """JSON for a program, which may be a terminal."""
    return plain_json(json.dumps(value, ensure_ascii=False, indent=indent))


class PlainFormatter(logging.Formatter):
    """Log lines as they may be printed: errors quote what sites say."""

    def format(self, record: logging.LogRecord) -> str:
        return plain(super().format(record))


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
