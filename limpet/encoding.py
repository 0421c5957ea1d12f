"""From bytes to text as the HTML standard decides it: BOM, Content-Type, the document's own word, then UTF-8
where it decodes and windows-1252 where it does not. Labels mean what the WHATWG table says ("latin1" is
windows-1252), and an unknown label counts as none. A document's own word that comes late counts as in browsers, where
the body is no UTF-8. An encoding that browsers refuse to read (ISO-2022-KR, HZ) is one U+FFFD.

Not covered: guessing by statistics, the C1 controls of windows-125x (they become U+FFFD), and x-user-defined in a
header (it is windows-1252, as in a document).
"""

from __future__ import annotations

import re
from functools import lru_cache

FALLBACK = "cp1252"
GUESSES = ("utf_8", FALLBACK)
PRESCAN = 1024  # bytes that are searched for a declaration
LATE = 32_768  # bytes that are searched where the body is no UTF-8
REPLACEMENT = "replacement"  # no codec: such text may mean another thing to whoever reads it as ASCII

_TABLE = """
utf_8 unicode-1-1-utf-8 unicode11utf8 unicode20utf8 utf-8 utf8 x-unicode20utf8
cp866 866 cp866 csibm866 ibm866
iso8859_2 csisolatin2 iso-8859-2 iso-ir-101 iso8859-2 iso88592 iso_8859-2 iso_8859-2:1987 l2 latin2
iso8859_3 csisolatin3 iso-8859-3 iso-ir-109 iso8859-3 iso88593 iso_8859-3 iso_8859-3:1988 l3 latin3
iso8859_4 csisolatin4 iso-8859-4 iso-ir-110 iso8859-4 iso88594 iso_8859-4 iso_8859-4:1988 l4 latin4
iso8859_5 csisolatincyrillic cyrillic iso-8859-5 iso-ir-144 iso8859-5 iso88595 iso_8859-5 iso_8859-5:1988
iso8859_6 arabic asmo-708 csiso88596e csiso88596i csisolatinarabic ecma-114 iso-8859-6 iso-8859-6-e
iso8859_6 iso-8859-6-i iso-ir-127 iso8859-6 iso88596 iso_8859-6 iso_8859-6:1987
iso8859_7 csisolatingreek ecma-118 elot_928 greek greek8 iso-8859-7 iso-ir-126 iso8859-7 iso88597 iso_8859-7
iso8859_7 iso_8859-7:1987 sun_eu_greek
iso8859_8 csiso88598e csisolatinhebrew hebrew iso-8859-8 iso-8859-8-e iso-ir-138 iso8859-8 iso88598 iso_8859-8
iso8859_8 iso_8859-8:1988 visual csiso88598i iso-8859-8-i logical
iso8859_10 csisolatin6 iso-8859-10 iso-ir-157 iso8859-10 iso885910 l6 latin6
iso8859_13 iso-8859-13 iso8859-13 iso885913
iso8859_14 iso-8859-14 iso8859-14 iso885914
iso8859_15 csisolatin9 iso-8859-15 iso8859-15 iso885915 iso_8859-15 l9
iso8859_16 iso-8859-16
koi8_r cskoi8r koi koi8 koi8-r koi8_r
koi8_u koi8-ru koi8-u
mac_roman csmacintosh mac macintosh x-mac-roman
cp874 dos-874 iso-8859-11 iso8859-11 iso885911 tis-620 windows-874
cp1250 cp1250 windows-1250 x-cp1250
cp1251 cp1251 windows-1251 x-cp1251
cp1252 ansi_x3.4-1968 ascii cp1252 cp819 csisolatin1 ibm819 iso-8859-1 iso-ir-100 iso8859-1 iso88591
cp1252 iso_8859-1 iso_8859-1:1987 l1 latin1 us-ascii windows-1252 x-cp1252 x-user-defined
cp1253 cp1253 windows-1253 x-cp1253
cp1254 cp1254 csisolatin5 iso-8859-9 iso-ir-148 iso8859-9 iso88599 iso_8859-9 iso_8859-9:1989 l5 latin5
cp1254 windows-1254 x-cp1254
cp1255 cp1255 windows-1255 x-cp1255
cp1256 cp1256 windows-1256 x-cp1256
cp1257 cp1257 windows-1257 x-cp1257
cp1258 cp1258 windows-1258 x-cp1258
mac_cyrillic x-mac-cyrillic x-mac-ukrainian
gb18030 chinese csgb2312 csiso58gb231280 gb2312 gb_2312 gb_2312-80 gbk iso-ir-58 x-gbk gb18030
big5hkscs big5 big5-hkscs cn-big5 csbig5 x-x-big5
euc_jp cseucpkdfmtjapanese euc-jp x-euc-jp
iso2022_jp csiso2022jp iso-2022-jp
cp932 csshiftjis ms932 ms_kanji shift-jis shift_jis sjis windows-31j x-sjis
cp949 cseuckr csksc56011987 euc-kr iso-ir-149 korean ks_c_5601-1987 ks_c_5601-1989 ksc5601 ksc_5601
cp949 windows-949
utf_16_be unicodefffe utf-16be
utf_16_le csunicode iso-10646-ucs-2 ucs-2 unicode unicodefeff utf-16 utf-16le
replacement csiso2022kr hz-gb-2312 iso-2022-cn iso-2022-cn-ext iso-2022-kr replacement
"""
_CODECS = {label: codec for codec, *labels in map(str.split, _TABLE.strip().splitlines()) for label in labels}
_WITH_META = ("", "text/html", "application/xhtml+xml")
_BOMS = ((b"\xef\xbb\xbf", "utf_8"), (b"\xfe\xff", "utf_16_be"), (b"\xff\xfe", "utf_16_le"))

