"""What holds for all examples."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from examples.proving import EXAMPLES, check, site_file
from examples.record import TRIES
from front_helpers import limpet

from limpet.load import load_site

NAMES = sorted(path.parent.name for path in EXAMPLES.glob("*/site.py"))
MOST_LINES = 75  # of a site file: it is to be read


def test_there_are_five_and_the_pages_of_each_can_be_saved_anew() -> None:
    assert len(NAMES) >= 5
    assert sorted(TRIES) == NAMES


def test_the_readme_names_every_example_and_nothing_else() -> None:
    named = set(re.findall(r"\]\(([\w./]+)\)", (EXAMPLES / "README.md").read_text()))
    there = {f"{name}/site.py" for name in NAMES} | {path.name for path in EXAMPLES.glob("*.*")}
    assert named == there - {"README.md"}


@pytest.mark.parametrize("name", NAMES)
def test_its_saved_pages_are_green_without_network_and_secrets(name: str) -> None:
    ran = check(name)
    assert (ran.code, ran.err) == (0, ""), ran.out


@pytest.mark.parametrize("name", NAMES)
def test_a_site_file_is_short_and_says_first_what_it_shows(name: str) -> None:
    text = site_file(name).read_text()
    assert len(text.splitlines()) <= MOST_LINES
    assert text.startswith('"""')
    assert load_site(site_file(name)).codes()


def test_a_post_that_a_site_starts_with_is_tried_as_one(serve: object, tmp_path: Path) -> None:
    site = serve("json_api")  # type: ignore[operator]
    ran = limpet("try", site_file("json_api"), env={"API_URL": site.url, "CATALOGUE_TOKEN": "let-me-in"})
    assert ran.code == 0, ran.out
    assert ran.out.startswith(f"page     POST {site.url}/api/search\n")
