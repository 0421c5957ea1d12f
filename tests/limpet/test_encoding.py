"""Which encoding a body is read in."""

import codecs

import pytest

from limpet import ExtractError, Page, encoding
from limpet.encoding import codec, decide, decode
from limpet_store.failures import UNREADABLE
from limpet_store.items import Fetched

RUSSIAN = "Цена".encode("cp1251")


def test_every_label_names_a_codec_that_python_has():
    for label, name in encoding._CODECS.items():
        assert name == encoding.REPLACEMENT or codecs.lookup(name), label
        assert label == label.lower()


@pytest.mark.parametrize(
    ("label", "name"),
    [
        ("Latin1", "cp1252"),
        (" UTF8\n", "utf_8"),
        ("gb2312", "gb18030"),
        ("shift_jis", "cp932"),
        ("us-ascii", "cp1252"),
    ],
)
def test_labels_mean_what_the_web_takes_them_for(label, name):
    assert codec(label) == name


@pytest.mark.parametrize("label", ["utf-7", "rot13", "unicode_escape", "punycode", "", "nonsense", "hex"])
def test_python_only_codecs_are_unknown(label):
    assert codec(label) is None


@pytest.mark.parametrize(
    ("bom", "name"), [(b"\xef\xbb\xbf", "utf_8"), (b"\xff\xfe", "utf_16_le"), (b"\xfe\xff", "utf_16_be")]
)
def test_a_bom_beats_the_header_and_the_meta(bom, name):
    body = bom + '<meta charset="windows-1251">é'.encode(name)
    assert decide(body, "text/html; charset=koi8-r") == name
    assert decode(body, "text/html; charset=koi8-r") == '<meta charset="windows-1251">é'


def test_a_utf_32_bom_is_no_bom_of_the_web():
    assert decide(codecs.BOM_UTF32_BE + b"\0\0\0a") != "utf_32_be"


@pytest.mark.parametrize(
    "header",
    [
        "text/html; charset=windows-1251",
        'text/html;charset="windows-1251"',
        "text/html; CHARSET = windows-1251; x=y",
        "text/html; boundary=x;charset='windows-1251'",
    ],
)
def test_the_header_beats_the_meta(header):
    assert decode(b'<meta charset="utf-8">' + RUSSIAN, header).endswith("Цена")


def test_an_unknown_label_in_the_header_counts_as_none():
    assert decide(b'<meta charset="koi8-r">', "text/html; charset=x-unknown") == "koi8_r"


@pytest.mark.parametrize(
    "meta",
    [
        b"<meta charset=windows-1251>",
        b"<META/charset = 'windows-1251' />",
        b'<meta name=a content="charset=utf-8"><meta charset="windows-1251">',
        b'<meta http-equiv="Content-Type" content="text/html; charset=windows-1251">',
        b'<meta content="text/html; charset=windows-1251" http-equiv=content-type>',
        b'<!-- <meta charset="utf-8"> --><meta charset="windows-1251">',
        b'<!--><meta charset="windows-1251"><!-- -->',
        b'<p title="<meta charset=utf-8>"><meta charset="windows-1251">',
        b'<!DOCTYPE x "a"><meta charset=nonsense><meta charset="windows-1251">',
        b'<metadata charset="utf-8"><meta charset="windows-1251">',
        b"<body><meta charset=windows-1251>",
        b"<?xml version='1.0' encoding='windows-1251'?><html>",
    ],
)
def test_the_prescan_finds_the_declaration_a_browser_finds(meta):
    assert decide(meta + RUSSIAN) == "cp1251"


@pytest.mark.parametrize(
    "text",
    [
        b'<!-- <meta charset="windows-1251"> -->',
        b'<p title="<meta charset=windows-1251>">',
        b'<meta content="charset=windows-1251">',
        b'<meta http-equiv=refresh content="charset=windows-1251">',
        b" " * 1024 + b'<meta charset="windows-1251">',
        b'<meta charset="windows-1251',
    ],
)
def test_what_is_no_declaration_is_not_taken_for_one(text):
    assert decide(text) == "utf_8"


def test_a_meta_that_claims_utf_16_means_utf_8():
    assert decide(b"<meta charset=utf-16>") == "utf_8"


def test_a_meta_counts_in_html_alone():
    assert decide(b'"<meta charset=koi8-r>"', "application/json") == "utf_8"
    assert decide(b"<meta charset='koi8-r'/>", "application/rss+xml") == "utf_8"


def test_without_a_word_it_is_utf_8_where_that_decodes_and_windows_1252_where_not():
    assert decode("naïve €".encode()) == "naïve €"
    assert decode("naïve €".encode("cp1252")) == "naïve €"


def test_what_cannot_be_decoded_is_replaced_and_nothing_is_cut():
    assert decode(b"a\xff\xfeb", "text/plain; charset=utf-8") == "a\ufffd\ufffdb"
    assert decode(b"\xff\xfea\0\0\xd8b\0") == "a\ufffdb"


def test_xhtml_is_not_xml_and_feeds_are():
    assert encoding.is_xml("application/rss+xml; charset=utf-8")
    assert encoding.is_xml("Text/XML")
    assert not encoding.is_xml("application/xhtml+xml")
    assert not encoding.is_xml("")


def test_a_long_run_of_open_quotes_is_scanned_at_once():
    assert decide(b"<meta charset " + b'<a "' * 5000) == "utf_8"


@pytest.mark.parametrize("label", ["iso-2022-kr", "HZ-GB-2312", "iso-2022-cn", "replacement"])
def test_what_browsers_refuse_to_read_is_a_failure_and_no_other_text(label):
    body = b"<p>~{<:Ky2;~}</p>"
    header = {"content-type": f"text/html; charset={label}"}
    assert decode(body, header["content-type"]) == "\ufffd"
    assert decide(f"<meta charset={label}>".encode() + body) == encoding.REPLACEMENT
    page = Page(Fetched("http://h.example/", 200, header, body))
    with pytest.raises(ExtractError, match="refuse to read") as failed:
        page.one("p")
    assert failed.value.kind == UNREADABLE
    assert page.text == "\ufffd"


def test_utf_16_counts_in_a_header():
    assert decode("<p>é".encode("utf_16_le"), "text/html; charset=UTF-16") == "<p>é"
    assert decode("<p>é".encode("utf_16_be"), "text/html; charset=utf-16be") == "<p>é"


def test_a_declaration_that_comes_late_counts_where_the_text_is_no_utf_8():
    late = b"<script>" + b" " * 5000 + b'</script><meta charset="windows-1251">'
    assert decode(late + RUSSIAN, "text/html").endswith("Цена")
    assert encoding.whence(late + RUSSIAN, "text/html") == "document"
    assert decode(late + "Цена".encode(), "text/html").endswith("Цена")
    assert decide(late + RUSSIAN, "text/plain") == "cp1252"
    assert decide(b"<!--" + late + RUSSIAN) == "cp1252"


def test_a_late_declaration_is_searched_for_in_time_that_is_linear():
    for hostile in (b'<a "', b"<meta ", b"<!--", b"<a b='", b"<", b"<a" + b"\t" * 50):
        assert decide((hostile * 32_768)[:200_000] + b"charset\xff", "text/html") == "cp1252"
