"""What a site accepts, which handler a page goes to, and what comes of running it."""

import gc
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from enum import IntEnum
from pathlib import Path
from typing import Any

import pytest

import limpet
from limpet import ExtractError, Link, Page, Record, Site, SiteError
from limpet_consumers.runtime import Knobs, SiteRuntime
from limpet_store.items import Extracted, Fetched, Rejection

SEEDS = ["http://h.example/"]


def run(handler, body=b"", *, url="http://h.example/x/1", pattern="/x/{n}", data=None, max_links=None):
    site = Site("t", SEEDS)
    site.page(pattern)(handler)
    if max_links:
        site.tune(max_links=max_links)
    headers = {"content-type": "text/html"}
    return site.extract(Fetched(url, 200, headers, body, handler=handler.__name__, data=data))


def test_a_site_is_what_the_engine_asks_for():
    site: SiteRuntime = Site("shop", ["HTTP://Shop.example/a"], hosts=["CDN.Shop.example", "x.example:8080"])
    assert site.name == "shop"
    assert site.hosts == {"cdn.shop.example", "x.example:8080"}
    assert (site.delay, site.max_in_flight, site.allow_private, site.robots) == (None, 1, False, True)
    assert site.headers == {}
    assert site.knobs == Knobs()
    assert site.codes() == {}
    assert site.code(None) == ""


def test_a_default_port_is_no_part_of_a_host():
    assert Site("t", [], hosts=["a.example:443", "b.example:80"]).hosts == {"a.example", "b.example"}


def test_the_user_agent_is_honest_and_can_be_replaced():
    assert Site("t", SEEDS).user_agent == f"limpet/{limpet.__version__}"
    assert (
        Site("t", SEEDS, contact="me@h.example").user_agent == f"limpet/{limpet.__version__} (+me@h.example)"
    )
    assert Site("t", SEEDS, user_agent="other/1").user_agent == "other/1"


def test_the_version_is_that_of_the_package():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    assert limpet.__version__ == project["project"]["version"]


def test_the_public_names_are_there():
    assert len(set(limpet.__all__)) == len(limpet.__all__)  # the linter keeps their order
    assert all(hasattr(limpet, name) for name in limpet.__all__)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"name": "Shop"}, "name 'Shop'"),
        ({"name": ""}, "name ''"),
        ({"name": "a" * 64}, "at most 63"),
        ({"name": "a\n"}, "name"),
        ({"name": None}, "name None"),
        ({"seeds": "http://h.example/"}, "seeds: a list"),
        ({"seeds": None}, "seeds: a list"),
        ({"seeds": ["/list/0"]}, "seed '/list/0'"),
        ({"seeds": ["ftp://h/"]}, "seed 'ftp://h/'"),
        ({"seeds": ["http://"]}, "seed 'http://'"),
        ({"seeds": [None]}, "seed None"),
        ({"seeds": []}, "nothing in scope"),
        ({"hosts": "h.example"}, "hosts: a list"),
        ({"hosts": ["http://h.example/"]}, "host 'http://h.example/'"),
        ({"hosts": [""]}, "host ''"),
        ({"delay": -1}, "delay -1"),
        ({"delay": float("nan")}, "delay nan"),
        ({"delay": float("inf")}, "delay inf"),
        ({"delay": "1"}, "delay '1'"),
        ({"delay": True}, "delay True"),
        ({"max_in_flight": 0}, "max_in_flight 0"),
        ({"max_in_flight": 1.5}, "max_in_flight 1.5"),
        ({"allow_private": "no"}, "allow_private 'no'"),
        ({"robots": None}, "robots None"),
        ({"headers": {"X": "a\r\nY: b"}}, "header 'X'"),
        ({"headers": {"X Y": "a"}}, "header 'X Y'"),
        ({"headers": {"user-agent": "a"}}, "user_agent="),
        ({"headers": {"content-length": "5"}}, "header 'content-length': it belongs to the connection"),
        ({"headers": {"Host": "other.example"}}, "header 'Host': it belongs to the connection"),
        ({"headers": ["X"]}, "headers: a dict"),
        ({"user_agent": ""}, "user_agent"),
        ({"user_agent": "a\nb"}, "user_agent"),
        ({"contact": "a\nb"}, "contact"),
    ],
)
def test_a_wrong_argument_is_refused_in_one_line(arguments, words):
    with pytest.raises(SiteError) as caught:
        Site(**{"name": "t", "seeds": SEEDS, **arguments})
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_everything_that_is_wrong_is_said_at_once():
    with pytest.raises(SiteError, match=r"name 'A'.*seed 'x'.*delay -1.*max_in_flight 0"):
        Site("A", ["x"], delay=-1, max_in_flight=0)


