"""OpenGraph, as pages write it."""

import pytest

from limpet import Page
from limpet_store.items import Fetched


def page(html):
    return Page(Fetched("http://h.example/dir/p.html", 200, {"content-type": "text/html"}, html.encode()))


def metas(*pairs):
    return "".join(f'<meta property="{name}" content="{value}">' for name, value in pairs)


def image(*properties):
    return metas(*((f"og:image{name}", value) for name, value in properties))


A, B, C = "http://h.example/a.png", "http://h.example/b.png", "http://h.example/c.png"

ODDITIES = {
    "properties of several families": (
        metas(
            ("og:title", " Tea "),
            ("product:price:amount", "12"),
            ("twitter:card", "summary"),
            ("fb:app_id", "1"),
        ),
        {"og:title": "Tea", "product:price:amount": "12", "twitter:card": "summary"},
    ),
    "name instead of property": ('<meta name="og:title" content="Tea">', {"og:title": "Tea"}),
    "value instead of content": ('<meta name="twitter:card" value="summary">', {"twitter:card": "summary"}),
    "capitals": ('<META PROPERTY="OG:Title" CONTENT="Tea">', {"og:title": "Tea"}),
    "two names in one": (
        '<meta property="og:title twitter:title" content="T">',
        {"og:title": "T", "twitter:title": "T"},
    ),
    "nothing in it": (
        metas(("og:title", " "), ("og:type", "product")) + "<meta property=og:x>",
        {"og:type": "product"},
    ),
    "a list": (metas(("article:tag", "a"), ("article:tag", "b")), {"article:tag": ["a", "b"]}),
    "the same twice, by two plugins": (metas(("og:title", "T"), ("og:title", "T")), {"og:title": "T"}),
    "relative URLs": (
        metas(("og:url", "../x"), ("og:image", "/a.png"), ("twitter:image", "a.png")),
        {"og:url": "http://h.example/x", "og:image": A, "twitter:image": "http://h.example/dir/a.png"},
    ),
    "a URL that is none stays as it is": (metas(("og:url", "http://[")), {"og:url": "http://["}),
    "one image with its size": (
        image(("", A), (":width", "300"), (":height", "200")),
        {"og:image": A, "og:image:width": "300", "og:image:height": "200"},
    ),
    "three images, each with its own size": (
        image(("", A), (":width", "300"), ("", B), ("", C), (":height", "9")),
        {"og:image": [A, B, C], "og:image:width": ["300", None, None], "og:image:height": [None, None, "9"]},
    ),
    "og:image:url says the image again": (
        image(("", A), (":url", A), (":width", "3")),
        {"og:image": A, "og:image:width": "3"},
    ),
    "og:image:url alone": (image((":url", A), (":width", "3")), {"og:image": A, "og:image:width": "3"}),
    "the size before the image": (image((":width", "3"), ("", A)), {"og:image": A, "og:image:width": "3"}),
    "a secure address alone": (image((":secure_url", A)), {"og:image": A, "og:image:secure_url": A}),
    "metas in the body": (f"<body><p>x</p>{metas(('og:title', 'Tea'))}", {"og:title": "Tea"}),
    "no OpenGraph at all": ("<meta name=description content=x><meta charset=utf-8>", {}),
}


@pytest.mark.parametrize(("html", "expected"), ODDITIES.values(), ids=ODDITIES)
def test_properties_are_read_from(html, expected):
    assert page(html).opengraph() == expected
