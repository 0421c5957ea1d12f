"""Patterns from a few URLs."""

from __future__ import annotations

import pytest

from limpet.patterns import Pattern
from limpet.starting.urls import noun, pattern

HOST = "https://shop.example"


@pytest.mark.parametrize(
    ("paths", "wanted"),
    [
        (["/p/1", "/p/22"], "/p/{n}"),
        (["/p/red-lamp", "/p/blue-cup"], "/p/{name}"),
        (["/p/red-lamp", "/p/red-cup"], "/p/{name}"),
        (["/list/page-1.html", "/list/page-2.html"], "/list/page-{n}.html"),
        (["/a/lamp_1/index.html", "/a/cup_2/index.html"], "/a/{name}/index.html"),
        (["/2024/01/a", "/2024/02/b"], "/2024/{n}/{name}"),
        (["/c/x/1", "/c/y/2", "/d/y/3"], "/{name}/{name2}/{n}"),
        (["/c/x/1", "/c/y"], "/c/{rest:path}"),
        (["/item?id=1", "/item?id=2"], "/item?id={id}"),
        (["/search?q=tea&p=1", "/search?q=tea&p=2"], "/search?p={p}"),
        (["/list", "/list?page=2"], "/list"),
        (["/", "/page/2"], "/{rest:path}"),
        (["/x{1}/1", "/x{1}/2"], "/{rest:path}"),
        (["/p/12"], "/p/{n}"),
        (["/p/lamp-12.html"], "/p/lamp-{n}.html"),
        (["/p/a-very-red-lamp"], "/p/{name}"),
        (["/about"], "/about"),
        (["/"], "/"),
    ],
)
def test_a_pattern_fits_all_it_was_made_of_and_no_more_than_needed(paths: list[str], wanted: str) -> None:
    urls = [f"{HOST}{path}" for path in paths]

    assert pattern(urls) == wanted
    assert all(Pattern(wanted).params(url) is not None for url in urls)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("/products/{n}", "product"), ("/categories/{name}", "category"), ("/catalogue/{name}/index.html", ""),
        ("/c/{n}", ""), ("/dress/{n}", "dress"), ("/item?id={id}", ""), ("/job-offers/{n}", "job_offer"),
    ],
)  # fmt: skip
def test_a_noun_is_the_last_word_that_says_something(text: str, word: str) -> None:
    assert noun(text) == word