def test_tune_changes_the_named_knobs_and_gives_nothing():
    site = Site("t", SEEDS)
    assert site.tune(lease=5, threads=0) is None
    site.tune(group=2)
    assert site.knobs == Knobs(lease=5, group=2)


@pytest.mark.parametrize("first", ["tune", "login"])
def test_what_is_tuned_holds_whatever_a_login_or_a_transport_usually_has(first):
    usual = Site("t", SEEDS, transport=object)
    assert (usual.knobs.slice, usual.knobs.threads) == (600.0, 1)
    usual.tune(threads=0)
    assert (usual.knobs.slice, usual.knobs.threads) == (600.0, 0)
    site = Site("t", SEEDS)
    steps = {"tune": lambda: site.tune(slice=30.0), "login": lambda: site.login(lambda session: None)}
    steps.pop(first)()
    for step in steps.values():
        step()
    assert site.knobs == Knobs(slice=30.0)


@pytest.mark.parametrize(
    ("knobs", "words"),
    [
        ({"leese": 5}, "did you mean 'lease'"),
        ({"max_link": 5}, "did you mean 'max_links'"),
        ({"lease": 0}, "above 0"),
        ({"lease": -1}, "above 0"),
        ({"lease": float("nan")}, "a number"),
        ({"lease": "20"}, "a number"),
        ({"group": 1.5}, "a whole number"),
        ({"threads": True}, "a whole number"),
    ],
)
def test_a_wrong_knob_is_refused_and_changes_nothing(knobs, words):
    site = Site("t", SEEDS)
    with pytest.raises(SiteError, match=words):
        site.tune(**knobs)
    assert site.knobs == Knobs()


def test_the_first_pattern_that_fits_wins():
    site = Site("t", SEEDS)

    @site.page("/product/new")
    def newest(page): ...

    @site.page("/product/{n}")
    @site.page("/p/{n}")
    def product(page): ...

    assert site.match("http://h.example/product/new") == "newest"
    assert site.match("http://h.example/product/7?x=1") == "product"
    assert site.match("http://h.example/p/7") == "product"
    assert site.match("http://h.example/other") is None
    assert set(site.codes()) == {"newest", "product"}


def test_a_second_handler_of_the_same_name_is_refused():
    site = Site("t", SEEDS)
    site.page("/a")(test_the_first_pattern_that_fits_wins)
    site.page("/b")(test_the_first_pattern_that_fits_wins)
    namesake = lambda page: None  # noqa: E731
    namesake.__name__ = "test_the_first_pattern_that_fits_wins"
    with pytest.raises(SiteError, match="a second handler"):
        site.page("/c")(namesake)


def test_an_async_handler_is_refused():
    async def product(page): ...

    with pytest.raises(SiteError, match="plain function"):
        Site("t", SEEDS).page("/a")(product)


def test_a_page_without_a_handler_gives_nothing():
    assert Site("t", SEEDS).extract(Fetched("http://h.example/", 200, {}, b"<a href=x>")) == Extracted()


def test_a_handler_that_is_gone_is_an_error_of_the_page():
    with pytest.raises(ExtractError, match="no handler of this name"):
        Site("t", SEEDS).extract(Fetched("http://h.example/", 200, {}, b"", handler="old"))


