"""Reading: encodings, what a parser may lose, and what a handler may do wrong."""

from __future__ import annotations

from typing import Any

from hostile.answers import HTML, answer, page, raw, said
from hostile.case import Case, done, fails, keeps, path_of, read
from hostile.server import Script

from limpet import Page, Record

LATIN, CYRILLIC, JAPANESE = "Zürich", "Москва", "日本"
META = '<meta charset="{}">'
PLAIN = "text/html"


def text(name: str, wanted: str, body: bytes, content_type: str = PLAIN) -> Case:
    """A heading in some encoding."""
    return done(name, raw(body, content_type), wanted)


def h1(words: str, codec: str = "utf-8", before: str = "") -> bytes:
    return f"{before}<h1>{words}</h1>".encode(codec)


PAGE = page("x")
MANY = b"<p " + b" ".join(b"a%d=1" % n for n in range(1_000))
WIDE = b"<p " + b" ".join(b"a%d=1" % n for n in range(20_000)) + b"><h1>x</h1>"
LAUGHS = b'<!DOCTYPE r [<!ENTITY a0 "ha">%s]><r><h1>&a30;</h1></r>' % b"".join(
    b'<!ENTITY a%d "&a%d;&a%d;">' % (n + 1, n, n) for n in range(30)
)


# Handlers


def fails_late(page: Page) -> Any:
    yield Record("page", path_of(page), {"text": "early"})
    yield page.link("/early")
    raise RuntimeError("\x1b[31mno\u202e more")


def gives_text(page: Page) -> Any:
    yield "text"


def exits(page: Page) -> Any:
    raise SystemExit(3)


def recurses(page: Page) -> Any:
    return recurses(page)


def without_key(page: Page) -> Any:
    for key in ("", " ", "None", page.one("h2")):
        yield Record("page", key, {"text": "x"})
    yield Record("page", path_of(page), {"text": "good"})


def not_storable(page: Page) -> Any:
    for number, bad in enumerate((float("nan"), "\ud800", "a\0b", {1, 2}, b"x", page.one("h2"))):
        yield Record("page", f"/{number}", {"text": bad})
    yield Record("page", path_of(page), {"text": "good"})


def bad_links(page: Page) -> Any:
    yield page.link("http://[")
    yield page.link("javascript:x")
    yield page.link(page.one("h2"))
    yield page.link("/good")


def as_json(page: Page) -> Any:
    yield Record("page", path_of(page), {"text": page.json()["text"]})


def ends_early(page: Page) -> Any:
    yield Record("page", path_of(page), {"text": "early"})
    yield Record("page", "/never", {"text": str(int(page.one("h2")))})


def handled(name: str, handler: Any, script: Script = PAGE, **more: Any) -> Case:
    return done(name, script, **{"reads": (handler,), **more})


def breaks(name: str, handler: Any, reason: str = "handler", script: Script = PAGE, **more: Any) -> Case:
    return fails(name, script, reason, reads=(handler,), **more)


