"""What a GraphQL text does, as far as it has to be known: whether it only reads."""

from __future__ import annotations

import re
from collections.abc import Iterator

_TOKEN = re.compile(
    r'"""(?:\\"""|.)*?"""|"(?:\\.|[^"\\\n])*"|#[^\r\n]*|[({\[]|[)}\]]|[_A-Za-z][_0-9A-Za-z]*', re.S
)


def operations(text: str) -> Iterator[str]:
    """The word that each definition begins with, `query` for one without: fields of the same names are none."""
    depth, begins = 0, True
    for token in _TOKEN.findall(text):
        if token[0] in '"#':
            continue
        if depth == 0 and begins:
            yield "query" if token == "{" else token
        if token in ("(", "{", "["):
            depth += 1
        elif token in (")", "}", "]"):
            depth -= 1
        begins = depth == 0 and token == "}"