def test_params_are_those_of_the_handlers_own_pattern():
    seen = []
    site = Site("t", SEEDS)
    site.page("/{any:path}")(lambda page: None)

    @site.page("/b/{m}")
    @site.page("/a/{n}")
    def chosen(page):
        seen.append(dict(page.params))

    for url in ("http://h.example/a/1", "http://h.example/b/2", "http://h.example/elsewhere"):
        site.extract(Fetched(url, 200, {}, b"", handler="chosen"))
    assert seen == [{"n": "1"}, {"m": "2"}, {}]


RECORD = Record("product", "7", {"a": 1})
LINK = Link("http://h.example/2")


@pytest.mark.parametrize(
    "give", [lambda page: RECORD, lambda page: [RECORD], lambda page: (RECORD,), lambda page: iter([RECORD])]
)
def test_a_handler_may_return_one_item_or_several(give):
    give.__name__ = "give"
    assert run(give).records == [RECORD]


def test_a_handler_may_return_nothing():
    def give(page): ...

    assert run(give) == Extracted([], [], [], {})


@pytest.mark.parametrize("item", ["text", b"bytes", {"a": 1}, 7, object(), ["x"], None])
def test_anything_else_is_an_error_that_names_handler_and_type(item):
    def give(page):
        yield RECORD
        yield item

    with pytest.raises(ExtractError, match=f"give: gave a {type(item).__name__}"):
        run(give)


@pytest.mark.parametrize("item", ["text", b"bytes", {"a": 1}, 7])
def test_returning_something_else_is_an_error_too(item):
    def give(page):
        return item

    with pytest.raises(ExtractError, match=f"give: gave a {type(item).__name__}"):
        run(give)


def test_records_and_links_keep_their_order_and_dropped_links_are_counted():
    def give(page):
        yield from page.links()
        yield page.link(page.css("nothing"))
        yield RECORD

    found = run(give, b"<a href=/2><a href='http://['><a href=ftp://x/><a href=mailto:a@b><a href=/1>")
    assert [link.url for link in found.links] == ["http://h.example/2", "http://h.example/1"]
    assert found.dropped == {"malformed": 1, "scheme": 1, "no link": 1}
    assert found.records == [RECORD]


class Size(IntEnum):
    BIG = 2


def test_a_record_is_made_of_plain_types_and_a_copy():
    row = {"sizes": (Size.BIG, 2.5), "deep": [{"a": None, "b": True}]}

    def give(page):
        row["n"] = 1
        yield Record(" product ", " 7\n", row, part=" listing ")
        row["n"] = 2
        yield Record("product", 8, row)

    first, second = run(give).records
    assert first == Record(
        "product", "7", {"sizes": [2, 2.5], "deep": [{"a": None, "b": True}], "n": 1}, "listing"
    )
    assert type(first.data["sizes"][0]) is int
    assert (second.key, second.data["n"]) == (8, 2)


SELF: list = []
SELF.append(SELF)


