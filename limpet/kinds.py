"""What a body is, where only markup can be read: by its Content-Type, and by its own beginning where that lies.

The signatures are those of the MIME sniffing standard that no text begins with. Unlike a browser it reads no PDF or
picture as HTML because the server says so, and JSON that is served as HTML is JSON.
"""

from __future__ import annotations

import json
import re

from limpet import encoding

MARKUP = frozenset({"text/html", "application/xhtml+xml"})
_UNKNOWN = frozenset(
    {"", "application/octet-stream", "binary/octet-stream", "application/unknown", "unknown/unknown", "*/*"}
)
_DOCUMENT = re.compile(rb"<(?:!doctype\s+html|html[\s>])", re.I)
_HEAD = 1024  # bytes in which a beginning is looked for, behind whitespace
_SIGNATURES = (
    (b"%PDF-", "a PDF"),
    (b"%!PS-Adobe-", "PostScript"),
    (b"\x89PNG\r\n\x1a\n", "a PNG picture"),
    (b"GIF87a", "a GIF picture"),
    (b"GIF89a", "a GIF picture"),
    (b"\xff\xd8\xff", "a JPEG picture"),
    (b"\0\0\1\0", "an icon"),
    (b"OggS\0", "Ogg media"),
    (b"ID3\3", "an MP3"),
    (b"ID3\4", "an MP3"),
    (b"\x1aE\xdf\xa3", "Matroska media"),
    (b"wOFF\0\1\0\0", "a font"),
    (b"wOF2\0\1\0\0", "a font"),
    (b"PK\x03\x04", "a zip archive"),
    (b"PK\x05\x06", "a zip archive"),
    (b"\x1f\x8b\x08", "gzip data"),
    (b"Rar!\x1a\x07", "a RAR archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"\0asm", "WebAssembly"),
)


def no_markup(body: bytes, content_type: str) -> str | None:
    """Why `body` is not to be read as HTML or XML: what it is, and how to read that. None where it may be."""
    head = body[:_HEAD].lstrip()
    if head.startswith((b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf")):
        head = encoding.decode(body[:_HEAD], content_type).lstrip().encode("utf_8", "replace")
    kind = encoding.media_type(content_type)
    kind = kind if "/" in kind else ""  # no type at all
    declared = kind in MARKUP or encoding.is_xml(content_type)
    if head.startswith(b"<") and (declared or kind in _UNKNOWN or _DOCUMENT.match(head)):
        return None
    if found := _binary(head):
        return f"{found}{_said(kind)}: page.body has its bytes"
    if not head.strip(b"\0") or (declared and not _is_json(body, head)):
        return None
    if ("json" in kind and head[:1] != b"<") or (kind in _UNKNOWN | MARKUP and _is_json(body, head)):
        return f"JSON{_said(kind)}: page.json() reads it, page.pick() one value"
    if kind in _UNKNOWN and (b"\0" in head or b"\x01" in head):
        return f"binary data{_said(kind)}: page.body has its bytes"
    if kind.startswith("text/") or kind in _UNKNOWN:
        return f"plain text{_said(kind)}: page.text has it"
    return f"{kind}: page.body has its bytes, page.text its text"


def _binary(head: bytes) -> str:
    if head[4:8] == b"ftyp":
        return "MP4 media"
    if head.startswith(b"RIFF") and head[8:12] in (b"WEBP", b"WAVE", b"AVI "):
        return "a WebP picture, or other media"
    return next((name for mark, name in _SIGNATURES if head.startswith(mark)), "")


def _is_json(body: bytes, head: bytes) -> bool:
    """It looks like it and holds no tag, or is JSON that holds some."""
    if head[:1] not in (b"{", b"[") or body[-_HEAD:].rstrip()[-1:] not in (b"}", b"]"):
        return False
    try:
        return b"<" not in body or json.loads(body.removeprefix(b"\xef\xbb\xbf")) is not None
    except (ValueError, RecursionError):
        return False


def _said(kind: str) -> str:
    return f" (served as {kind})" if kind else ""
