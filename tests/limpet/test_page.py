"""Selectors, values that must be there, and links, on the HTML that is out there."""

import copy

import pytest

from limpet import ExtractError, Link, MissingValue, Page
from limpet.links import NoLink
from limpet.missing import Missing
from limpet_store.items import Fetched


def page(body, content_type="text/html", url="http://h.example/dir/page.html", **more):
    body = body if isinstance(body, bytes) else body.encode()
    return Page(Fetched(url, 200, {"content-type": content_type}, body, **more))


def test_one_gives_the_text_of_an_element_with_whitespace_made_plain():
    assert (
        page("<p class=a> one <b>two</b>\n\t<!-- not this -->&nbsp;three </p>").one(".a") == "one two three"
    )


def test_one_gives_a_text_node_or_an_attribute_stripped():
    view = page("<p class=a id=' x '> one <b>two</b></p>")
    assert view.one(".a::text") == "one"
    assert view.one(".a::attr(id)") == "x"


def test_one_looks_at_the_first_match_and_never_borrows_from_the_next():
    view = page("<p class=price></p><p class=price>12</p>")
    assert isinstance(view.one(".price"), Missing)
    assert view.one(".price", None) is None
    assert view.one(".price", 0) == 0


def test_one_and_all_look_below_a_selector():
    view = page("<li><i>a</i><i>b</i></li><li><i>c</i></li><li></li>")
    cards = view.css("li")
    assert [view.one("i", None, of=card) for card in cards] == ["a", "c", None]
    assert view.all("i", of=cards) == ["a", "b"]
    assert view.all("i", of=view.css("nothing")) == []
    assert isinstance(view.one("i", of=view.css("nothing")), Missing)
    with pytest.raises(ExtractError, match="not a selector of an element"):
        view.one("i", of=view.css("i::text")[0])


def test_all_leaves_out_what_is_empty():
    assert page("<i>a</i><i> </i><i>b</i>").all("i::text") == ["a", "b"]


PICKED = (
    '{"a": {"b": [1, null, {"c": "x"}], "d": 0, "e": "", "f": false}, "n": null, "l": [{"s": 1}, {"s": 2}]}'
)


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("a.b[0]", 1),
        ("a.b[-1].c", "x"),
        ("a.d", 0),
        ("a.e", ""),
        ("a.f", False),
        ("l[*].s", [1, 2]),
        ("l[?s > `1`]", [{"s": 2}]),
        ('"n"', None),
        ("a.b[1]", None),
        ("a.b[7]", None),
        ("a.b.c", None),
        ("nowhere.at.all", None),
    ],
)
def test_pick_gives_what_stands_at_a_path_and_null_counts_as_nothing(path, found):
    view = page(PICKED, "application/json")
    if found is None:
        missing = view.pick(path)
        assert isinstance(missing, Missing)
        assert missing.problem == f"nothing at {path!r}"
        assert view.missing == [path]
    else:
        assert view.pick(path) == found
    assert view.pick(path, "other") == ("other" if found is None else found)


def test_pick_looks_in_a_part_and_never_falls_back_to_the_page():
    view = page(PICKED, "application/json")
    part = view.pick("a")
    assert view.pick("d", of=part) == 0
    assert view.pick("[0]", of=view.pick("a.b")) == 1
    for nothing in (None, {}, [], "text", 5):
        assert isinstance(view.pick("a", of=nothing), Missing)
        assert view.pick("a", None, of=nothing) is None
    nowhere = view.pick("nowhere")
    assert view.pick("a", of=nowhere) is nowhere, "the first that is missing is named"


def test_pick_looks_in_a_node_of_structured_data():
    ld = '<script type="application/ld+json">{"@type": "Product", "offers": [{"price": 5}]}</script>'
    view = page(ld)
    assert view.pick("offers[0].price", of=view.jsonld("Product").one()) == 5


def test_pick_names_a_path_that_is_none_and_a_page_that_is_no_json():
    with pytest.raises(ExtractError, match=r"^page.pick: 'a\[' is no JMESPath: column 3"):
        page("{}").pick("a[")
    with pytest.raises(ExtractError, match="calls a function"):
        page("{}").pick("length(a)")
    with pytest.raises(ExtractError, match="not JSON"):
        page("<p>").pick("a")
    with pytest.raises(ExtractError, match=r"of= is a selector; page\.one looks there"):
        page("<p>").pick("a", of=page("<p>").css("p"))
    with pytest.raises(MissingValue, match="cannot be followed here"):
        page('{"l": [{"s": "x"}]}').pick("l[?s > `1`]")