class Unprintable:
    def __repr__(self):
        raise RuntimeError


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (Record("", "7"), "type: empty"),
        (Record(None, "7"), "type: NoneType"),
        (Record("p", ""), "key: empty"),
        (Record("p", " \xa0\n"), "key: empty"),
        (Record("p", None), "key: there is none"),
        (Record("p", "NaN"), "key: 'NaN' is what a missing value looks like"),
        (Record("p", ["1", " "]), "key: empty"),
        (Record("p", []), "key: an empty list"),
        (Record("p", True), "key: bool"),
        (Record("p", 1.0), "key: float"),
        (Record("p", float("nan")), "key: float"),
        (Record("p", 2**64), "key: a number"),
        (Record("p", "a\0"), "key: holds a NUL"),
        (Record("p", "\ud800"), "key: holds a lone surrogate"),
        (Record("p\ud800", "7"), "type: holds a lone surrogate"),
        (Record("p", "7", [1]), "data: list is not a dict"),
        (Record("p", "7", {1: "a"}), "data: the key 1 is not a string"),
        (Record("p", "7", {"a": {None: 1}}), "data.a: the key None"),
        (Record("p", "7", {"a": [float("nan")]}), "data.a[0]: nan"),
        (Record("p", "7", {"a": float("-inf")}), "data.a: -inf"),
        (Record("p", "7", {"a": "x\ud800"}), "data.a: holds a lone surrogate"),
        (Record("p", "7", {"a\ud800": 1}), "data: a key: holds a lone surrogate"),
        (Record("p", "7", {"a": "x\0"}), "data.a: holds a NUL"),
        (Record("p", "7", {"a": {1, 2}}), "data.a: set is not JSON"),
        (Record("p", "7", {"a": b"x"}), "data.a: bytes is not JSON"),
        (Record("p", "7", {"a": Unprintable()}), "data.a: Unprintable is not JSON"),
        (Record("p", "7", {"a": 10**5000}), "data.a: a number of more"),
        (Record("p", "7", {"a": SELF}), "nested deeper than 100"),
        (Record("p", "7", {}, part=" "), "part: empty"),
        (Record("p", "7", {}, part=None), "part: NoneType"),
    ],
)
def test_a_record_that_cannot_be_stored_costs_itself_alone(bad, reason):
    def give(page):
        yield bad
        yield RECORD

    found = run(give)
    assert found.records == [RECORD]
    (rejection,) = found.rejections
    assert reason in rejection.reason
    for text in (rejection.type, rejection.key, rejection.reason, rejection.value):
        assert isinstance(text, str)
        assert len(text) <= 200
        assert "\0" not in text
        text.encode()


def test_a_missing_value_rejects_the_record_it_is_in_and_no_more():
    def give(page):
        for card in page.css("li"):
            data = {"price": page.one(".price", of=card), "note": page.one(".note", None, of=card)}
            yield Record("item", page.one(".sku", of=card), data)

    body = b"<li><b class=sku>1</b><i class=price>5</i><li><b class=sku>2</b><li><i class=price>7</i>"
    found = run(give, body)
    assert found.records == [Record("item", "1", {"price": "5", "note": None})]
    assert found.rejections == [
        Rejection("item", "2", "data.price: nothing at '.price'", field="price"),
        Rejection("item", "", "key: nothing at '.sku'", field="key"),
    ]


def test_a_missing_value_deep_in_the_data_or_leaked_into_a_string_rejects_too():
    def give(page):
        yield Record("p", "1", {"a": [{"b": page.one("x")}]})
        yield Record("p", "2", {"a": "-".join(["n", page.one("x")])})
        yield Record("p", "3-" + page.one("x"))
        yield Record("p", "4", part=page.one("x"))
        yield Record(page.one("x"), "5")

    assert [r.key for r in run(give).rejections] == ["1", "2", "", "4", "5"]


def test_a_comparison_with_a_missing_value_stores_nothing():
    def give(page):
        yield RECORD
        yield Record("p", "8", {"in_stock": page.one(".stock") == "In stock"})

    found = run(give)
    assert found.records == [RECORD]
    assert found.rejections == [Rejection("", "", "give ended early: nothing at '.stock'")]


def test_a_link_of_missing_values_is_rejected_alone():
    def give(page):
        yield Link(page.one("x"))
        yield Link("http://h.example/2", page.one("x"))
        yield RECORD

    found = run(give)
    assert found.records == [RECORD]
    assert [r.reason for r in found.rejections] == [
        "link not followed: url: nothing at 'x'",
        "link not followed: to: nothing at 'x'",
    ]


def test_a_missing_value_that_is_computed_with_ends_the_handler_and_keeps_what_came_before():
    def give(page):
        yield RECORD
        yield Record("p", "2", {"price": float(page.one(".price"))})
        yield Record("p", "3")

    found = run(give)
    assert found.records == [RECORD]
    assert found.rejections == [Rejection("", "", "give ended early: nothing at '.price'")]


