"""What stands at the end of a document is found, or the page has failed: no parser cuts it silently."""

import pytest

from limpet import ExtractError, Page
from limpet_store.failures import UNREADABLE
from limpet_store.items import Fetched

END = b"<h1 id=end>end</h1>"


def page(body, content_type="text/html"):
    return Page(Fetched("http://h.example/", 200, {"content-type": content_type}, body))


READ = {
    "a large text": b"<p>" + b"x" * 21_000_000,
    "a large attribute": b"<p title='" + b"x" * 11_000_000 + b"'>",
    "a large script": b"<script>" + b"x" * 11_000_000 + b"</script>",
    "a large comment": b"<!--" + b"x" * 11_000_000 + b"-->",
    "a large name": b"<" + b"x" * 100_000 + b">",
    "260 levels": b"<div>" * 260,
    "2,000 levels": b"<div>" * 2000,
    "3,000 paragraphs, one after another": b"<p>" * 3000,
    "3,000 links, one after another": b"<a href=/1>" * 3000,
    "NUL in text": b"<p>a\0b</p>\0",
    "NUL in a tag": b"<p ti\0tle=x>",
    "an empty comment": b"<!-->",
    "a comment ended by --!>": b"<!-- x --!>",
    "CDATA": b"<p><![CDATA[ x ]]></p>",
    "open CDATA": b"<p><![CDATA[ x >",
    "an instruction": b"<?php echo ?>",
    "an attribute closed late": b"<p title='x>y</p><b class='z'></b>",
    "tags that are none": b"</ x></>< p><p<b><p =a='b' \"x\" 1=2 @c=3>",
    "an encoding that it is not in": b"<?xml version='1.0' encoding='utf-16'?><meta charset=utf-16>",
    "bytes that are no UTF-8": b"<meta charset=utf-8>\xff\xfe\x80",
    "control characters": b"\x01\x02\x0b\x1b\x7f&#0;&#1;&#xD800;",
    "markup in SVG": b"<svg><title/><style/></svg>",
    "the end of html before it": b"<html><body><p>x</p></body></html>",
    "the end of html and a comment before it": b"<body>x</html> y <!-- z -->",
    "two documents": b"<html><body>x</body></html>\n<!doctype html><html><head><title>y</title></head><body>z",
    "control characters behind the end of html": b"<body>x</html>\x01\x0c\x1by\xef\xbf\xbe<p>z</html>\x7f",
    "control characters before the end of html": b"<body>x\x1b</html>y<p>z\x1b</p>\x1b</html>z",
    "frames": b"<frameset><frame src=x></frameset></html>",
}


@pytest.mark.parametrize("body", READ.values(), ids=READ)
def test_a_document_is_read_to_its_end(body):
    view = page(body + END)
    assert view.one("#end") == "end"
    assert len(view.xpath("//h1[@id='end']")) == 1
    assert view.xpath("string(//h1)").get() == "end"


@pytest.mark.parametrize(
    "body",
    [
        b"<div>" * 3000,
        b"<div>" * 3000 + b"</div>" * 3000,
        b"<b>" * 3000,
        b"<ul><li>" * 1500,
        b"<html></html>" + b"<div>" * 3000,
        b"<!doctype " + b"x" * 11_000_000 + b">",
    ],
    ids=["open", "closed", "b", "lists", "behind html", "doctype"],
)
def test_what_the_parser_would_cut_is_a_typed_failure(body):
    with pytest.raises(ExtractError, match="the parser would cut it") as failed:
        page(body + END).css("#end")
    assert failed.value.kind == UNREADABLE


def test_what_stands_behind_the_end_of_html_keeps_its_order():
    view = page(
        b"<body><a href=/1>1</a></body></html>two<a href=/3>3</a>4</html>5<p>6</p><html><head><i>7</i></head>8"
    )
    assert view.one("body") == "1two3456 78".replace(" ", "")
    assert [link.url for link in view.links()] == ["http://h.example/1", "http://h.example/3"]


@pytest.mark.parametrize(
    "body", [b"<p>x<!-- ", b"<p>x<p title='", b"<script>", b"<textarea>", b"<plaintext>"]
)
def test_what_is_never_closed_holds_the_rest_as_in_browsers(body):
    assert page(body + END).one("#end", None) is None


ENTITIES = b"".join(b'<!ENTITY a%d "%s">' % (n, b"&a%d;" % (n - 1) * 10) for n in range(1, 10))
LAUGHS = b'<!DOCTYPE r [<!ENTITY a0 "lol">' + ENTITIES + b"]>"


@pytest.mark.parametrize(
    "body",
    [
        LAUGHS + b"<r>&a9;</r>",
        LAUGHS + b"<r t='&a9;'/>",
        b'<!DOCTYPE r [<!ENTITY a "' + b"x" * 100_000 + b'">]><r>' + b"&a;" * 5000 + b"</r>",
        b'<!DOCTYPE r [<!ENTITY a "&b;"><!ENTITY b "&a;">]><r>&a;</r>',
        b'<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/hostname">]><r>&x;</r>',
        b"<r>&nbsp;</r>",
        b"<r>" + b"<a>" * 3000 + b"</a>" * 3000 + b"</r>",
        b"<r><a></r>",
        b"<r/><r/>",
    ],
    ids=[
        "laughs",
        "in an attribute",
        "quadratic",
        "loop",
        "file",
        "undefined",
        "deep",
        "not closed",
        "two roots",
    ],
)
def test_xml_that_would_grow_or_reach_out_or_is_broken_is_a_typed_failure(body):
    with pytest.raises(ExtractError, match="not well-formed XML") as failed:
        page(body, "application/xml").css("r")
    assert failed.value.kind == UNREADABLE


def test_an_entity_that_xml_says_itself_is_its_text():
    view = page(b'<!DOCTYPE r [<!ENTITY e "EUR ">]><r><p>&e;12</p></r>', "application/xml")
    assert view.one("p") == "EUR 12"
    assert "".join(view.css("p::text").getall()) == "EUR 12"


def test_xml_of_any_size_within_its_depth_is_read_to_its_end():
    for body in (b"x" * 21_000_000, b"<a t='" + b"x" * 11_000_000 + b"'/>", b"<a>" * 2000 + b"</a>" * 2000):
        assert page(b"<r>" + body + b"<end>end</end></r>", "text/xml").one("end") == "end"