def test_a_missing_value_survives_string_methods():
    missing = page("<p>").one(".sku")
    chain = missing.strip().lower().replace("a", "b").removeprefix("x")[1:].title()
    for value in (chain, "SKU " + missing, missing + "x", str(missing), "%s" % missing, missing * 2):  # noqa: UP031
        assert isinstance(value, Missing)
        assert value.selector == ".sku"
    assert not missing
    assert (missing or "none") == "none"
    assert isinstance(copy.deepcopy(missing), Missing)


@pytest.mark.parametrize(
    "use",
    [
        float,
        int,
        list,
        lambda v: f"SKU-{v}",
        lambda v: f"{v:>10}",
        lambda v: "SKU-{}".format(v),  # noqa: UP032
        lambda v: v.split()[0],
        lambda v: v.partition(":"),
        lambda v: v.encode(),
        lambda v: [1, 2][v],
        len,
        hash,
        lambda v: v == "In stock",
        lambda v: v != "In stock",
        lambda v: "In stock" == v,  # noqa: SIM300
        lambda v: v == page("<p>").one(".sku"),
        lambda v: v < "b",
        lambda v: "a" >= v,  # noqa: SIM300
        lambda v: "new" in v,
        lambda v: v in ["In stock", "Sold out"],
        lambda v: v in {"In stock", "Sold out"},
        lambda v: {"In stock": True}.get(v, False),
        lambda v: v.startswith("SALE"),
        lambda v: v.isdigit(),
    ],
)
def test_a_missing_value_cannot_be_computed_with(use):
    with pytest.raises(MissingValue, match=r"nothing at '\.sku'"):
        use(page("<p>").one(".sku"))


ARGUMENTS = {
    "__contains__": "a", "__format__": "", "__getitem__": 0, "__mul__": 2, "__rmul__": 2, "center": 9, "count": "a",
    "endswith": "a", "find": "a", "format_map": {}, "index": "a", "join": [], "ljust": 9, "partition": "a",
    "removeprefix": "a", "removesuffix": "a", "rfind": "a", "rindex": "a", "rjust": 9, "rpartition": "a",
    "startswith": "a", "translate": {}, "zfill": 9, "__add__": "a", "__mod__": 1, "__rmod__": "a", "__eq__": "a",
    "__ne__": "a", "__lt__": "a", "__le__": "a", "__gt__": "a", "__ge__": "a",
}  # fmt: skip
# What every object has, and what does not look at the text.
OBJECT = set(dir(object)) - {
    "__eq__",
    "__ne__",
    "__lt__",
    "__le__",
    "__gt__",
    "__ge__",
    "__hash__",
    "__str__",
}
HARMLESS = OBJECT | {"__getnewargs__", "maketrans"}


@pytest.mark.parametrize("name", sorted(({*dir(str)} - HARMLESS) | {"__format__"}))
def test_no_method_of_str_computes_with_a_missing_value(name):
    missing = page("<p>").one(".sku")
    arguments = ("a", "b") if name == "replace" else (ARGUMENTS[name],) if name in ARGUMENTS else ()
    try:
        assert isinstance(getattr(missing, name)(*arguments), Missing)
    except MissingValue:
        pass


def test_a_missing_value_is_itself():
    missing = page("<p>").one(".sku")
    assert missing == missing
    assert not missing != missing  # noqa: SIM202
    assert missing in [missing]


def test_a_missing_value_that_leaks_into_another_string_spoils_it():
    missing = page("<p>").one(".sku")
    assert "\0" in "-".join(["a", missing])
    assert "\0" in "%s-%s" % (missing, 1)  # noqa: UP031


@pytest.mark.parametrize("body", ["", "  \n", "<!-- x -->", "<!DOCTYPE html>", "\0"])
@pytest.mark.parametrize("content_type", ["text/html", ""])
def test_an_empty_body_is_an_empty_document(body, content_type):
    view = page(body, content_type)
    assert view.one("p", None) is None
    assert list(view.links()) == []
    assert view.css("p").getall() == []