CASES = (
    text("UTF-8 by its header", LATIN, h1(LATIN), "text/html; charset=utf-8"),
    text("UTF-8 by nothing but its bytes", LATIN, h1(LATIN)),
    text("windows-1252 by nothing but its bytes", LATIN, h1(LATIN, "cp1252")),
    text("latin1 means windows-1252", "“5 €”", h1("“5 €”", "cp1252"), "text/html; charset=latin1"),
    text("ASCII means windows-1252", LATIN, h1(LATIN, "cp1252"), "text/html; charset=us-ascii"),
    text("a BOM counts more than the header", LATIN, b"\xef\xbb\xbf" + h1(LATIN),
         "text/html; charset=iso-8859-1"),
    text("a BOM counts more than the meta", LATIN, b"\xef\xbb\xbf" + h1(LATIN, before=META.format("koi8-r"))),
    text("UTF-16 by its BOM", JAPANESE, b"\xff\xfe" + h1(JAPANESE, "utf-16-le")),
    text("UTF-16 the other way round by its BOM", JAPANESE, b"\xfe\xff" + h1(JAPANESE, "utf-16-be")),
    text("UTF-16 by its header", JAPANESE, h1(JAPANESE, "utf-16-le"), "text/html; charset=utf-16"),
    text("a header counts more than the meta", CYRILLIC, h1(CYRILLIC, "cp1251", META.format("utf-8")),
         "text/html; charset=windows-1251"),
    text("a header with an unknown name counts as none", CYRILLIC,
         h1(CYRILLIC, "koi8-r", META.format("koi8-r")), "text/html; charset=klingon"),
    text("a header with quotes and blanks is read", CYRILLIC, h1(CYRILLIC, "cp1251"),
         'text/html ; CHARSET = "Windows-1251"'),
    text("the first of two names in a header counts", CYRILLIC, h1(CYRILLIC, "cp1251"),
         "text/html; charset=cp1251; charset=utf-8"),
    text("the meta says it", CYRILLIC, h1(CYRILLIC, "koi8-r", META.format("koi8-r"))),
    text("an old meta says it", CYRILLIC, h1(CYRILLIC, "cp866",
                                             "<meta content='text/html; charset=ibm866' http-equiv=Content-Type>")),
    text("a meta in a comment does not", LATIN, h1(LATIN, "utf-8", "<!--" + META.format("koi8-r") + "-->")),
    text("a meta that says UTF-16 is wrong by being read", LATIN, h1(LATIN, "utf-8", META.format("utf-16"))),
    text("a meta far down does not", LATIN, h1(LATIN, "utf-8",
                                               f"<!--{'x' * 2_000}-->" + META.format("koi8-r"))),
    text("GBK by its header", "中文", h1("中文", "gbk"), "text/html; charset=gb2312"),
    text("Shift JIS by its meta", JAPANESE, h1(JAPANESE, "shift_jis", META.format("x-sjis"))),
    text("EUC-KR by its header", "한국", h1("한국", "euc_kr"), "text/html; charset=ks_c_5601-1987"),
    text("a byte that is none costs one character", "a\ufffdb", b"<h1>a\xffb</h1>",
         "text/html; charset=utf-8"),
    text("a character cut at the end costs one character", "Z\ufffd", b"<h1>Z\xc3",
         "text/html; charset=utf-8"),
    text("a text of XML's declaration is read", LATIN, h1(LATIN, "utf-8",
                                                          '<?xml version="1.0" encoding="utf-8"?>'),
                                                          "application/xhtml+xml"),
    text("a NUL cuts nothing", "ab", b"<h1>a\0b</h1>"),
    text("entities are read", "5 € & <b> \xa0x".replace("\xa0", ""),
         b"<h1>5 &euro; &amp; &lt;b&gt; &zwnj;x</h1>".replace(b"&zwnj;", b"")),
    text("a number that is no character is read past", "a\ufffdb", b"<h1>a&#0;b</h1>"),
    text("tags that are not closed are read", "hello", b"<div><p><b><h1>hello<table><tr><td>x"),
    text("260 levels are read", "hello", b"<div>" * 260 + b"<h1>hello</h1>"),
    text("what follows a text of 10.5 MB is read", "hello",
         b"<p>" + b"x " * 4_700_000 + b"</p><h1>hello</h1>"),
    text("what follows an attribute of 1 MB is read", "hello",
         b"<p title='" + b"x" * 1_000_000 + b"'></p><h1>hello</h1>"),
    text("what follows 1,000 attributes is read", "hello", MANY + b"></p><h1>hello</h1>"),
    fails("a page with 20,000 attributes on one element is not read", raw(WIDE), "unreadable"),
    text("what follows 100,000 elements is read", "hello", b"<i>x</i>" * 100_000 + b"<h1>hello</h1>"),
    done("blanks alone are an empty page", raw(b" \n\t "), None),
    done("a comment that is never closed hides what follows", raw(b"<!-- <h1>hello</h1>"), None),
    fails("a page nested 3,000 deep is not cut", raw(b"<div>" * 3_000 + b"<h1>hello</h1>"), "unreadable"),
    keeps("a page nested 3,000 deep takes nothing away", raw(b"<div>" * 3_000 + b"<h1>new</h1>"),
          "dead: unreadable"),
    *(
        fails(f"{kind} is not read as HTML", raw(body, kind), "unreadable")
        for kind, body in {
            "application/pdf": b"%PDF-1.7\n<h1>x</h1>", "image/png": b"\x89PNG\r\n\x1a\n<h1>x</h1>",
            "application/zip": b"PK\3\4<h1>x</h1>",
            "application/octet-stream": b"\0\1\2<h1>x</h1>", "application/json": b'{"h1": "<h1>x</h1>"}',
            "video/mp4": b"\0\0\0\x18ftyp<h1>x</h1>",
        }.items()
    ),
    done("a page without a type is one by its looks", answer(said("hello"))),
    breaks("XML that is cut is not read", lambda page: page.css("a"), "unreadable",
           raw(b"<a><b>", "text/xml")),
    breaks("JSON that is cut is not read", as_json, "unreadable", raw(b'{"text": "x', "application/json")),
    breaks("a page in the place of JSON is not read", as_json, "unreadable",
           raw("<h1>log in</h1>", "text/html")),
    breaks("JSON nested 100,000 deep is not read", as_json, "unreadable", raw(b"[" * 100_000, "application/json")),
    breaks("JSON with a number of 10,000 digits is not read", as_json, "unreadable",
           raw(b'{"text": %s}' % (b"9" * 10_000), "application/json")),
    handled("JSON with half a character costs the record alone", as_json,
            raw(b'{"text": "\\ud800"}', "application/json"), text=None, rejected=1),
    breaks("XML whose entities would fill the memory is not read", read, "unreadable", raw(LAUGHS, "text/xml")),
    handled("JSON with a BOM is read", as_json, raw(b'\xef\xbb\xbf{"text": "hello"}', "application/json")),
    breaks("a handler that fails late gives nothing", fails_late, told={"/": "RuntimeError"}),
    Case(
        name="a handler that fails takes nothing away", here={"/": [page("hello"), page("new")]}, rounds=2,
        reads=(read, fails_late),
        pages={"/": "dead: handler"}, records={"/": "hello"}, asked={"/": 3},
    ),
    breaks("a handler that gives a text gives nothing", gives_text),
    breaks("a handler that exits ends its page alone", exits),
    breaks("a handler without end ends its page alone", recurses, told={"/": "RecursionError"}),
    handled("a record without a key costs itself alone", without_key, text="good", rejected=4),
    handled("what cannot be stored costs itself alone", not_storable, text="good", rejected=6),
    handled("a bad link costs itself alone", bad_links, here={"/": page("x"), "/good": page("x")},
            text=None, pages={"/": "done", "/good": "done"}, asked={"/": 1, "/good": 1},
            dropped={"malformed": 2, "no link": 2}),
    handled("a handler that ends early keeps what it gave", ends_early, text="early", rejected=1),
    done("a key that comes twice with other data is told", answer("<h1>hello</h1><h1>other</h1>", HTML),
         rejected=1),
    done("a key that comes twice with the same data is one record",
         answer("<h1>hello</h1><h1>hello</h1>", HTML)),
)  # fmt: skip
