"""Which URLs a pattern fits, and what it takes out of them."""

import pytest

from limpet import SiteError
from limpet.patterns import Pattern

HOST = "http://shop.example"


@pytest.mark.parametrize(
    ("pattern", "path", "params"),
    [
        ("/", "/", {}),
        ("/product/{n}", "/product/7", {"n": "7"}),
        ("/product/{n}", "/product/7?utm=1", {"n": "7"}),
        ("/product/{n}", "/product/caf%C3%A9%2Fbar", {"n": "café/bar"}),
        ("/product-{n}.html", "/product-7.html", {"n": "7"}),
        ("/{a}/{b}", "/x/y", {"a": "x", "b": "y"}),
        ("/{n:int}", "/007", {"n": "007"}),
        ("/docs/{rest:path}", "/docs/", {"rest": ""}),
        ("/docs/{rest:path}", "/docs/a/b.html", {"rest": "a/b.html"}),
        ("/café/{n}", "/caf%C3%A9/1", {"n": "1"}),
        ("/a b", "/a%20b", {}),
        ("/search?q={q}", "/search?page=2&q=two+w%C3%B6rds", {"q": "two wörds"}),
        ("/s?q={q}&page={n:int}", "/s?page=2&q=x", {"q": "x", "n": "2"}),
        ("/s?kind=book", "/s?kind=book&x=1", {}),
        ("/s?path={p}", "/s?path=a/b", {"p": "a/b"}),
        ("//shop.example/{n}", "/7", {"n": "7"}),
        ("//{sub}.example/", "/", {"sub": "shop"}),
        ("http://Shop.Example/{n}", "/7", {"n": "7"}),
        ("http://shop.example", "/", {}),
        ("/{rest:path}", "/a.b+c(d)", {"rest": "a.b+c(d)"}),
    ],
)
def test_it_fits(pattern, path, params):
    assert Pattern(pattern).params(HOST + path) == params


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("/product/{n}", "/product/"),
        ("/product/{n}", "/product/7/"),
        ("/product/{n}", "/product/7/more"),
        ("/product/{n}", "/x/product/7"),
        ("/a.b", "/axb"),
        ("/{n:int}", "/7a"),
        ("/{n:int}", "/%37"),
        ("/search?q={q}", "/search"),
        ("/search?q={q}", "/search?q="),
        ("/search?q={q}", "/search?Q=x"),
        ("/s?page={n:int}", "/s?page=two"),
        ("//other.example/{n}", "/7"),
        ("https://shop.example/{n}", "/7"),
        ("//shop.example:8080/{n}", "/7"),
    ],
)
def test_it_does_not_fit(pattern, path):
    assert Pattern(pattern).params(HOST + path) is None


def test_digits_are_ascii_digits():
    assert Pattern("/s?n={n:int}").params(HOST + "/s?n=%D9%A7") is None


def test_what_is_no_url_fits_nothing():
    assert Pattern("/{rest:path}").params("mailto:a@b") is None


@pytest.mark.parametrize(
    "pattern",
    [
        "product",
        "",
        "ftp://x/",
        "/a#b",
        "/{",
        "/a}",
        "/{n}/{n}",
        "/{1n}",
        "/{n:float}",
        "/{}",
        "/s?q",
        "/s?{q}=1",
        "//{n}/{n}",
        "?q={q}",
    ],
)
def test_a_malformed_pattern_is_refused_in_one_line(pattern):
    with pytest.raises(SiteError) as caught:
        Pattern(pattern)
    assert repr(pattern) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_decorator_without_parentheses_is_explained():
    with pytest.raises(SiteError, match="a pattern is a string"):
        Pattern(test_it_fits)
