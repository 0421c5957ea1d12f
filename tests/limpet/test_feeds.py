"""Feeds as they are served, and what `page.feed()` makes of them."""

# ruff: noqa: E501 - one case a line

from __future__ import annotations

from typing import Any

import pytest

from limpet.page import Page
from limpet_store.errors import ExtractError
from limpet_store.items import Fetched

URL = "https://h.example/blog/feed.xml"
ATOM = 'xmlns="http://www.w3.org/2005/Atom"'


def page(body: str | bytes, content_type: str = "application/rss+xml") -> Page:
    raw = body if isinstance(body, bytes) else body.encode()
    return Page(Fetched(URL, 200, {"content-type": content_type}, raw))


def rss(item: str, attributes: str = "") -> str:
    return f'<?xml version="1.0"?><rss version="2.0" {attributes}><channel><title>T</title><link>/</link><item>{item}</item></channel></rss>'


def atom(entry: str, attributes: str = ATOM) -> str:
    return f'<feed {attributes}><title>T</title><link href="/"/><entry>{entry}</entry></feed>'


DC = 'xmlns:dc="http://purl.org/dc/elements/1.1/"'
RDF = 'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"'
CASES: list[tuple[str, str | bytes, dict[str, Any]]] = [
    ("link", rss("<link>https://h.example/1</link>"), {"link": "https://h.example/1", "id": "https://h.example/1"}),
    ("relative link", rss("<link> ../1 </link>"), {"link": "https://h.example/1"}),
    ("guid", rss("<link>/1</link><guid>x-1</guid>"), {"link": "https://h.example/1", "id": "x-1"}),
    ("guid as link", rss("<guid>https://h.example/1</guid>"), {"link": "https://h.example/1"}),
    ("guid that is no link", rss('<guid isPermaLink="false">https://h.example/1</guid>'), {"link": None, "id": "https://h.example/1"}),
    ("an atom:link to itself", rss('<a:link rel="self" href="/feed"/><link>/1</link>', 'xmlns:a="http://www.w3.org/2005/Atom"'), {"link": "https://h.example/1"}),
    ("javascript", rss("<link>javascript:x()</link>"), {"link": None}),
    ("an & of its own", rss("<link>/1?a=1&b=2</link>"), {"link": "https://h.example/1?a=1&b=2"}),
    ("title", rss("<title> a\n b </title>"), {"title": "a b"}),
    ("title escaped twice", rss("<title>It&amp;#8217;s AT&amp;amp;T</title>"), {"title": "It\u2019s AT&T"}),
    ("title in CDATA", rss("<title><![CDATA[5 < 6 & 7]]></title>"), {"title": "5 < 6 & 7"}),
    ("an entity of HTML", rss("<title>caf&eacute;&nbsp;x</title>"), {"title": "café x"}),
    ("an image's title", rss('<m:title xmlns:m="http://search.yahoo.com/mrss/">no</m:title><title>yes</title>'), {"title": "yes"}),
    ("a prefix nobody declared", rss("<media:thumb url='x'/><title>yes</title>"), {"title": "yes"}),
    ("pubDate", rss("<pubDate>Tue, 04 Mar 2025 10:00:00 +0100</pubDate>"), {"published": "2025-03-04T10:00:00+01:00", "updated": None}),
    ("pubDate in GMT", rss("<pubDate>Tue, 04 Mar 2025 10:00:00 GMT</pubDate>"), {"published": "2025-03-04T10:00:00+00:00"}),
    ("dc:date", rss("<dc:date>2025-03-04T10:00Z</dc:date>", DC), {"published": "2025-03-04T10:00:00+00:00"}),
    ("a day", rss("<dc:date>2025-03-04</dc:date>", DC), {"published": "2025-03-04"}),
    ("a date that is none", rss("<pubDate>yesterday</pubDate>"), {"published": None}),
    ("description", rss("<description>&lt;p&gt;x&lt;/p&gt;</description>"), {"summary": "<p>x</p>"}),
    ("content", rss('<c:encoded xmlns:c="http://purl.org/rss/1.0/modules/content/"><![CDATA[<p>x</p>]]></c:encoded>'), {"summary": "<p>x</p>"}),
    ("nothing", rss(""), {"id": None, "link": None, "title": None, "summary": None}),
    ("RSS 1.0", f'<rdf:RDF {RDF} {DC}><channel/><item rdf:about="urn:1"><title>t</title><link>/1</link><dc:date>2025-03-04T10:00:00Z</dc:date></item></rdf:RDF>',
     {"id": "urn:1", "title": "t", "link": "https://h.example/1", "published": "2025-03-04T10:00:00+00:00"}),
    ("RSS 0.91 with its DTD", '<!DOCTYPE rss PUBLIC "-//Netscape//DTD RSS 0.91//EN" "http://127.0.0.1:1/rss.dtd"><rss><channel><item><title>t</title></item></channel></rss>', {"title": "t"}),
    ("Atom", atom('<id>tag:1</id><title>t</title><link href="/1"/><published>2025-03-04T10:00:00Z</published><updated>2025-03-05T10:00:00Z</updated><summary>s</summary>'),
     {"id": "tag:1", "link": "https://h.example/1", "title": "t", "published": "2025-03-04T10:00:00+00:00", "updated": "2025-03-05T10:00:00+00:00", "summary": "s"}),
    ("Atom: the link that is meant", atom('<link rel="enclosure" href="/a.mp3"/><link rel="edit" href="/e"/><link rel="alternate" href="/1"/>'), {"link": "https://h.example/1"}),
    ("Atom: xml:base", atom('<link href="1"/>', f'{ATOM} xml:base="https://other.example/x/"'), {"link": "https://other.example/x/1"}),
    ("Atom: an HTML title", atom('<title type="html">a &lt;b&gt;b&lt;/b&gt; &amp;amp; c</title>'), {"title": "a b & c"}),
    ("Atom: a title that speaks of HTML", atom("<title>the &lt;div&gt; &amp;amp; I</title>"), {"title": "the <div> &amp; I"}),
    ("Atom: XHTML", atom('<title type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml">a <b>b</b></div></title>'), {"title": "a b"}),
    ("Atom 0.3", atom("<issued>2004-01-01T00:00:00Z</issued><modified>2004-01-02T00:00:00Z</modified>", 'xmlns="http://purl.org/atom/ns#"'),
     {"published": "2004-01-01T00:00:00+00:00", "updated": "2004-01-02T00:00:00+00:00"}),
    ("Atom without a namespace", atom("<title>t</title>", ""), {"title": "t"}),
    ("blank lines before, rubbish after", f"\n\n{rss('<title>t</title>')}<!-- x --><br>", {"title": "t"}),
    ("a BOM", b"\xef\xbb\xbf" + rss("<title>ü</title>").encode(), {"title": "ü"}),
    ("latin-1, declared", rss("<title>ü</title>").replace('"1.0"?', '"1.0" encoding="ISO-8859-1"?').encode("latin-1"), {"title": "ü"}),
    ("control characters", rss("<title>a\x0bb</title>"), {"title": "ab"}),
]  # fmt: skip


