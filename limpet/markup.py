"""From bytes to an lxml tree, and CSS to compiled XPath.

The document is always handed to libxml2 as clean UTF-8 without NULs, so that the parser has nothing to guess,
to refuse or to cut. A tree that is shorter than its document is an error.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from lxml import etree
from parsel.csstranslator import GenericTranslator, HTMLTranslator

from limpet import encoding, kinds
from limpet.bounds import DEFAULT, Bounds
from limpet_store.errors import ExtractError
from limpet_store.failures import UNREADABLE

_INTERNAL: Any = "internal"  # which the stubs do not know
_LIMIT = etree.ErrorTypes.ERR_RESOURCE_LIMIT
_UNSETTABLE = re.compile(
    "[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
)  # what lxml parses, and refuses to set
_html = HTMLTranslator()
_xml = GenericTranslator()  # type: ignore[no-untyped-call,unused-ignore]


def parse(body: bytes, content_type: str = "", bounds: Bounds = DEFAULT) -> Any:
    """The root element of `body`; an empty document for an empty body.

    Raises ExtractError, before anything is parsed, for what is no markup and for what is over `bounds`; and for
    XML that is not well-formed and a document nested deeper than libxml2 goes (about 2,000 levels). Entities of
    XML are expanded, within a small factor, where the document itself says them; nothing is loaded from outside.
    """
    if why := kinds.no_markup(body, content_type):
        raise ExtractError(f"no HTML or XML, but {why}", UNREADABLE)
    source = _clean_utf8(body, content_type)
    bounds.check(source)
    return _parse_xml(source) if encoding.is_xml(content_type) else _parse_html(source)


def _clean_utf8(body: bytes, content_type: str) -> bytes:
    name = encoding.decide(body, content_type)
    if name == encoding.REPLACEMENT:
        raise ExtractError(
            "in an encoding that browsers refuse to read (ISO-2022-KR, HZ); page.body has its bytes",
            UNREADABLE,
        )
    if name == "utf_8" and _is_utf8(body):
        return body.removeprefix(b"\xef\xbb\xbf").replace(b"\0", b"").strip()
    text = encoding.decode(body, content_type)
    # UTF-16 may smuggle in lone surrogates, which UTF-8 cannot say.
    return text.replace("\0", "").strip().encode("utf_8", errors="replace")


def _is_utf8(body: bytes) -> bool:
    try:
        body.decode("utf_8")
    except UnicodeDecodeError:
        return False
    return True


def _parse_html(source: bytes) -> Any:
    parser = etree.HTMLParser(encoding="utf-8", huge_tree=True)
    try:
        root = etree.fromstring(source, parser) if source else None
    except etree.XMLSyntaxError as error:
        root = None
        if any(entry.type == _LIMIT for entry in parser.error_log):
            raise _too_deep() from error
    if any(entry.type == _LIMIT for entry in parser.error_log):
        raise _too_deep()
    return etree.fromstring(b"<html/>", parser) if root is None else _whole(root)


def _whole(root: Any) -> Any:
    """What stands behind `</html>` belongs to the body, as in browsers; libxml2 makes another root of it."""
    if (extra := root.getnext()) is not None:
        body = root.find("body")
        into = root if body is None else body
        while extra is not None:
            if isinstance(extra.tag, str):
                _pour(extra, into)
            extra = extra.getnext()
    return root


def _pour(html: Any, into: Any) -> None:
    _add_text(into, html.text)
    for child in list(html):
        if child.tag in ("head", "body"):
            _pour(child, into)
            _add_text(into, child.tail)
        else:
            into.append(child)


def _add_text(into: Any, text: str | None) -> None:
    if text and len(into):
        into[-1].tail = _UNSETTABLE.sub("\ufffd", (into[-1].tail or "") + text)
    elif text:
        into.text = _UNSETTABLE.sub("\ufffd", (into.text or "") + text)


def _too_deep() -> ExtractError:
    return ExtractError(
        "the document is nested too deeply, or its doctype too long: the parser would cut it", UNREADABLE
    )


def _parse_xml(source: bytes) -> Any:
    parser = etree.XMLParser(encoding="utf-8", huge_tree=True, resolve_entities=_INTERNAL, no_network=True)
    if not source:
        return etree.fromstring(b"<empty/>", parser)
    try:
        return etree.fromstring(source, parser)
    except etree.XMLSyntaxError as error:
        raise ExtractError(f"not well-formed XML: {error}", UNREADABLE) from error


@lru_cache(maxsize=1024)
def select(css: str, xml: bool) -> Callable[[Any], Any]:
    """A CSS selector, perhaps with `::text` or `::attr(name)`, as a function from element to matches."""
    xpath = (_xml if xml else _html).css_to_xpath(css)
    return etree.XPath(xpath, smart_strings=False)


def text_of(found: Any) -> str:
    """The string of a match, stripped; of an element its text, each run of whitespace as one space."""
    if isinstance(found, str):
        return found.strip()
    words: str = _content(found)
    return " ".join(words.split())


_content: Callable[[Any], Any] = etree.XPath(
    "string()", smart_strings=False
)  # unlike itertext() it leaves comments out