def test_an_empty_xml_body_is_an_empty_document():
    assert page("", "text/xml").all("item") == []


def test_nul_bytes_do_not_cut_the_document():
    view = page(b"<p>a\0b</p><p id='x\0y'>c</p>")
    assert view.all("p") == ["ab", "c"]
    assert view.one("p::attr(id)") == "xy"


def test_invalid_bytes_do_not_cut_the_document():
    view = page(b"<p>\xff a</p><p>b</p>", "text/html; charset=utf-8")
    assert view.all("p") == ["\ufffd a", "b"]


@pytest.mark.parametrize("codec", ["utf-8-sig", "utf-16", "cp1251", "shift_jis", "koi8-r", "gb18030"])
def test_a_document_is_read_in_its_own_encoding(codec):
    label = "" if codec in ("utf-8-sig", "utf-16") else f"; charset={codec.replace('cp', 'windows-')}"
    view = page("<title>Цена</title><p>end</p>".encode(codec), "text/html" + label)
    assert view.one("title") == "Цена"
    assert view.one("p") == "end"
    assert view.text.startswith("<title>Цена")


def test_a_meta_does_not_overrule_the_header_in_the_parser():
    view = page("<meta charset=windows-1252><p>é</p>", "text/html; charset=utf-8")
    assert view.one("p") == "é"


def test_a_thousand_levels_are_read_to_the_end():
    assert page("<div>" * 1000 + "deep" + "</div>" * 1000 + "<p>tail</p>").one("p") == "tail"


@pytest.mark.parametrize("levels", [3000, 50_000])
def test_a_document_that_the_parser_would_cut_is_an_error(levels):
    view = page("<p>head</p>" + "<div>" * levels + "</div>" * levels + "<p>tail</p>")
    with pytest.raises(ExtractError, match="nested too deeply"):
        view.one("p")
    with pytest.raises(ExtractError, match="nested too deeply"):
        view.css("p")


def test_css_and_xpath_are_parsels():
    view = page("<ul><li>1<li>2</ul>")
    assert view.css("li::text").getall() == ["1", "2"]
    assert view.xpath("//li[text()=$n]/text()", n="2").get() == "2"
    assert view.css("li").re(r"\d") == ["1", "2"]


def test_a_feed_is_read_as_xml():
    feed = '<?xml version="1.0"?><rss><channel><item><link>http://h/1</link><Title>A</Title></item></channel></rss>'
    view = page(feed, "application/rss+xml")
    assert view.one("item > link") == "http://h/1"
    assert view.one("Title") == "A"
    assert view.one("title", None) is None


def test_entities_in_xml_reach_no_file():
    view = page('<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]><r><a>&x;</a></r>', "text/xml")
    with pytest.raises(ExtractError, match="Entity 'x' not defined"):
        view.one("a", None)


def test_xml_that_is_cut_short_is_an_error_and_not_a_shorter_page():
    with pytest.raises(ExtractError, match="not well-formed XML"):
        page("<rss><item>1</item><item>2", "text/xml").all("item")


def test_json_is_read_and_what_is_none_is_an_error():
    assert page('\ufeff{"a": ["é"]}', "application/json").json() == {"a": ["é"]}
    assert page('{"a": "é"}'.encode("latin-1"), "application/json; charset=latin1").json() == {"a": "é"}
    with pytest.raises(ExtractError, match="not JSON"):
        page("<p>", "application/json").json()


def test_is_html_goes_by_the_header_and_else_by_the_first_character():
    assert page("", "Text/HTML; charset=x").is_html
    assert page("", "application/xhtml+xml").is_html
    assert page("\n<p>", "").is_html
    assert not page("<p>", "image/png").is_html
    assert not page("%PDF", "").is_html


def test_a_relative_link_starts_from_the_page():
    assert page("<a href='../x'>").link("../x?y#z") == Link("http://h.example/x?y#z")


def test_a_link_carries_handler_data_and_priority():
    def product(page): ...

    link = page("").link("/x", to=product, data={"a": 1}, priority=3)
    assert link == Link("http://h.example/x", "product", {"a": 1}, 3)
    assert page("").link("/x", to="other").to == "other"


