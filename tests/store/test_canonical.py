"""Canonical URLs: the identity of a page (I-7)."""

from __future__ import annotations

import pytest
from ada_url import URL
from hypothesis import given
from hypothesis import strategies as st

from limpet_store.canonical import CANONICALISER_VERSION, MAX_URL, Address, _as_it_is, admit, is_private
from limpet_store.dropping import SESSION_IDS, TRACKING, Dropping
from limpet_store.errors import URLRejected
from limpet_store.store import Store

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
        ("http://[::FFFF:1.2.3.4]/", "http://[::ffff:102:304]/"),
        ("http://i❤.example/", "http://xn--i-7iq.example/"),
        ("http://straße.example/", "http://xn--strae-oqa.example/"),
        ("http://xn--strae-oqa.example/", "http://xn--strae-oqa.example/"),
        ("http://shop.example./", "http://shop.example./"),
        ("http://shop.example\\a\\b?\\c", "http://shop.example/a/b?\\c"),
        ("http://shop.example/a\tb\n", "http://shop.example/ab"),
        ("http://shop.example/%zz%2", "http://shop.example/%zz%2"),
        ("http://shop.example/%2E%2e/a", "http://shop.example/a"),
        ("http://shop.example/%7Ea", "http://shop.example/%7Ea"),
        ("http://shop.example#!/a", "http://shop.example/"),
        ("http://shop.example:65535/", "http://shop.example:65535/"),
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
        ("/x%25", "/x%"),
        ("/a%3Bb", "/a;b"),
        ("/%7Ea", "/~a"),
        ("/%C3%BC", "/%c3%bc"),
        ("/a?", "/a"),
        ("/?utm_source=x", "/"),
    ],
)
def test_two_pages_stay_two(one: str, other: str) -> None:
    assert admit(f"http://shop.example{one}").canonical != admit(f"http://shop.example{other}").canonical


@pytest.mark.parametrize(
    "path",
    ["/a%23b", "/x%25", "/a%3Bb", "/a%26b", "/a%2Fb", "/?q=a%2Bb", "/?a", "/?a=", "/?a=2&a=1", "/?A=B&a=b", "/a//b/",
     "/?x=%u1234", "/?utm_source=x&SID=1", "/(a)!*'~", "/?a=[1]&b={2}|^`\\"],
)  # fmt: skip
def test_path_and_query_stay_as_they_are(path: str) -> None:
    assert admit(f"http://shop.example{path}").canonical == f"http://shop.example{path}"


def strange_urls() -> st.SearchStrategy[str]:
    """What somebody might write for a URL, or might try."""
    # fmt: off
    nasty = ["%", "%2e", "%252e", "%25", "%00", "..", ".", "/", "//", "\\", "?", "#", "@", ":", ";", "&", "=", "+", " ",
             "\t", "\n", "\r", "\x00", "\x7f", "\u200d", "ü", "İ", "ß", "🐚", "'", '"', "<", "|", "[", "]", "{", "^",
             "`", "jsessionid=1", ";JSESSIONID=2", "utm_x=1", "%75tm_y", "/..;gclid=1/", "a", "B", "~"]
    hosts = ["shop.example", "SHOP.example.", "bücher.example", "xn--bcher-kva.example", "i❤.example", "a_b.example",
             "hg--69.example", "127.1", "0x7f000001", "0300.1", "[::1]", "[::ffff:1.2.3.4]", "1.2.3.4.", "a..b",
             "x" * 64, "ＡＢ.example", "xn--", "a%41.example", "shop.example:80", "shop.example:443", "h:0",
             "h:65536"]
    # fmt: on
    tail = st.lists(st.one_of(st.sampled_from(nasty), PIECES), max_size=8).map("".join)
    schemes = st.sampled_from(["http://", "https://", "HTTP:", "https:\\\\", " http:///", "http://me@"])
    return st.builds(
        "{}{}{}{}".format, schemes, st.sampled_from(hosts), st.sampled_from(["", "/", "?", "#"]), tail
    )


