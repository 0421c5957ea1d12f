"""What a response is read from, line by line: status, headers, sizes of chunks. A line that ends with the connection is
a cut response, whatever it says."""

from __future__ import annotations

import http.client
import io
import re
from collections.abc import Iterator

MOST_LINE = 65_536  # bytes
MOST_HEADERS = 262_144  # bytes of one response's headers
MOST_LINES = 1_000  # lines of them
BLANK = (b"\r\n", b"\n")
NAME = re.compile(r"[!-9;-~]+").fullmatch
BEGINNING = 5  # bytes of a cut line, enough to see whether it is what it should be


class CutShort(http.client.HTTPException):
    """The connection ended inside a line, or before the headers did; `begun` is how the line began."""

    def __init__(self, begun: bytes = b"") -> None:
        super().__init__()
        self.begun = begun


class HeadersTooLarge(http.client.HTTPException):
    """More headers than anybody needs."""


class BadChunk(http.client.HTTPException):
    """A chunk whose size is none, or that does not end where its size says."""


class Lines(io.BufferedReader):
    """The buffered reader of a response, for http.client.

    http.client takes the end of the connection for the end of a line: of `Location: https://shop.example/product/12`
    that is another page, and of the chunk size `0a3` the last chunk.
    """

    def readline(self, size: int | None = -1, /) -> bytes:
        """As any reader's. Raises CutShort."""
        line = super().readline(size)
        if line[-1:] != b"\n" and line and len(line) != size:
            raise CutShort(line[:BEGINNING])
        return line


def headers_of(lines: Lines) -> http.client.HTTPMessage:
    """The headers, to the empty line that ends them. Raises CutShort and HeadersTooLarge.

    http.client's own parser is one for mail: it takes the end of the connection for theirs, leaves out all that follows
    a line that is none, and breaks lines where there is a bare carriage return. Here a line that is no header is left
    out alone, as by browsers; folded lines are one, and blanks around names and values are no part of them (RFC 9112,
    2.2 and 5).
    """
    found: list[tuple[str, str]] = []
    kept = False
    for line in _section(lines):
        text = line.decode("latin-1")
        if text[0] in " \t":  # it goes on with the line before
            if kept:
                found[-1] = (found[-1][0], f"{found[-1][1]} {_value(text)}".strip(" "))
            continue
        name, colon, value = text.partition(":")
        name = name.rstrip(" \t")
        kept = bool(colon and NAME(name))
        if kept:
            found.append((name, _value(value)))
    message = http.client.HTTPMessage()
    for name, value in found:
        message.set_raw(name, value)
    return message


def _section(lines: Lines) -> Iterator[bytes]:
    """The lines before the empty one."""
    taken = 0
    for _ in range(MOST_LINES):
        line = lines.readline(MOST_LINE)
        if line in BLANK:
            return
        if not line:
            raise CutShort
        taken += len(line)
        if taken > MOST_HEADERS or line[-1:] != b"\n":
            break
        yield line
    raise HeadersTooLarge


def _value(text: str) -> str:
    return text.strip(" \t\r\n").replace("\r", " ")
