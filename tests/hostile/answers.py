"""Short ways to write what a server says."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable

from hostile.server import Answer, Asked, Script

HTML = "Content-Type: text/html; charset=utf-8"
CHUNKED = "Transfer-Encoding: chunked"
GZIP = "Content-Encoding: gzip"


def head(*lines: str | bytes, status: int | str = 200) -> bytes:
    """A status line and headers, to the letter."""
    all_lines = (f"HTTP/1.1 {status} Thing", *lines, "", "")
    return b"\r\n".join(line.encode("latin-1") if isinstance(line, str) else line for line in all_lines)


def answer(body: bytes | str = b"", *lines: str | bytes, status: int | str = 200) -> bytes:
    """A whole answer with its length."""
    data = body.encode() if isinstance(body, str) else body
    return head(*lines, f"Content-Length: {len(data)}", status=status) + data


def said(text: str, *links: str) -> str:
    """The HTML of a page whose record says `text`, with links."""
    return f"<title>t</title><h1>{text}</h1>" + "".join(f'<a href="{link}">to</a>' for link in links)


def page(text: str, *links: str, lines: tuple[str | bytes, ...] = (), status: int = 200) -> bytes:
    """A page with a record and links."""
    return answer(said(text, *links), HTML, *lines, status=status)


def raw(body: bytes | str, content_type: str = "text/html") -> bytes:
    """An answer of this type."""
    return answer(body, f"Content-Type: {content_type}")


def chunks(*pieces: bytes, end: bytes = b"0\r\n\r\n") -> bytes:
    """A chunked body."""
    return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + end


def moved(location: str | bytes, status: int = 302, *lines: str) -> bytes:
    """A redirect."""
    to = location.encode() if isinstance(location, str) else location
    return answer(b"moved", b"Location: " + to, *lines, status=status)


def packed(text: str) -> bytes:
    """A gzip stream of a page."""
    return gzip.compress(said(text).encode(), mtime=0)


def deflated(text: str) -> bytes:
    """A zlib stream of a page."""
    return zlib.compress(said(text).encode())


def raw_deflated(text: str) -> bytes:
    """A deflate stream without zlib's frame."""
    stream = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return stream.compress(said(text).encode()) + stream.flush()


def sent(name: str, value: str, then: Answer, otherwise: Answer) -> Callable[[Asked], Script]:
    """What is said depends on whether a header was sent with this in it."""

    def decide(asked: Asked) -> Script:
        chosen = then if value in asked.headers.get(name, "") else otherwise
        return chosen(asked) if callable(chosen) else chosen

    return decide
