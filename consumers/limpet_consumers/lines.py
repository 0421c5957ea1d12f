"""What a response is read from, line by line: status, headers, sizes of chunks. A line that ends with the connection is
a cut response, whatever it says."""

from __future__ import annotations

import http.client
import io
import re

MOST_HEADERS = 262_144  # bytes of one response's headers; of lines there may be 100, http.client's own bound
BEGINNING = 5  # bytes of a cut line, enough to see whether it is what it should be
BLANK = (b"\r\n", b"\n")
HEADER = re.compile(rb"([!-9;-~]+)([ \t]*):")  # what the parser takes for one, but for the blanks
PLAIN = re.compile(rb"[!-9;-~]+:[^\r]*[^\r\n \t]\r?\n").fullmatch


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
    that is another page, of the chunk size `0a3` the last chunk, and headers that were cut are fewer headers.
    """

    inside_headers = False
    _taken = 0
    _kept = False  # the line before

    def readline(self, size: int | None = -1, /) -> bytes:
        """As any reader's. Raises CutShort and HeadersTooLarge."""
        while True:
            line = super().readline(size)
            if line[-1:] != b"\n" and (line or self.inside_headers) and len(line) != size:
                raise CutShort(line[:BEGINNING])
            if not self.inside_headers or len(line) == size:  # too long for http.client, which says so
                return line
            if header := self._header(line):
                return header

    def headers_begin(self) -> None:
        """From here on to an empty line come headers."""
        self.inside_headers, self._taken, self._kept = True, 0, False

    def _header(self, line: bytes) -> bytes:
        """The header, or the line that ends them. What is neither is left out, as by browsers: b""; the parser would
        leave out what follows."""
        self._taken += len(line)
        if self._taken > MOST_HEADERS:
            raise HeadersTooLarge
        if PLAIN(line):
            self._kept = True
            return line
        if line in BLANK:
            self.inside_headers = False
            return line
        return self._mended(line)

    def _mended(self, line: bytes) -> bytes:
        """One that the parser or http.client would misread: with blanks where none belong, or a carriage return inside,
        which the parser takes for the end of a line (RFC 9112, 2.2 and 5.1)."""
        text = line.rstrip(b"\r\n \t").replace(b"\r", b" ")
        if line[0] in b" \t":  # it goes on with the line before
            return text + b"\r\n" if text and self._kept else b""
        found = HEADER.match(text)
        self._kept = found is not None
        return found[1] + text[found.end(2) :] + b"\r\n" if found else b""
