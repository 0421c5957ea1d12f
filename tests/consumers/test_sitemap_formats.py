"""What sites serve as sitemaps, and what is read of it; what is no whole sitemap is told with its reason."""

# ruff: noqa: E501 - one case a line

from __future__ import annotations

import gzip
import zlib

import pytest

from limpet_consumers import sitemap_reader
from limpet_consumers.sitemap_reader import NotRead, read
from limpet_consumers.sitemaps import moment
from limpet_store.listed import ends

NS = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
A, B = "https://h.example/a", "https://h.example/b"
TWO = f"<urlset {NS}><url><loc>{A}</loc></url><url><loc>{B}</loc></url></urlset>"


def urlset(inside: str, attributes: str = NS) -> str:
    return f"<urlset {attributes}>{inside}</urlset>"


def one(loc: str) -> str:
    return urlset(f"<url><loc>{loc}</loc></url>")


READ: list[tuple[str, str | bytes, list[str]]] = [
    ("as the protocol has it", f'<?xml version="1.0" encoding="UTF-8"?>\n{TWO}', [A, B]),
    ("namespace of 2005", TWO.replace("www.sitemaps.org/schemas/sitemap/0.9", "www.google.com/schemas/sitemap/0.84"), [A, B]),
    ("no namespace", TWO.replace(NS, ""), [A, B]),
    ("a prefix", TWO.replace("xmlns=", "xmlns:s=").replace("<", "<s:").replace("<s:/", "</s:"), [A, B]),
    ("a prefix nobody declared", TWO.replace(NS, "").replace("<", "<s:").replace("<s:/", "</s:"), [A, B]),
    ("capitals", TWO.replace("urlset", "URLSET").replace("loc>", "Loc>"), [A, B]),
    ("a BOM", b"\xef\xbb\xbf" + TWO.encode(), [A, B]),
    ("a blank line before the declaration", f'\n\n<?xml version="1.0"?>{TWO}', [A, B]),
    ("a style sheet and comments", f'<?xml version="1.0"?><?xml-stylesheet href="x.xsl"?><!-- <loc>x</loc> -->{TWO}', [A, B]),
    ("UTF-16 with a BOM", TWO.encode("utf_16"), [A, B]),
    ("UTF-16 without a BOM", TWO.encode("utf_16_le"), [A, B]),
    ("UTF-8 that says it is UTF-16", f'<?xml version="1.0" encoding="UTF-16"?>{one("https://h.example/ü")}', ["https://h.example/ü"]),
    ("UTF-8 that says it is latin-1", f'<?xml version="1.0" encoding="ISO-8859-1"?>{one("https://h.example/ü")}', ["https://h.example/ü"]),
    ("latin-1 that says it is UTF-8", f'<?xml version="1.0" encoding="UTF-8"?>{one("https://h.example/ü")}'.encode("latin-1"), ["https://h.example/ü"]),
    ("windows-1251, declared", f'<?xml version="1.0" encoding="windows-1251"?>{one("https://h.example/я")}'.encode("cp1251"), ["https://h.example/я"]),
    ("an encoding that does not exist", f'<?xml version="1.0" encoding="utf8mb4"?>{TWO}', [A, B]),
    ("CDATA", one(f"<![CDATA[ {A}?x=1&y=2 ]]>"), [f"{A}?x=1&y=2"]),
    ("entities", one(f"{A}?x=1&amp;y=2&#38;z=&#x33;"), [f"{A}?x=1&y=2&z=3"]),
    ("an & that is only itself", one(f"{A}?x=1&y=2&z"), [f"{A}?x=1&y=2&z"]),
    ("an entity of HTML", one("https://h.example/caf&eacute;"), ["https://h.example/café"]),
    ("an entity of its own is left as it is", f'<!DOCTYPE urlset [<!ENTITY h "https://h.example">]>{one("&h;/a")}', ["&h;/a"]),
    ("line breaks around the URL", one(f"\n\t  {A}\n"), [A]),
    ("a control character", one(f"{A}\x0b"), [A]),
    ("a relative URL, as it is written", one("/a"), ["/a"]),
    ("images, with a <loc> of their own", urlset(f'<url><image:image xmlns:image="i"><image:loc>{B}</image:loc></image:image><loc>{A}</loc></url>'), [A]),
    ("an image's <loc> on the page's own level", urlset(f'<url><image:loc xmlns:image="i">{B}</image:loc><loc>{A}</loc></url>'), [A]),
    ("other languages", urlset(f'<url><loc>{A}</loc><x:link xmlns:x="x" rel="alternate" hreflang="de" href="{B}"/></url>'), [A]),
    ("an entry without a URL", urlset(f"<url><lastmod>2025-01-01</lastmod></url><url><loc>{A}</loc></url>"), ["", A]),
    ("two URLs in an entry: the first", urlset(f"<url><loc>{A}</loc><loc>{B}</loc></url>"), [A]),
    ("an element that nobody knows", urlset(f"<meta><url><loc>{B}</loc></url></meta><url><loc>{A}</loc></url>"), [A]),
    ("nothing", urlset(""), []),
    ("rubbish after the end", f"{TWO}<br />\n<b>Warning</b>: cannot modify headers", [A, B]),
    ("packed", gzip.compress(TWO.encode()), [A, B]),
    ("packed in two members, padded", gzip.compress(TWO[:40].encode()) + gzip.compress(TWO[40:].encode()) + b"\0" * 20, [A, B]),
    ("a list", f"{A}\r\n\r\n{B}\n", [A, B]),
    ("a list with a BOM, packed", gzip.compress(b"\xef\xbb\xbf" + f"{A}\n{B}".encode()), [A, B]),
    ("RSS", f"<rss><channel><link>https://h.example/</link><item><link>{A}</link></item><item><link>\n{B}</link></item></channel></rss>", [A, B]),
    ("RSS 1.0", f'<r:RDF xmlns:r="r" xmlns="http://purl.org/rss/1.0/"><channel><link>x</link></channel><item><link>{A}</link></item></r:RDF>', [A]),
    ("Atom", f'<feed xmlns="http://www.w3.org/2005/Atom"><link href="/"/><entry><link rel="self" href="{B}"/><link href="{A}"/></entry></feed>', [A]),
]  # fmt: skip


