"""Canonical URLs: the identity of a page (I-7)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limpet_store.canonical import MAX_URL, admit, is_private
from limpet_store.errors import URLRejected

PIECES = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=12)


@pytest.mark.parametrize(
    ("found", "canonical"),
    [
        ("HTTP://Shop.Example:80/a/../b", "http://shop.example/b"),
        ("https://shop.example:443", "https://shop.example/"),
        ("http://shop.example/a#part", "http://shop.example/a"),
        ("  http://shop.example/a\n", "http://shop.example/a"),
        ("http://shop.example/a b", "http://shop.example/a%20b"),
        ("http://bücher.example/ü", "http://xn--bcher-kva.example/%C3%BC"),
        ("http://xn--bcher-kva.example/%C3%BC", "http://xn--bcher-kva.example/%C3%BC"),
        ("http://a_b.example/", "http://a_b.example/"),
        ("http://hg--69.example/", "http://hg--69.example/"),
        ("http://0x7f.1/", "http://127.0.0.1/"),
    ],
)
def test_two_spellings_of_one_page_are_one(found: str, canonical: str) -> None:
    assert admit(found).canonical == canonical


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("/Product/ABC", "/product/abc"),
        ("/a", "/a/"),
        ("/?a", "/?a="),
        ("/?a=1&b=2", "/?b=2&a=1"),
        ("/a%2Fb", "/a/b"),
        ("/a%23b", "/a"),
        ("/?q=a%2Bb", "/?q=a+b"),
        ("/?t=SeCrEt", "/?t=secret"),
        ("/a%26b", "/a&b"),
    ],
)
def test_two_pages_stay_two(one: str, other: str) -> None:
    assert admit(f"http://shop.example{one}").canonical != admit(f"http://shop.example{other}").canonical


@given(path=PIECES, query=PIECES, fragment=PIECES)
def test_canonicalising_twice_changes_nothing(path: str, query: str, fragment: str) -> None:
    once = admit(f"http://shop.example/{path}?{query}#{fragment}").canonical
    assert admit(once).canonical == once
    assert once.isascii()


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("ftp://shop.example/", "not http"),
        ("mailto:me@shop.example", "not http"),
        ("/relative", "not a URL"),
        ("http://", "not a URL"),
        ("http://a b/", "not a URL"),
        ("http://shop.example/\ud800x", "not a URL"),
        ("http://me:secret@shop.example/", "credentials in URL"),
        ("http://shop.example/" + "x" * MAX_URL, "too long"),
        ("http://shop.example/" + "ü" * (MAX_URL // 3), "too long"),
    ],
    ids=lambda value: value[:24],
)
def test_what_is_no_page_is_rejected_with_its_reason(url: str, reason: str) -> None:
    with pytest.raises(URLRejected) as rejected:
        admit(url)
    assert rejected.value.reason == reason
    assert "secret" not in str(rejected.value)
    assert len(str(rejected.value)) < 200


def test_the_authority_leaves_out_the_schemes_own_port() -> None:
    assert admit("https://shop.example:443/").authority == "shop.example"
    assert admit("http://shop.example:443/").authority == "shop.example:443"


@pytest.mark.parametrize(
    ("name", "private"),
    [
        ("localhost", True),
        ("a.localhost", True),
        ("127.0.0.1", True),
        ("[::1]", True),
        ("192.168.1.1", True),
        ("shop.example", False),
        ("93.184.216.34", False),
    ],
)
def test_private_hosts_are_told_by_their_name(name: str, private: bool) -> None:
    assert is_private(name) is private
