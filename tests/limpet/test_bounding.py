"""What a site file says of which URLs it means."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import limpet
from limpet import SESSION_IDS, TRACKING, Site, SiteError
from limpet.declared.file import site_of

SEED = "https://shop.example/"
DOCUMENT = (Path(__file__).parents[2] / "docs/sites.md").read_text("utf-8")


def site(**options: Any) -> Site:
    return Site("shop", [SEED], **options)


def against(site: Site, path: str, depth: int = 1) -> str:
    return site.bounds.against(f"https://shop.example{path}", depth)


def test_nothing_said_lets_everything_in_but_traps() -> None:
    assert against(site(), "/any/thing?x=1", depth=1_000) == ""
    assert against(site(), "/shop/shop/shop") == "trap: growing path"
    assert against(site(traps=False), "/shop/shop/shop") == ""


def test_patterns_are_those_of_handlers() -> None:
    some = site(include=["/p/{n:int}", "//a.shop.example/{rest:path}"], exclude=["/p/{n}?print={any}"])
    assert against(some, "/p/1") == ""
    assert against(some, "/p/x") == "not included"
    assert against(some, "/p/1?print=1") == "excluded"
    assert some.bounds.against("https://a.shop.example/x/y", 1) == ""


def test_depth_counts_links_from_a_seed() -> None:
    assert [against(site(max_depth=2), "/", depth) for depth in (0, 2, 3)] == ["", "", "too deep"]


def test_parameters_are_dropped_besides_session_ids() -> None:
    url = f"{SEED}?utm_source=1&ref=2&PHPSESSID=3&x=4"
    dropped = {
        "nothing said": site(),
        "both": site(drop_params=[*TRACKING, "ref"]),
        "no guards": site(traps=False),
        "no guards, still": site(traps=False, drop_params=SESSION_IDS),
    }
    assert {said: each.bounds.admit(url).canonical.partition("?")[2] for said, each in dropped.items()} == {
        "nothing said": "utm_source=1&ref=2&x=4",
        "both": "x=4",
        "no guards": "utm_source=1&ref=2&PHPSESSID=3&x=4",
        "no guards, still": "utm_source=1&ref=2&x=4",
    }


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"include": "/p/{n}"}, "include: a list of patterns, not '/p/{n}'"),
        ({"include": []}, "include: no pattern in it"),
        ({"exclude": ["p"]}, "exclude: pattern 'p': must begin with /"),
        ({"exclude": ["/p/{n", 3]}, "exclude: a pattern is a string"),
        ({"max_depth": -1}, "max_depth -1: a whole number, at least 0"),
        ({"max_depth": True}, "max_depth True"),
        ({"max_pages": 0}, "max_pages 0: a whole number, at least 1"),
        ({"max_pages": 1.5}, "max_pages 1.5"),
        ({"traps": 1}, "traps 1: True or False"),
        ({"drop_params": "utm_*"}, "drop_params: a list of names, not 'utm_*'"),
        ({"drop_params": ["a=b"]}, "drop_params 'a=b': the name of a parameter"),
        ({"drop_params": [None]}, "drop_params None"),
        ({"drop_params": [""]}, "drop_params ''"),
        ({"hosts": ["*"]}, "host '*': no host name"),
        ({"hosts": ["a.*.example"]}, "host 'a.*.example': no host name"),
        ({"hosts": ["*.x/y"]}, "host '*.x/y': a name, name:port or *.name"),
        ({"exclude": ["/"]}, "seed 'https://shop.example/': exclude leaves it out"),
        ({"exclude": ["//shop.example/{rest:path}"]}, "exclude leaves it out"),
    ],
    ids=str,
)
def test_a_mistake_is_one_line(options: dict[str, Any], words: str) -> None:
    with pytest.raises(SiteError, match=re.escape(words)):
        site(**options)


def test_names_below_a_host_are_in_scope_and_get_no_cookies() -> None:
    some = site(hosts=["*.Shop.Example", "cdn.example"])
    assert some.hosts == {"*.shop.example", "cdn.example"}
    assert some.authorities == {"shop.example", "cdn.example"}


def test_what_a_site_says_of_scope_is_told_apart() -> None:
    said = [
        site(), site(max_depth=1), site(max_pages=1), site(traps=False), site(drop_params=["a"]), site(include=["/a"]),
        site(exclude=["/a"]), site(hosts=["a.example"]),
    ]  # fmt: skip
    assert len({each.bounds.said for each in said}) == len(said)
    assert site(include=["/a", "/b"]).bounds.said == site(include=["/b", "/a"]).bounds.said


def test_the_same_can_be_said_in_toml() -> None:
    source = b"""[site]
name = "shop"
seeds = ["https://shop.example/"]
hosts = ["*.shop.example"]
include = ["/p/{n}"]
exclude = ["/p/no{n}"]
max_depth = 3
max_pages = 100
drop_params = ["TRACKING", "ref"]
"""
    declared = site_of(source, Path("shop.toml"))
    same = site(
        hosts=["*.shop.example"], include=["/p/{n}"], exclude=["/p/no{n}"], max_depth=3, max_pages=100,
        drop_params=[*TRACKING, "ref"],
    )  # fmt: skip
    assert declared.bounds.said == same.bounds.said
    assert declared.max_pages == 100
    with pytest.raises(SiteError, match=re.escape("drop_params: a list of names, not 'ref'")):
        site_of(source.replace(b'["TRACKING", "ref"]', b'"ref"'), Path("shop.toml"))


@pytest.mark.parametrize("name", ["TRACKING", "SESSION_IDS"])
def test_the_lists_stand_in_the_document_name_by_name(name: str) -> None:
    told = re.search(rf"^- `{name}`: (.*?)[.](?: |\n)", DOCUMENT, re.M | re.S)
    assert told
    assert sorted(re.findall(r"`([^`]+)`", told[1])) == sorted(getattr(limpet, name))
