"""The tour of docs/sites.md: its sites load, and give for the pages below them what stands there."""

import json
import re
from pathlib import Path
from typing import NamedTuple

import pytest

from limpet.load import load_site
from limpet_store.content import canonical_json
from limpet_store.items import Fetched

TOUR = Path(__file__).parents[2] / "docs/sites.md"
FENCE = re.compile(r"^```(python|html|json|text gives)(?: (https?://\S+))?\n(.*?)^```$", re.M | re.S)


class Shown(NamedTuple):
    site: str
    url: str
    kind: str
    body: str
    gives: str


def shown():
    """Each page of the tour with the site above it and what it gives."""
    site, page = "", None
    for kind, url, text in FENCE.findall(TOUR.read_text("utf-8")):
        if kind == "python":
            site = text
        elif kind == "text gives":
            yield Shown(site, *page, text)
        else:
            page = (url, kind, text)


PAGES = list(shown())


@pytest.mark.parametrize("each", PAGES, ids=[each.url for each in PAGES])
def test_a_page_of_the_tour_gives_what_stands_below_it(tmp_path, each):
    path = tmp_path / "site.py"
    path.write_text(each.site)
    site = load_site(path)
    headers = {"content-type": {"html": "text/html; charset=utf-8", "json": "application/json"}[each.kind]}
    fetched = Fetched(each.url, 200, headers, each.body.encode(), handler=site.match(each.url))
    assert lines(site.extract(fetched)) == each.gives.splitlines()


def lines(found):
    given = [
        f"{r.type} {key(r.key)} {json.dumps(r.data, ensure_ascii=False, sort_keys=True)}"
        for r in found.records
    ]
    given += [" ".join(filter(None, link(each))) for each in found.links]
    return given + [f"rejected {r.type} {r.key} {r.field}: {r.reason}" for r in found.rejections]


def key(given):
    return json.dumps(given) if isinstance(given, list) else given


def link(found):
    posted = found.ask is not None and found.ask.method != "GET"
    yield f"link {found.ask.method if posted else ''} {found.url}".replace("  ", " ")
    yield f"to {found.to}" if found.to else ""
    yield found.ask.body.decode() if posted else ""
    yield f"as {found.key}" if found.key else ""
    yield f"with {canonical_json(found.data)}" if found.data is not None else ""
    yield "(list)" if found.merge else ""


def test_the_tour_shows_pages():
    assert len(PAGES) >= 8
