"""Parameters that tell no pages apart."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limpet_store.canonical import admit
from limpet_store.dropping import SESSION_IDS, TRACKING, Dropping, is_left
from limpet_store.errors import URLRejected

ALL = Dropping([*SESSION_IDS, *TRACKING, "ref", "v*"])


@pytest.mark.parametrize(
    ("found", "left"),
    [
        ("/b;jsessionid=12.node1?x=1", "/b?x=1"),
        ("/b;JSESSIONID=12", "/b"),
        ("/a;color=red;jsessionid=1/c;jsessionid=2", "/a;color=red/c"),
        ("/?PHPSESSID=1&a=2", "/?a=2"),
        ("/?a=2&ASPSESSIONIDQSQRTA=1", "/?a=2"),
        ("/?utm_source=x", "/"),
        ("/?a=%2f&UTM%5FMedium=2&b&c=+", "/?a=%2f&b&c=+"),
        ("/?b=2&gclid=1&a=1&b=2", "/?b=2&a=1&b=2"),
        ("/?ref", "/"),
        ("/?ref=1&ref=2&x", "/?x"),
        ("/?version=1&xv=2", "/?xv=2"),
        ("/?", "/?"),
        ("/?a&&b", "/?a&&b"),
        ("/?href=1&reff=2&my_ref=3", "/?href=1&reff=2&my_ref=3"),
        ("/?sid=1&session_id=2&utm=3", "/?sid=1&session_id=2&utm=3"),
        ("/?q=a;ref=2", "/?q=a;ref=2"),
        ("/a/..;ref=1/b", "/a/..;ref=1/b"),
        ("/utm_source=1/ref", "/utm_source=1/ref"),
    ],
)
def test_named_parameters_go_and_the_rest_stays_byte_for_byte(found: str, left: str) -> None:
    address = admit(f"http://shop.example{found}", ALL)
    assert address.canonical == f"http://shop.example{left}"
    assert address.url == f"http://shop.example{found}", "as found it is kept"


def test_without_a_rule_nothing_goes() -> None:
    assert admit("http://shop.example/?utm_source=1").canonical == "http://shop.example/?utm_source=1"


def test_every_name_of_the_lists_is_dropped_and_written_small() -> None:
    for name in (*SESSION_IDS, *TRACKING):
        assert name == name.lower()
        assert ALL(f"http://x.example/?a=1&{name.replace('*', 'z').upper()}=1") == "http://x.example/?a=1"


PIECES = [
    "a",
    "ref",
    "ref=1",
    "v=1",
    "=",
    "&",
    ";",
    "?",
    "/",
    "..",
    "%2e",
    ".",
    "gclid",
    "%72ef",
    "+",
    "%26",
    "jsessionid",
]


@given(st.lists(st.sampled_from(PIECES), max_size=10).map("".join))
def test_dropping_twice_is_dropping_once_and_only_leaves_out(tail: str) -> None:
    try:
        whole = admit(f"http://x.example/{tail}").canonical
    except URLRejected:
        return
    once = ALL(whole)
    assert ALL(once) == once
    assert admit(once).canonical == once
    assert is_left(once, whole)


@pytest.mark.parametrize(
    ("left", "whole", "may_be"),
    [
        ("http://x/a?b=1", "http://x/a?b=1", True),
        ("http://x/a?b=1", "http://x/a?c=1&b=1", True),
        ("http://x/a", "http://x/a;s=1?c=1", True),
        ("http://x/a?b=2", "http://x/a?b=1", False),
        ("http://x/A", "http://x/a", False),
        ("http://x/a?b=1&c=1", "http://x/a?c=1&b=1", False),
        ("http://x/a/b", "http://x/a", False),
    ],
)
def test_what_may_be_left_of_a_url_can_be_told_without_the_rule(left: str, whole: str, may_be: bool) -> None:
    assert is_left(left, whole) is may_be