def admitted(url: str, drop: Dropping | None = None) -> Address | None:
    try:
        return admit(url, drop)
    except URLRejected:
        return None


@given(strange_urls(), st.sampled_from([None, Dropping([*SESSION_IDS, *TRACKING])]))
def test_canonicalising_twice_changes_nothing(url: str, drop: Dropping | None) -> None:
    once = admitted(url, drop)
    if once is None:
        return
    assert once.canonical.isascii()
    assert "#" not in once.canonical
    once.name.encode("idna")  # as `socket` does
    again = admit(once.canonical, drop)
    assert again.canonical == once.canonical
    assert (again.scheme, again.name, again.port) == (once.scheme, once.name, once.port)
    assert admit(once.canonical).canonical == once.canonical, "what is left is what the standard would leave"


@given(strange_urls())
def test_what_is_stored_as_found_is_the_same_page_and_can_be_shown(url: str) -> None:
    once = admitted(url)
    if once is not None:
        assert admit(once.url).canonical == once.canonical
        assert once.url.isprintable()


PLAIN_TAIL = st.text("abZ09_~!$&()*+,;=:@/.%-?[]|'^ #", max_size=14)


@given(
    st.sampled_from(
        ["shop.example", "1.2.3.4", "1.2.3", "a.0x1", "a..b", "h:80", "h:0", "h:443", "h:99999", "-a_"]
    ),
    PLAIN_TAIL,
)
def test_a_url_that_is_taken_as_it_is_would_not_be_changed_by_the_standard(host: str, tail: str) -> None:
    for scheme in ("http", "https"):
        url = f"{scheme}://{host}/{tail}"
        found = _as_it_is(url)
        if found is not None:
            parsed = URL(url)
            port = int(parsed.port) if parsed.port else {"http": 80, "https": 443}[scheme]
            assert (parsed.href, found) == (url, (scheme, parsed.hostname, port))


def test_most_urls_are_taken_as_they_are() -> None:
    for url in (
        "http://shop.example/",
        "https://a-b.shop.example:8443/p/1.html?page=2&q=a%20b",
        "http://127.0.0.1:8000/x",
    ):
        assert _as_it_is(url) is not None


def test_a_store_says_by_which_version_its_keys_were_made(store: Store) -> None:
    assert store.db.value("SELECT canonicaliser FROM meta") == CANONICALISER_VERSION


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
        ("http://" + "x" * 64 + ".example/", "no host name"),
        ("http://" + "ü" * 60 + ".example/", "no host name"),
        ("http://" + "abc." * 64 + "example/", "no host name"),
        ("http://a..b/", "no host name"),
        ("http://./", "no host name"),
        ("http://a*b.example/", "no host name"),
        ("http://{x}/", "no host name"),
        ("http://xn--pokxncvks.example/", "no host name"),
        ("http://xn--/", "no host name"),
        ("http://1.2.3.256/", "not a URL"),
        ("http://[::1/", "not a URL"),
        ("http://shop.example:65536/", "not a URL"),
    ],
    ids=lambda value: value[:24],
)
def test_what_is_no_page_is_rejected_with_its_reason(url: str, reason: str) -> None:
    with pytest.raises(URLRejected) as rejected:
        admit(url)
    assert rejected.value.reason == reason
    assert "secret" not in str(rejected.value)
    assert len(str(rejected.value)) < 220


@pytest.mark.parametrize(
    "name", ["i❤.example", "a_b.example", "hg--69.example", "-a-.example", "x" * 63, "shop.example."]
)
def test_what_is_admitted_can_be_handed_to_the_resolver(name: str) -> None:
    admit(f"http://{name}/").name.encode("idna")


def test_an_escape_in_a_host_is_decoded_once() -> None:
    assert admit("http://%41.example/").canonical == "http://a.example/"
    with pytest.raises(URLRejected):
        admit("http://%2541.example/")
    assert admit("http://shop.example/%2541").canonical == "http://shop.example/%2541"


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