def test_a_missing_value_handed_down_rejects_the_link_alone():
    def give(page):
        yield page.link("/2", data={"price": page.one(".price")})
        yield page.link("/3")

    found = run(give)
    assert [link.url for link in found.links] == ["http://h.example/3"]
    assert found.rejections[0].key == "http://h.example/2"
    assert "nothing at '.price'" in found.rejections[0].reason


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ({"a": float("nan")}, "data.a: nan"),
        ({"a": {1}}, "data.a: set"),
        ({"a": "\ud800"}, "lone surrogate"),
        ("x" * 16_383, "16385 bytes"),
        ({1: 2}, "not a string"),
    ],
)
def test_data_that_cannot_be_handed_down_is_an_error_that_names_the_handler(data, reason):
    def give(page):
        yield page.link("/2", data=data)

    with pytest.raises(ExtractError, match=f"give: link to http://h.example/2: .*{reason}"):
        run(give)


def test_data_of_just_16_kb_is_handed_down():
    assert run(lambda_named(lambda page: page.link("/2", data="x" * 16_382))).links[0].data == "x" * 16_382


def lambda_named(function):
    function.__name__ = "give"
    return function


@pytest.mark.parametrize(
    ("link", "reason"),
    [
        (Link("/2"), "not an absolute"),
        (Link(None), "not an absolute"),
        (Link("http://h/", to="nobody"), "no handler 'nobody'"),
        (Link("http://h/", to=print), "the name of a handler"),
        (Link("http://h/", priority="1"), "priority"),
        (Link("http://h/\ud800"), "lone surrogate"),
    ],
)
def test_a_link_made_by_hand_is_checked(link, reason):
    with pytest.raises(ExtractError, match=reason):
        run(lambda_named(lambda page: [link]))


def test_the_first_link_to_a_page_wins_and_the_others_do_not_count():
    body = b"<a href=/1#a><a href=/1#b><a href=/2><a href=/1>"
    found = run(lambda_named(lambda page: page.links()), body, max_links=2)
    assert [link.url for link in found.links] == ["http://h.example/1#a", "http://h.example/2"]


def test_pages_are_read_in_many_threads_at_once():
    def give(page):
        yield Record("p", page.one(".sku"), {"words": page.all("i")})

    site = Site("t", SEEDS)
    site.page("/{n}")(give)

    def read(n):
        body = f"<b class=sku>{n}</b>" + f"<i>{n}</i>" * 20
        return site.extract(Fetched(f"http://h.example/{n}", 200, {}, body.encode(), handler="give")).records

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(read, range(400)))
    assert found == [[Record("p", str(n), {"words": [str(n)] * 20})] for n in range(400)]


@pytest.mark.parametrize("handler", [print, "product", None, Site("t", SEEDS).match])
def test_what_is_no_plain_function_is_no_handler(handler):
    with pytest.raises(SiteError, match="plain function"):
        Site("t", SEEDS).page("/a")(handler)


def test_too_many_links_are_a_failure_and_not_fewer_links():
    body = b"<a href=/1><a href=/2><a href=/3>"
    assert len(run(lambda_named(lambda page: page.links()), body, max_links=3).links) == 3
    with pytest.raises(ExtractError, match="give: links to more than 2 pages"):
        run(lambda_named(lambda page: page.links()), body, max_links=2)


def helper(text):
    return int(text)


def test_an_exception_becomes_an_error_with_the_lines_of_the_site_file():
    def give(page):
        yield RECORD
        yield Record("p", "1", {"n": helper("twelve")})

    with pytest.raises(ExtractError) as caught:
        run(give)
    text = str(caught.value)
    assert text.startswith("give: ValueError: invalid literal for int()")
    assert "test_site.py:" in text
    assert "in helper: return int(text)" in text
    assert 'in give: yield Record("p", "1", {"n": helper("twelve")})' in text
    assert "extract.py" not in text
    assert isinstance(caught.value.__cause__, ValueError)


def test_an_error_after_something_was_missing_says_so():
    def give(page):
        page.one(".sku")
        raise KeyError

    with pytest.raises(ExtractError, match=r"nothing was found at '\.sku'"):
        run(give)


