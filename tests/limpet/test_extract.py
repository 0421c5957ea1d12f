"""What is wrong with one record costs that record, and what is wrong with a handler says where."""

import math

import pytest

from limpet import ExtractError, Record, Site
from limpet_consumers.step import prepare
from limpet_store.failures import HANDLER, UNREADABLE
from limpet_store.items import Fetched

HERE = "http://h.example/x"


def extract(handler, body=b"<p>x</p>", content_type="text/html"):
    site = Site("t", [HERE])
    site.page("/x")(handler)
    return site.extract(Fetched(HERE, 200, {"content-type": content_type}, body, handler.__name__))


def stored(*records):
    def give(page):
        yield from records
        yield Record("last", "ok", {"a": 1})

    return prepare("t", extract(give))


def nested(depth):
    value = []
    for _ in range(depth):
        value = [value]
    return value


ABSENT = ["", " \n", "\u00a0\u2003", "\u200b\ufeff", "\u00ad", None, [], ["a", ""], ["a", None], ["\u200b"]]
STRANGE = [
    math.nan,
    "NaN",
    "None",
    "null",
    True,
    [1, True],
    1.5,
    {},
    b"a",
    "a\ud800",
    "a\0",
    2**63,
    -(2**63),
    2**64,
]


@pytest.mark.parametrize("key", [*ABSENT, *STRANGE, "x" * 1001])
def test_a_key_that_is_none_costs_its_record_alone(key):
    parts, rejections = stored(Record("thing", key, {"a": 1}))
    assert [part.key for part in parts] == ["ok"]
    assert [(each.type, each.field) for each in rejections] == [("thing", "key")]


@pytest.mark.parametrize("key", ["\u00e9", "\u0645\u200c", "x" * 1000, 0, -5, 2**63 - 1, ["a", 1], " a "])
def test_a_key_with_something_in_it_is_one(key):
    assert len(stored(Record("thing", key, {"a": 1}))[0]) == 2


@pytest.mark.parametrize(
    "value",
    [
        math.nan,
        -math.inf,
        10**400,
        "\udc00",
        "x\0",
        nested(200),
        {1},
        b"x",
        {1: 2},
        {"\udc00": 1},
        {"a\0": 1},
        object(),
    ],
)
def test_data_that_is_no_json_costs_its_record_alone(value):
    parts, rejections = stored(Record("thing", "k", {"a": {"b": value}}))
    assert [part.key for part in parts] == ["ok"]
    assert [(each.type, each.key) for each in rejections] == [("thing", "k")]
    assert "data" in rejections[0].reason


@pytest.mark.parametrize("value", [2**64, nested(50), "x" * 2_000_000, 1e308, -0.0, ""])
def test_data_that_is_json_is_stored(value):
    assert len(stored(Record("thing", "k", {"a": value}))[0]) == 2


def test_one_key_twice_with_other_data_is_reported_also_where_it_is_spelled_differently():
    parts, rejections = stored(
        Record("thing", "\u00e9", {"a": 1}),
        Record("thing", "e\u0301 ", {"a": 2}),
        Record("thing", 5, {"a": 1}),
        Record("thing", "5", {"a": 1}),
    )
    assert len(parts) == 3
    assert [each.reason for each in rejections] == ["twice on one page, with different data"]


def test_a_missing_value_rejects_its_record_and_names_its_selector():
    def give(page):
        yield Record("thing", page.one("h2"), {})
        yield Record("thing", "k", {"price": page.one(".price")})
        yield Record("last", page.one("p"), {})

    found = extract(give)
    assert [each.key for each in found.records] == ["x"]
    assert [each.reason for each in found.rejections] == [
        "key: nothing at 'h2'",
        "data.price: nothing at '.price'",
    ]


@pytest.mark.parametrize("read", ["one", "all", "css", "number", "links"])
def test_a_selector_that_is_none_is_named(read):
    def give(page):
        list(getattr(page, read)("p[" + "x"))

    with pytest.raises(ExtractError, match=r"give: 'p\[x' is no CSS selector: ") as failed:
        extract(give)
    assert failed.value.kind == HANDLER


def test_a_page_that_cannot_be_read_is_told_from_a_handler_that_failed():
    def reads(page):
        page.one("h1")

    def fails(page):
        raise KeyError("x")

    with pytest.raises(ExtractError, match=r"reads: no HTML or XML, but JSON") as failed:
        extract(reads, b"{}", "application/json")
    assert failed.value.kind == UNREADABLE
    with pytest.raises(ExtractError, match="fails: KeyError") as failed:
        extract(fails)
    assert failed.value.kind == HANDLER