@pytest.mark.parametrize(("body", "expected"), [row[1:] for row in READ], ids=[row[0] for row in READ])
def test_a_sitemap_is_read(body: str | bytes, expected: list[str]) -> None:
    assert [entry.url for entry in read(body if isinstance(body, bytes) else body.encode())] == expected


REFUSED: list[tuple[str, str | bytes, str]] = [
    ("nothing at all", b"", "an empty answer"),
    ("white space", b" \n ", "an empty answer"),
    ("an HTML page", "<!DOCTYPE html><html><body>Not found</body></html>", "an HTML page, not a sitemap"),
    ("HTML that is no XML", "<!doctype html><html><br><p>Not found", "an HTML page, not a sitemap"),
    ("HTML without html", "<p>Not found</p>", "its root is <p>"),
    ("a warning before the sitemap", f"<br />Warning{TWO}", "its root is <br>"),
    ("words", "Not found", "neither XML nor a list"),
    ("JSON", '{"urls": []}', "neither XML nor a list"),
    ("other XML", "<products/>", "its root is <products>"),
    ("cut in a URL", TWO[:-40], "cut short"),
    ("cut between two entries", TWO[: TWO.rindex("<url>")], "cut short"),
    ("cut before the last tag", TWO.removesuffix("</urlset>"), "cut short"),
    ("tags that do not fit", TWO.replace("</loc>", "</lok>"), "cut short, or not well-formed"),
    ("packed and cut", gzip.compress(TWO.encode())[:-12], "is cut short"),
    ("packed and damaged", b"\x1f\x8b" + b"\xff" * 50, "is damaged"),
]


