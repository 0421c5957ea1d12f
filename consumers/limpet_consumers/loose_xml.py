"""XML as sites serve it: what a strict parser refuses and everybody understands is mended before it is parsed.

After that no entity is left but XML's own five, so that there is nothing to expand, whatever a document declares.
"""

from __future__ import annotations

import codecs
import re
from html.entities import html5

MOST = 1_000_000  # mendings in one document; what is left is for the parser to refuse
_BOMS = (
    (codecs.BOM_UTF8, "utf_8"),
    (codecs.BOM_UTF16_BE, "utf_16_be"),
    (codecs.BOM_UTF16_LE, "utf_16_le"),
    (b"\0<", "utf_16_be"),
    (b"<\0", "utf_16_le"),
)
_DECLARED = re.compile(rb"""\s*<\?xml[^>]{0,200}?\sencoding\s*=\s*["']([A-Za-z0-9._:-]{1,40})["']""")
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\r"))  # in XML they may not occur at all
_OLD = re.compile("iso8859|cp[0-9]|koi8|gb|big5|euc|shift_jis|johab|mac|tis")
# An & that begins no reference, or one to an entity of HTML; not in CDATA and comments, where it is only itself.
_ENTITY = re.compile(
    rb"<!\[CDATA\[.*?(?:\]\]>|\Z)|<!--.*?(?:-->|\Z)"
    rb"|&(?!(?:amp|lt|gt|quot|apos|#[0-9]{1,7}|#x[0-9a-fA-F]{1,6});)(?:([A-Za-z][A-Za-z0-9]{1,30});)?",
    re.DOTALL,
)


def mended(body: bytes, charset: str = "") -> bytes:
    """`body` as UTF-8, to be parsed as such whatever it declares.

    It is taken for UTF-8 if it can be, else for what `charset` or its own declaration says, else for windows-1252.
    """
    utf8 = _utf8(body, charset).translate(None, _CONTROLS).strip()
    return _ENTITY.sub(_entity, utf8, MOST) if b"&" in utf8 else utf8


def _utf8(body: bytes, charset: str) -> bytes:
    for mark, codec in _BOMS:
        if body.startswith(mark) and codec != "utf_8":
            return body.decode(codec, "replace").removeprefix("\ufeff").encode("utf_8", "replace")
    body = body.removeprefix(codecs.BOM_UTF8)
    try:
        body.decode("utf_8")
    except UnicodeDecodeError:
        found = _DECLARED.match(body)
        declared = found[1].decode("ascii") if found else ""
        return body.decode(_codec(charset) or _codec(declared) or "cp1252", "replace").encode(
            "utf_8", "replace"
        )
    return body


def _codec(name: str) -> str | None:
    """The codec, if it is one of the old encodings of text; Python knows others that a page must not choose."""
    try:
        found = codecs.lookup(name).name
    except (LookupError, ValueError):
        return None
    return found if _OLD.match(found) else None


def _entity(found: re.Match[bytes]) -> bytes:
    text = found[0]
    if not text.startswith(b"&"):
        return text
    meant = html5.get(f"{found[1].decode('ascii')};") if found[1] else None
    return "".join(f"&#{ord(char)};" for char in meant).encode() if meant else b"&amp;" + text[1:]