def test_a_handler_that_exits_fails_its_page_and_not_the_worker():
    def give(page):
        yield RECORD
        sys.exit(3)

    with pytest.raises(
        ExtractError, match=r"^give: SystemExit: 3\n  test_site.py:\d+ in give: sys.exit\(3\)$"
    ):
        run(give)


def test_an_error_of_the_page_itself_names_the_handler():
    def give(page):
        yield RECORD
        page.json()

    with pytest.raises(
        ExtractError, match=r"^give: not JSON: [^\n]*\n  test_site.py:\d+ in give: page.json\(\)$"
    ):
        run(give)


def test_a_bad_selector_is_an_error_of_the_handler():
    with pytest.raises(ExtractError, match=r"give: .*SelectorSyntaxError"):
        run(lambda_named(lambda page: page.one("p[")), b"<p>")


def test_an_exceptions_text_is_made_fit_for_every_store():
    def give(page):
        raise ValueError("a\0\ud800" + "x" * 10_000)

    with pytest.raises(ExtractError) as caught:
        run(give)
    str(caught.value).encode()
    assert "\0" not in str(caught.value)
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_what_ends_a_process_passes_through(error):
    def give(page):
        yield RECORD
        raise error

    with pytest.raises(error):
        run(give)


def test_a_handler_that_is_cut_short_still_runs_its_finally():
    ended = []

    def give(page):
        try:
            yield "no record"
        finally:
            ended.append(True)

    with pytest.raises(ExtractError):
        run(give)
    gc.collect()
    assert ended == [True]


def test_a_page_whose_json_ld_is_broken_is_not_taken_for_one_without_records():
    def give(page):
        for node in page.jsonld("Product"):
            yield Record("product", node["sku"])

    broken = b'<script type="application/ld+json">{"@type": "Product", "sku": </script>'
    (rejection,) = run(give, broken).rejections
    assert "JSON-LD" in rejection.reason
    assert run(give, b"<p>").rejections == []


@pytest.mark.parametrize(
    ("given", "ms"),
    [("24h", 86_400_000), ("90s", 90_000), ("5m", 300_000), (3600, 3_600_000), ("1d", 86_400_000)],
)
def test_a_refresh_period_is_a_text_or_seconds(given: str | float, ms: int) -> None:
    site = Site("t", SEEDS)

    @site.page("/p/{n}", refresh=given)
    def product(page: Page) -> None: ...

    @site.page("/{rest:path}")
    def other(page: Page) -> None: ...

    assert site.periods is not None
    assert site.periods.longest == ms
    assert site.periods.of(None, "https://shop.example/p/1") == ms
    assert site.periods.of(None, "https://shop.example/x") == 0
    assert site.periods.of("product", "https://shop.example/x") == ms, "its link named the handler"
    assert site.periods.of("other", "https://shop.example/p/1") == 0


def test_without_a_period_there_are_none() -> None:
    site = Site("t", SEEDS)

    @site.page("/p/{n}")
    def product(page: Page) -> None: ...

    assert site.periods is None


def test_each_pattern_of_a_handler_has_its_own_period() -> None:
    site = Site("t", SEEDS)

    @site.page("/sale/{n}", refresh="1h")
    @site.page("/p/{n}", refresh="7d")
    def product(page: Page) -> None: ...

    assert site.periods is not None
    assert site.periods.of(None, "https://shop.example/sale/1") == 3_600_000
    assert site.periods.of("product", "https://shop.example/p/1") == 7 * 86_400_000


@pytest.mark.parametrize("wrong", ["", "h", "0", "-1h", "1x", True, 0.5, "400d", [1], "nan"])
def test_a_refresh_period_that_is_none_is_refused(wrong: Any) -> None:
    with pytest.raises(SiteError, match=r"refresh .*1 s to a year"):
        Site("t", SEEDS).page("/p/{n}", refresh=wrong)


def test_an_order_is_breadth_or_depth() -> None:
    with pytest.raises(SiteError, match="order 'random': one of 'breadth', 'depth'"):
        Site("t", SEEDS, order="random")