@pytest.mark.parametrize(("body", "reason"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_what_is_no_whole_sitemap_is_a_failure_that_may_pass(body: str | bytes, reason: str) -> None:
    with pytest.raises(NotRead, match=reason) as error:
        read(body if isinstance(body, bytes) else body.encode())
    assert not error.value.final


def test_an_index_and_a_sitemap_may_be_one_file() -> None:
    body = f"<sitemapindex {NS}><sitemap><loc>{A}</loc></sitemap><url><loc>{B}</loc></url></sitemapindex>"
    assert [(entry.url, entry.kind) for entry in read(body.encode())] == [(A, "sitemap"), (B, "page")]


@pytest.mark.parametrize("form", ["xml", "list"])
def test_more_urls_than_allowed_are_a_failure_and_never_fewer(form: str) -> None:
    body = TWO.encode() if form == "xml" else f"{A}\n{B}".encode()
    assert len(read(body, 2)) == 2
    with pytest.raises(NotRead, match="more than 1 URLs") as error:
        read(body, 1)
    assert error.value.final


def test_a_sitemap_above_50_mb_is_a_failure() -> None:
    with pytest.raises(NotRead, match="larger than 50 MB") as error:
        read(TWO.encode().ljust(sitemap_reader.MOST_BYTES + 1))
    assert error.value.final


LEVELS = "".join(f'<!ENTITY a{n + 1} "{f"&a{n};" * 10}">' for n in range(12))
ATTRIBUTES = " ".join(f"a{n}='1'" for n in range(300_000))
BOMB = f'<!DOCTYPE urlset [<!ENTITY a0 "lol">{LEVELS}]>'
NINE = one("\xff" * 9)
HOSTILE: list[tuple[str, str | bytes]] = [
    *((f"an encoding that is none of text: {name}", f'<?xml version="1.0" encoding="{name}"?>{NINE}'.encode("latin-1"))
      for name in ("idna", "punycode", "hex", "undefined", "unicode_escape", "utf_16", "zlib", "rot13")),
    ("entities in entities", BOMB + one("&a12;")),
    ("entities behind more mendings than are made", f"{BOMB}<urlset>{'&' * 1_000_100}<url><loc>&a12;</loc></url></urlset>"),
    ("parameter entities", BOMB.replace("ENTITY a", "ENTITY % a").replace("&a", "%a") + TWO),
    ("a file of ours", '<!DOCTYPE u [<!ENTITY x SYSTEM "file:///etc/passwd">]>' + one("&x;")),
    ("a DTD from elsewhere", '<!DOCTYPE urlset SYSTEM "http://127.0.0.1:1/x.dtd">' + one("x")),
    ("a million nested elements", "<urlset>" + "<a>" * 1_000_000),
    ("a million elements in one entry", urlset(f"<url>{'<a/>' * 1_000_000}</url>")),
    ("a million attributes", f"<urlset {ATTRIBUTES}/>"),
    ("CDATA that never ends", "<urlset>&" + "<![CDATA[" * 300_000),
    ("comments that never end", "<urlset>&" + "<!--" * 1_000_000),
    ("a declaration that never ends", "<?xml " + " encoding " * 500_000 + "\xff"),
    ("a URL of 5 MB", one("https://h.example/" + "a" * 5_000_000)),
    ("a gz bomb", gzip.compress(b"<urlset>" + b" " * 60_000_000)),
    ("a gz bomb of many members", gzip.compress(b" " * 1_000_000) * 100),
]  # fmt: skip


@pytest.mark.parametrize("body", [row[1] for row in HOSTILE], ids=[row[0] for row in HOSTILE])
def test_hostile_input_costs_little_and_opens_nothing(body: str | bytes) -> None:
    try:
        found = read(body if isinstance(body, bytes) else body.encode("latin-1"))
    except NotRead:
        found = []
    assert sum(len(entry.url) for entry in found) < 6_000_000
    assert not any("root:" in entry.url or "lollol" in entry.url for entry in found)


def test_what_packs_well_is_no_bomb() -> None:
    rows = "".join(f"<url><loc>https://h.example/product/{n}</loc></url>\n" for n in range(40_000))
    packed = gzip.compress(urlset(rows).encode())
    assert len(read(packed)) == 40_000
    assert len(read(zlib.decompress(packed, 31))) == 40_000


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("2025", "2025"),
        ("2025-03", "2025-03"),
        ("2025-03-04", "2025-03-04"),
        ("2025-03-04T10:00Z", "2025-03-04T10:00Z"),
        ("2025-03-04T10:00:00+01:00", "2025-03-04T10:00:00+01:00"),
        ("2025-03-04T10:00:00.123456Z", "2025-03-04T10:00:00.123456Z"),
        ("2025-03-04 10:00:00", "2025-03-04 10:00:00"),
        ("Tue, 04 Mar 2025 10:00:00 +0100", "2025-03-04T10:00:00+01:00"),
        ("", None),
        ("yesterday", None),
        ("0000-00-00", None),
        ("-0001-11-30T00:00:00+00:00", None),
        ("2025-02-30", None),
        ("2025-13", None),
        ("2025-03-04T25:00Z", None),
        ("9999", None),
        ("04.03.2025", None),
        ("1741082400", None),
        ("2025-03-04T10:00:00Z" * 10, None),
    ],
)
def test_a_lastmod_is_a_w3c_date_or_nothing(text: str, kept: str | None) -> None:
    assert moment(text) == kept


@pytest.mark.parametrize(
    ("lastmod", "over"),
    [
        ("2025-03-04T10:00:00Z", "2025-03-04T10:00:01Z"),
        ("2025-03-04T10:00Z", "2025-03-04T10:01:00Z"),
        ("2025-03-04T10:00:00+02:00", "2025-03-04T08:00:01Z"),
        ("2025-03-04T10:00:00", "2025-03-04T22:00:01Z"),
        ("2025-03-04", "2025-03-05T12:00:00Z"),
        ("2025-12", "2026-01-01T12:00:00Z"),
        ("2024", "2025-01-01T12:00:00Z"),
    ],
)
def test_a_moment_is_over_when_it_is_over_everywhere(lastmod: str, over: str) -> None:
    assert ends(lastmod) + 1000 == ends(over)