_CHARSET = re.compile(r""";[\t\n\r ]*charset[\t ]*=[\t ]*(?:"([^"]*)"|'?([^\t ;,"']+))""", re.I)
_META_CHARSET = re.compile(
    rb"""charset[\t\n\f\r ]*=[\t\n\f\r ]*(?:"([^"]*)"|'([^']*)'|([^\t\n\f\r ;"']+))""", re.I
)
_ATTRIBUTE = (
    rb"""[\t\n\f\r /]*(?P<name>[^\t\n\f\r />][^\t\n\f\r />=]*)"""
    rb"""(?:[\t\n\f\r ]*=[\t\n\f\r ]*(?P<value>"[^"]*"|'[^']*'|[^\t\n\f\r >"'][^\t\n\f\r >]*))?"""
)
_ATTRIBUTES = re.compile(_ATTRIBUTE)
_SKIPPED = b"(?:%s)*" % re.sub(rb"\?P<\w+>", b"?:", _ATTRIBUTE)
# What a prescan steps over as a whole: a meta inside a comment or an attribute is none.
_STEP = re.compile(
    rb"<!--(?:-?>|.*?(?:-->|\Z))|<meta(?=[\t\n\f\r /])(?P<meta>%s)|</?[a-z]%s|<[!/?][^>]*"
    % (_SKIPPED, _SKIPPED),
    re.I | re.S,
)
_XML_DECLARATION = re.compile(rb"""<\?xml[^>]*?\sencoding\s*=\s*["']([^"'>]+)["'][^>]*>""")


def media_type(content_type: str) -> str:
    """`text/html` of `Text/HTML; charset=x`, and of one that was sent twice; "" where there is none."""
    return content_type.partition(";")[0].partition(",")[0].strip().lower()


def is_xml(content_type: str) -> bool:
    """Whether this is XML proper. XHTML is read as HTML, as its authors mostly tested it."""
    kind = media_type(content_type)
    return kind in ("text/xml", "application/xml") or (
        kind.endswith("+xml") and kind != "application/xhtml+xml"
    )


def codec(label: str) -> str | None:
    """The Python codec for a WHATWG encoding label, REPLACEMENT, or None for an unknown one."""
    return _CODECS.get(label.strip("\t\n\f\r ").lower())


@lru_cache(maxsize=256)
def header_codec(content_type: str) -> str | None:
    """The codec that a Content-Type header names; the first charset counts, a bad label counts as none."""
    found = _CHARSET.search(content_type)
    return codec(found[1] or found[2] or "") if found else None


def decide(body: bytes, content_type: str = "") -> str:
    """The Python codec in which `body` is to be read (a BOM, if any, still has to be cut off), or REPLACEMENT."""
    for bom, name in _BOMS:
        if body.startswith(bom):
            return name
    return header_codec(content_type) or _declared(body, content_type) or _sniffed(body, content_type)


def whence(body: bytes, content_type: str = "") -> str:
    """Where `decide` finds it: "BOM", "Content-Type", "document", or "guess" where nothing says it."""
    if any(body.startswith(bom) for bom, _ in _BOMS):
        return "BOM"
    if header_codec(content_type):
        return "Content-Type"
    return (
        "document"
        if _declared(body, content_type) or _sniffed(body, content_type) not in GUESSES
        else "guess"
    )


def decode(body: bytes, content_type: str = "") -> str:
    """The text of `body`; what cannot be decoded becomes U+FFFD, and nothing is ever cut off."""
    name = decide(body, content_type)
    if name == REPLACEMENT:
        return "\ufffd" if body else ""
    text = body.decode(name, errors="replace")
    return text[1:] if text.startswith("\ufeff") else text


def _sniffed(body: bytes, content_type: str) -> str:
    try:
        body.decode("utf_8")
    except UnicodeDecodeError:
        late = _meta_codec(body[:LATE]) if media_type(content_type) in _WITH_META else None
        return late or FALLBACK
    return "utf_8"


def _declared(body: bytes, content_type: str) -> str | None:
    kind = media_type(content_type)
    if is_xml(content_type):
        return _xml_codec(body)
    if kind in _WITH_META:
        return _meta_codec(body[:PRESCAN]) or _xml_codec(body)
    return None


def _xml_codec(body: bytes) -> str | None:
    if body.startswith(b"<\0?\0x\0"):
        return "utf_16_le"
    if body.startswith(b"\0<\0?\0x"):
        return "utf_16_be"
    found = _XML_DECLARATION.match(body.lstrip()[:PRESCAN])
    return _inside(found[1]) if found else None


def _meta_codec(head: bytes) -> str | None:
    if b"charset" not in head.lower():
        return None
    for step in _STEP.finditer(head):
        if step["meta"] is not None and (name := _meta_label(step["meta"])):
            return name
    return None


def _meta_label(text: bytes) -> str | None:
    attributes: dict[bytes, bytes] = {}
    for name, value in _ATTRIBUTES.findall(text):
        attributes.setdefault(name.lower(), value.strip(b"\"'"))
    if b"charset" in attributes:
        return _inside(attributes[b"charset"])
    if attributes.get(b"http-equiv", b"").lower() != b"content-type":
        return None
    found = _META_CHARSET.search(attributes.get(b"content", b""))
    return _inside(found[1] or found[2] or found[3] or b"") if found else None


def _inside(label: bytes) -> str | None:
    """A declaration that could be read as ASCII cannot be telling the truth about UTF-16."""
    name = codec(label.decode("latin-1"))
    return "utf_8" if name in ("utf_16_le", "utf_16_be") else name