def test_a_link_is_made_from_a_selector_or_the_first_of_a_list():
    view = page("<a href=/1>1</a><a href=/2>2</a><a name=x>3</a>")
    assert view.link(view.css("a")).url == "http://h.example/1"
    assert view.link(view.css("a")[1]).url == "http://h.example/2"
    assert view.link(view.css("a::attr(href)")[1]).url == "http://h.example/2"
    for nothing in (view.css("b"), view.css("a")[2], view.one("b"), view.one("b", "")):
        link = view.link(nothing)
        assert isinstance(link, NoLink)
        assert not link.url


def test_a_link_from_something_else_is_the_handlers_error():
    with pytest.raises(ExtractError, match="not dict"):
        page("").link({"href": "/x"})


@pytest.mark.parametrize(
    ("href", "url"),
    [
        ("\n  x  y\t.html \r", "http://h.example/dir/x%20%20y.html"),
        ("//other.example/a", "http://other.example/a"),
        ("?q=1", "http://h.example/dir/page.html?q=1"),
        ("HTTPS://Other.Example:443/a/../b", "https://other.example/b"),
        ("http:x", "http://h.example/dir/x"),
        ("\\a\\b", "http://h.example/a/b"),
        ("/é?ü=ö", "http://h.example/%C3%A9?%C3%BC=%C3%B6"),
        ("http://bücher.example/", "http://xn--bcher-kva.example/"),
        ("/a&amp;b", "http://h.example/a&b"),
    ],
)
def test_a_link_is_resolved_as_browsers_do(href, url):
    assert [link.url for link in page(f'<a href="{href}">').links()] == [url]


@pytest.mark.parametrize(
    "href",
    ["javascript:void(0)", " JavaScript:x", "mailto:a@b", "tel:1", "data:text/html,x", "#top", "", " "],
)
def test_what_was_never_a_page_is_ignored_silently(href):
    (link,) = page(f'<a href="{href}">').links()
    assert link == NoLink(reason="")


@pytest.mark.parametrize(
    ("href", "reason"),
    [
        ("http://[::1", "malformed"),
        ("//a b/", "malformed"),
        ("http://a:99999/", "malformed"),
        ("ftp://a/", "scheme"),
    ],
)
def test_a_bad_link_costs_one_link(href, reason):
    links = list(page(f'<a href="{href}"><a href="/good">').links())
    assert links == [NoLink(reason=reason), Link("http://h.example/good")]


def test_a_lone_surrogate_in_a_link_is_malformed():
    assert page("").link("/\ud800") == NoLink(reason="malformed")


def test_the_first_base_counts_and_one_in_a_comment_does_not():
    head = "<!-- <base href='/no/'> --><base target=x><base href=' /yes/ '><base href='/late/'>"
    assert page(f"<head>{head}</head><a href=x>").base == "http://h.example/yes/"
    assert [link.url for link in page(f"<head>{head}</head><a href=x>").links()] == ["http://h.example/yes/x"]


@pytest.mark.parametrize("href", ["http://[", "javascript:x", "", "data:,x", "ftp://x/"])
def test_a_base_that_is_none_is_the_page_itself(href):
    assert page(f"<base href='{href}'><a href=x>").base == "http://h.example/dir/page.html"


def test_a_query_is_sent_in_the_documents_encoding():
    view = page("<a href='/п?q=цена&x=1#ц'>".encode("cp1251"), "text/html; charset=windows-1251")
    assert next(view.links()).url == "http://h.example/%D0%BF?q=%F6%E5%ED%E0&x=1#%D1%86"


def test_links_take_a_selector_and_leave_out_what_has_no_href():
    view = page("<a href=/1>1</a><a name=x>2</a><link href=/3 rel=next><iframe src=/4></iframe>")
    assert [link.url for link in view.links("a, link")] == ["http://h.example/1", "http://h.example/3"]
    assert [link.url for link in view.links("iframe::attr(src)")] == ["http://h.example/4"]


def test_a_page_has_what_was_fetched():
    view = page("x", depth=3, data={"a": 1})
    assert (view.url, view.status, view.depth, view.data) == (
        "http://h.example/dir/page.html",
        200,
        3,
        {"a": 1},
    )
    assert view.headers["content-type"] == "text/html"
    assert view.body == b"x"
    assert view.params == {}
