"""What a response is read from, line by line: status, headers, sizes of chunks. A line that ends with the connection is
a cut response, whatever it says."""

from __future__ import annotations

import http.client
import io
import re

MOST_HEADERS = 262_144  # bytes of one response's headers; of lines there may be 100, http.client's own bound
BLANK = (b"\r\n", b"\n")
HEADER = re.compile(rb"[!-9;-~]+:")  # what the parser takes for one


class CutShort(http.client.HTTPException):
    """The connection ended inside a line, or before the headers did."""


class HeadersTooLarge(http.client.HTTPException):
    """More headers than anybody needs."""


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
                raise CutShort
            if not self.inside_headers or self._is_header(line):
                return line

    def headers_begin(self) -> None:
        """From here on to an empty line come headers."""
        self.inside_headers, self._taken, self._kept = True, 0, False

    def _is_header(self, line: bytes) -> bool:
        """Whether it is one, or ends them. One that is neither is left out, as by browsers; the parser would leave out
        what follows."""
        self._taken += len(line)
        if self._taken > MOST_HEADERS:
            raise HeadersTooLarge
        if line in BLANK:
            self.inside_headers = False
            return True
        if line[0] not in b" \t":  # else it goes on with the line before
            self._kept = HEADER.match(line) is not None
        return self._kept
