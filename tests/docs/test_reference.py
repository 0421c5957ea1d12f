"""The reference is held against the code: every argument, with its default."""

import ast
import dataclasses
import inspect
import re
from pathlib import Path

import pytest

from limpet import Page, Record, Site, graphql, request, values
from limpet_consumers.runtime import Knobs

TEXT = (Path(__file__).parents[2] / "docs/reference.md").read_text("utf-8")
EMPTY = inspect.Parameter.empty


def tables():
    """What stands in the first cell of each table's head -> {argument: default}."""
    section, found = "", {}
    for block in re.split(r"\n\n", TEXT):
        if heading := re.match(r"## (.*)|`@site\.(record)`:", block):
            section = heading[1] or heading[2]
        rows = [row.strip("| ").split(" | ") for row in block.splitlines() if row.startswith("|")]
        if len(rows) > 2 and len(rows[0]) > 1 and rows[0][1].strip(" |") == "default":
            name = rows[0][0].strip("`") if "`" in rows[0][0] else section
            found[name] = {row[0].strip("` "): row[1].strip("` ") for row in rows[2:]}
    return found


TABLES = tables()


def arguments(function, without=()):
    given = inspect.signature(function).parameters.values()
    names = [
        each for each in given if each.kind is not each.VAR_KEYWORD and each.name not in {"self", *without}
    ]
    return {each.name: shown(each.default) for each in names}


def shown(default):
    if default is EMPTY:
        return "required"
    if type(default) is object:  # nothing that a caller could give
        return "none"
    return f'"{default}"' if isinstance(default, str) else repr(default)


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("Site", Site.__init__),
        ("record", Site.record),
        ("page.one", Page.one),
        ("page.all", Page.all),
        ("page.pick", Page.pick),
        ("page.number", Page.number),
        ("page.price", Page.price),
        ("page.date", Page.date),
        ("page.link", Page.link),
        ("page.links", Page.links),
        ("request", request),
        ("graphql", graphql),
    ],
)
def test_every_argument_is_in_the_reference_with_its_default(name, function):
    assert TABLES[name] == arguments(function)


def test_every_text_that_the_table_of_dates_quotes_is_taken():
    rows = TEXT.partition("| `page.date` |")[2].partition("\n\n")[0].splitlines()
    quoted = {row.split("`")[1]: re.findall(r'`("[^`]*"|\[[^`]*\])`', row) for row in rows[2:]}
    assert {name: len(texts) for name, texts in quoted.items() if texts} == {
        "format": 2, "order": 3, "languages": 1, "timezone": 2,
    }  # fmt: skip
    for text in quoted["format"]:
        assert values.date("1700000000", format=ast.literal_eval(text))
    for text, shown in zip(quoted["order"], ("03/04/2025", "03/04/2025", "2025/03/04"), strict=True):
        assert values.date(shown, order=ast.literal_eval(text)) in {"2025-04-03", "2025-03-04"}
    assert values.date("4. März 2025", languages=ast.literal_eval(quoted["languages"][0])) == "2025-03-04"
    for text in quoted["timezone"]:
        assert values.date("2025-03-04 10:00", timezone=ast.literal_eval(text)) == "2025-03-04T10:00:00+01:00"


def test_every_field_of_a_record_is_in_the_reference():
    fields = {
        field.name: "{}" if field.default_factory is dict else "required" if field.default is dataclasses.MISSING
        else shown(field.default)
        for field in dataclasses.fields(Record)
    }  # fmt: skip
    assert TABLES["Record"] == fields


def test_every_knob_is_in_the_reference():
    assert TABLES["Engine"] == {field.name: str(field.default) for field in dataclasses.fields(Knobs)}


def test_every_public_name_of_a_page_is_in_the_reference():
    here = set(vars(Page)) | {"url", "status", "headers", "body", "data", "depth", "params"}
    names = {name for name in here if not name.startswith("_")} - {"selector", "base"}
    assert {name for name in names if f"page.{name}" not in TEXT} == set()
