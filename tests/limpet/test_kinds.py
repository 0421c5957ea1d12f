"""What is no HTML or XML is not read as markup, whatever its server calls it."""

import pytest

from limpet import ExtractError, Page, encoding
from limpet_store.failures import UNREADABLE
from limpet_store.items import Fetched

PDF = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj <</Type /Catalog>> endobj"
PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR<h1>"
ZIP = b"PK\x03\x04\x14\0<h1>x</h1>"
HTML = b"<!doctype html><h1 id=end>end</h1><a href=/1>x</a>"


def page(body, content_type=None):
    headers = {} if content_type is None else {"content-type": content_type}
    return Page(Fetched("http://h.example/dir/", 200, headers, body))


@pytest.mark.parametrize(
    ("body", "content_type", "words"),
    [
        (PDF, "application/pdf", "a PDF (served as application/pdf): page.body"),
        (PDF, "text/html", "a PDF"),
        (b"\n" + PDF, "text/html; charset=utf-8", "a PDF"),
        (PDF, None, "a PDF"),
        (PDF, "application/octet-stream", "a PDF"),
        (PNG, "image/png", "a PNG picture"),
        (PNG, "text/html", "a PNG picture"),
        (b"GIF89a\x01\0", "text/html", "a GIF picture"),
        (b"\xff\xd8\xff\xe0\0\x10JFIF", None, "a JPEG picture"),
        (ZIP, "text/html", "a zip archive"),
        (b"\x1f\x8b\x08\0\0", "text/html", "gzip data"),
        (b"\0\0\0\x18ftypmp42", "text/html", "MP4 media"),
        (b"RIFF\x24\0\0\0WEBPVP8 ", "text/html", "a WebP picture"),
        (b"\x01\x02\0\x03", "application/octet-stream", "binary data"),
        (b'{"a": "<b>x</b>"}', "application/json", "JSON (served as application/json): page.json()"),
        (b'<b>"a"</b>', "application/ld+json", "application/ld+json: page.body"),
        (b'{"a": 1}', "text/html", "JSON"),
        (b"\xef\xbb\xbf[1]", "text/html", "JSON"),
        (b"[1]", None, "JSON"),
        (b"[1]", "garbage", "JSON"),
        (b'{"a": "<b>x</b>"}\n', "text/html", "JSON"),
        (b"a <b>c</b>", "text/plain", "plain text (served as text/plain): page.text"),
        (b"<b>c</b>", "text/plain; charset=utf-8", "plain text"),
        (b"a,b\n1,2", "text/csv", "plain text"),
        (b"words", None, "plain text"),
        (b"if (a < b) {}", "application/javascript", "application/javascript: page.body"),
        (b"<b>", "video/mp4", "video/mp4"),
    ],
)
def test_what_is_no_markup_is_a_typed_failure_that_says_what_reads_it(body, content_type, words):
    for read in (
        lambda view: view.css("h1"),
        lambda view: view.one("h1"),
        lambda view: view.one("h1", None),
        lambda view: view.all("h1"),
        lambda view: list(view.links()),
    ):
        with pytest.raises(ExtractError) as failed:
            read(page(body, content_type))
        assert words in str(failed.value)
        assert failed.value.kind == UNREADABLE
    assert not page(body, content_type).is_html


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (HTML, None),
        (HTML, ""),
        (HTML, "garbage"),
        (b"words <h1>end</h1>", "text/html, text/html"),
        (b"[words] <h1>end</h1> [1]", "text/html"),
        (HTML, "application/octet-stream"),
        (HTML, "text/plain"),
        (HTML, "application/json"),
        (HTML, "image/png"),
        (b"RIFF-RAFF and ID3 tags <h1>end</h1>", "text/html"),
        (b"words first <h1>end</h1>", "text/html"),
        (b"{{ template }} <h1>end</h1>", "text/html"),
        (b"\xef\xbb\xbf" + HTML, None),
        (b"\xff\xfe" + HTML.decode().encode("utf_16_le"), None),
        (b"\xfe\xff" + HTML.decode().encode("utf_16_be"), "text/html"),
        (b" " * 900 + HTML, None),
        (b"a" + HTML, "application/xhtml+xml"),
        (b"<?xml version='1.0'?><r><h1>end</h1></r>", "application/xml"),
        (b"<svg xmlns='s'><h1>end</h1></svg>", "image/svg+xml"),
    ],
)
def test_what_is_markup_is_read_whatever_it_is_called(body, content_type):
    assert page(body, content_type).xpath("string(//*[local-name()='h1'])").get() == "end"
    assert page(body, content_type).is_html == (not encoding.is_xml(content_type or ""))


@pytest.mark.parametrize("body", [b"", b"\0", b" \n"])
@pytest.mark.parametrize("content_type", ["text/html", "application/xml", None, "application/octet-stream"])
def test_nothing_is_an_empty_document(body, content_type):
    assert page(body, content_type).one("h1", None) is None


def test_a_link_from_json_starts_from_the_page_and_reads_no_markup():
    assert page(b'{"next": "2"}', "application/json").link("2").url == "http://h.example/dir/2"
    assert page(PDF, "application/pdf").base == "http://h.example/dir/"


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b'{"a": "\xc3\xa9"}', "application/json"),
        (b'\xef\xbb\xbf{"a": "\xc3\xa9"}', "application/json"),
        (b'\xef\xbb\xbf{"a": "\xc3\xa9"}', "application/json; charset=iso-8859-1"),
        ('{"a": "é"}'.encode("utf_16"), "application/json"),
        ('{"a": "é"}'.encode("utf_16"), "application/json; charset=utf-16"),
        ('{"a": "é"}'.encode("utf_16"), "application/json; charset=utf-8"),
        ('{"a": "é"}'.encode("utf_16_be"), "application/json"),
        (b'{"a": "\xe9"}', "application/json; charset=iso-8859-1"),
        (b' \n{"a": "\\u00e9"}\n', None),
    ],
)
def test_json_is_read_in_its_encoding(body, content_type):
    assert page(body, content_type).json() == {"a": "é"}


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"NaN",
        b'{"a": Infinity}',
        b"[-Infinity]",
        b"[" * 100_000,
        b"[1",
        b"<html>",
        b'{"a": "\xe9"}',
        b"9" * 5000,
    ],
)
def test_what_is_no_json_is_a_typed_failure(body):
    with pytest.raises(ExtractError, match="not JSON") as failed:
        page(body, "application/json").json()
    assert failed.value.kind == UNREADABLE