@pytest.mark.parametrize(("body", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_an_entry_is_read(body: str | bytes, expected: dict[str, Any]) -> None:
    (entry,) = page(body).feed()
    assert {name: getattr(entry, name) for name in expected} == expected


def test_entries_come_in_order() -> None:
    body = (
        "<rss><channel>"
        + "".join(f"<item><title>{n}</title></item>" for n in range(100))
        + "</channel></rss>"
    )
    assert [entry.title for entry in page(body).feed()] == [str(n) for n in range(100)]


def test_a_feed_may_be_empty() -> None:
    assert page("<rss><channel><title>T</title></channel></rss>").feed() == []


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("", "not a feed: no XML"),
        ("https://127.0.0.1:1/feed", "not a feed: no XML"),
        ("/etc/passwd", "not a feed: no XML"),
        ('{"version": "https://jsonfeed.org/version/1"}', "not a feed: no XML"),
        ("<!doctype html><p>Gone", "not a feed: an HTML page"),
        ("<html><body>Gone</body></html>", "not a feed: an HTML page"),
        ("<urlset/>", "not a feed: its root is <urlset>"),
        (rss("<title>t</title>")[:-25], "a feed that is cut"),
        (rss("<title>t</titel>"), "a feed that is cut, or not well-formed"),
        ("<rss>" + "<a>" * 10_000, "a feed that is cut, or not well-formed"),
    ],
)
def test_what_is_no_whole_feed_is_an_error(body: str, reason: str) -> None:
    with pytest.raises(ExtractError, match=reason):
        page(body).feed()


def test_entities_of_a_feed_are_not_expanded() -> None:
    levels = [(n + 1, f"&a{n};" * 10) for n in range(12)]
    bomb = "".join(f'<!ENTITY a{level} "{text}">' for level, text in levels)
    text = f'<!DOCTYPE rss [<!ENTITY a0 "lol"><!ENTITY f SYSTEM "file:///etc/passwd">{bomb}]>{rss("<title>&a12;&f;</title>")[21:]}'
    (entry,) = page(text).feed()
    assert entry.title == "&a12;&f;"
