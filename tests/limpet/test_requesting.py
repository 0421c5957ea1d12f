"""Requests in handlers and for seeds: their arguments, what is refused, and what a missing value costs."""

import inspect
import re

import pytest

from limpet import ExtractError, Link, Page, Record, Site, UsageError, arguments, graphql, request, secret
from limpet_store.items import Fetched, Rejection

API = "http://h.example/api"


def run(handler):
    site = Site("t", ["http://h.example/"])
    site.page("/")(handler)
    headers = {"content-type": "text/html"}
    return site.extract(Fetched("http://h.example/", 200, headers, b"<p>there</p>", handler=handler.__name__))


def test_what_pages_take_is_what_request_takes():
    given = inspect.signature(request).parameters
    assert arguments.Asked.__annotations__.keys() == given.keys() - {"url"}
    assert arguments.Sent.__annotations__.keys() == given.keys() - {"url", "key"}
    made_by_graphql = {"method", "json", "form", "body", "safe"}
    assert arguments.Keyed.__annotations__.keys() == given.keys() - {"url"} - made_by_graphql


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda page: page.request(API, headrs={}), "page.request() has no argument 'headrs'; did you mean 'headers'?"),
        (lambda page: page.follow(API, key="a", mehtod="GET"),
         "page.follow() has no argument 'mehtod'; did you mean 'method'?"),
        (lambda page: page.graphql(API, "{ a }", varables={}),
         "page.graphql() has no argument 'varables'; did you mean 'variables'?"),
        (lambda page: page.graphql(API, "{ a }", json={}), "page.graphql() has no argument 'json'; there are: data, "),
        (lambda page: graphql(API, "{ a }", savings=1), "graphql() has no argument 'savings'; there are: data, "),
    ],
)  # fmt: skip
def test_a_mistyped_argument_is_named_as_the_author_called_it(ask, words):
    def give(page):
        return ask(page)

    with pytest.raises(ExtractError, match=re.escape(f"TypeError: {words}")):
        run(give)


@pytest.mark.parametrize(
    "ask",
    [
        lambda page, missing: page.request(API, json={"a": [missing]}, safe=True),
        lambda page, missing: page.request(API, form={"a": missing}, safe=True),
        lambda page, missing: page.request(API, body=missing, safe=True),
        lambda page, missing: page.request(API, headers={"X": missing}),
        lambda page, missing: page.request(API, params={"x": missing}),
        lambda page, missing: page.request(API, key=missing),
        lambda page, missing: page.request(API, data={"a": missing}),
        lambda page, missing: page.graphql(API, "{ a }", {"id": missing}),
        lambda page, missing: page.graphql(API, missing),
        lambda page, missing: page.follow(API, key=missing),
        lambda page, missing: page.follow(API, key="2", json={"a": missing}, safe=True),
        lambda page, missing: page.link(API, data={"a": missing}),
    ],
)
def test_a_missing_value_costs_its_link_alone(ask):
    def give(page):
        yield ask(page, page.one(".id"))
        yield page.link("/next")

    found = run(give)
    assert [link.url for link in found.links] == ["http://h.example/next"]
    (rejection,) = found.rejections
    assert (rejection.type, rejection.key) == ("", API)
    assert re.fullmatch(r"link not followed: .*nothing at '\.id'", rejection.reason)


def test_a_target_that_is_not_there_is_counted_as_of_any_link():
    def give(page):
        yield page.request(page.one("a::attr(href)"))
        yield page.follow(page.css("a"), key="2")

    assert run(give).dropped == {"no link": 2}


def test_parameters_of_the_url_are_named_as_requests_names_them():
    link = request(API, params={"page": "2", "key": secret("API_KEY")})
    assert link.url == f"{API}?page=2"
    assert link.ask.query == {"key": secret("API_KEY")}
    assert graphql(API, "{ a }", params={"key": secret("API_KEY")}).ask.query == {"key": secret("API_KEY")}


@pytest.mark.parametrize(
    "text",
    [
        "{ a }",
        "query { user {\n subscription { plan }\n mutation\n } }",
        "query mutation { a }",
        'query Q($in: In = {a: [1]}, $s: String = "}\\" mutation {") { a }',
        '# mutation {\n{ a(text: """ } mutation \\""" { """) }',
        "fragment subscription on T { a }\nquery { ...subscription }",
        "\ufeff , query{a}",
    ],
)
def test_a_query_is_taken_for_one_whatever_its_fields_are_called(text):
    assert graphql(API, text).ask.method == "POST"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("mutation { a }", "has to be a query"),
        ("query { a } mutation M { b }", "has to be a query"),
        ("fragment F on T { a }\nsubscription S { b }", "has to be a query"),
        ("", "the text of a query"),
        ("select 1", "the text of a query"),
        ("fragment F on T { a }", "the text of a query"),
        (5, "the text of a query"),
    ],
)
def test_what_is_no_query_is_refused(text, words):
    with pytest.raises(UsageError, match=words):
        graphql(API, text)


@pytest.mark.parametrize("name", ["Content-Length", "host", "User-Agent", "a b"])
def test_a_header_that_is_not_a_pages_to_set_is_refused(name):
    with pytest.raises(UsageError, match=f"header '{name}'"):
        request(API, headers={name: "5"})


@pytest.mark.parametrize(
    ("link", "words"),
    [
        (Link(API, key=5), "key '5': a text of 1 to 1,000 characters"),
        (Link(API, key=" "), "a text of 1 to 1,000"),
        (Link(API, key="\ud800"), "key: holds a lone surrogate"),
        (Link(API, kind="robots"), 'kind: "page" or "sitemap"'),
        (Link(API, kind=["page"]), 'kind: "page" or "sitemap"'),
        (Link(API, lastmod=object()), "lastmod: text"),
        (Link(API, ask="GET"), "ask: page.request"),
        (Link(API, position=True), "position without key"),
        (Link(API, merge=True), "without data"),
        (Link(API, priority=True), "a whole number within a million"),
        (Link(API, priority=float("nan")), "a whole number within a million"),
    ],
)
def test_a_link_made_by_hand_is_held_to_what_a_page_can_be(link, words):
    def give(page):
        yield link

    with pytest.raises(ExtractError, match=re.escape(words)):
        run(give)


@pytest.mark.parametrize("odd", ["a\0b", "\ud800", object(), ["a"], None])
def test_a_rejection_made_by_hand_is_text(odd):
    def give(page):
        yield Rejection(odd, odd, odd, odd, odd)

    (found,) = run(give).rejections
    for value in (found.type, found.key, found.reason, found.value, found.field):
        assert "\0" not in value
        value.encode()


@pytest.mark.parametrize("schema", [0, 2**31, 2**70, None, "1", 1.5, True])
def test_a_record_with_a_schema_that_is_no_number_is_rejected_alone(schema):
    def give(page: Page):
        yield Record("x", "1", {}, schema=schema)
        yield Record("x", "2", {}, schema=2**31 - 1)

    found = run(give)
    assert [record.key for record in found.records] == ["2"]
    assert [(each.key, each.field) for each in found.rejections] == [("1", "schema")]
