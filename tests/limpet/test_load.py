"""A site file is loaded as it is, or refused in one line."""

import os
import sys

import pytest

from limpet import ExtractError, SiteError
from limpet.load import load_site
from limpet_store.items import Fetched

GOOD = """
from dataclasses import dataclass
from limpet import Page, Record, Site

site = Site("t", ["http://h.example/"])

@dataclass
class Row:
    n: "int"

@site.page("/")
def home(page: Page):
    yield Record("row", "1", {"n": Row(NUMBER).n})
"""


@pytest.fixture
def write(tmp_path):
    def write(text, name="shop.py"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


@pytest.fixture(autouse=True)
def nothing_is_left_behind(request):
    path, names = list(sys.path), {name for name in sys.modules if name.startswith("limpet_site_")}
    yield
    assert sys.path == path
    left = {name for name in sys.modules if name.startswith("limpet_site_")} - names
    assert not left or "refused" not in request.node.name


def home(site):
    return site.extract(Fetched("http://h.example/", 200, {}, b"", handler="home")).records[0].data["n"]


def test_a_file_is_run_and_its_site_returned(write):
    site = load_site(write(GOOD.replace("NUMBER", "7")))
    assert site.name == "t"
    assert home(site) == 7


def test_a_name_without_py_loads_too(write):
    assert home(load_site(write(GOOD.replace("NUMBER", "7"), "my shop"))) == 7


def test_every_load_sees_the_file_as_it_is_now(write):
    first = load_site(write(GOOD.replace("NUMBER", "7")))
    stamp = os.stat(write("", "x")).st_mtime
    path = write(GOOD.replace("NUMBER", "8"))
    os.utime(path, (stamp, stamp))
    assert (home(load_site(path)), home(first)) == (8, 7)
    assert not (path.parent / "__pycache__").exists()


def test_modules_beside_the_file_can_be_imported(write):
    write("NUMBER = 9", "helper_of_the_load_test.py")
    try:
        site = load_site(write("from helper_of_the_load_test import NUMBER\n" + GOOD))
        assert home(site) == 9
    finally:
        sys.modules.pop("helper_of_the_load_test", None)


def test_a_file_in_another_encoding_loads(write):
    text = '# -*- coding: latin-1 -*-\nfrom limpet import Site\nsite = Site("t", ["http://h/é"])\n'
    assert load_site(write(text.encode("latin-1"))).seeds == ("http://h/é",)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = (", ":1: not Python: "),
        ("a = 1\nb = = 2\n", ":2: not Python: invalid syntax"),
        (b"a = '\xff'\n", "not Python: "),
        (b"a\0b", "not Python: "),
        ("(" * 5000, "not Python: "),
        ("a = 1\n\n1 / 0\n", ":3: raised ZeroDivisionError: division by zero"),
        ("def f():\n    raise ValueError('two\\nlines')\nf()\n", ":2: raised ValueError: two lines"),
        ("import no_such_module_anywhere\n", ":1: raised ModuleNotFoundError"),
        ("import sys\nsys.exit(3)\n", ":2: raised SystemExit: 3"),
        ("from limpet import Site\nsite = Site('A', [])\n", ":2: Site: name 'A'"),
        ("x = 1\n", 'no `site` in it; add site = Site("name", seeds=[...])'),
        (
            "from limpet import Site\nshop = Site('a', ['http://h/'])\n",
            "no `site` in it; rename shop to site",
        ),
        ("site = 'shop'\n", "`site` is a str, not a Site"),
    ],
)
def test_a_file_that_is_no_site_is_refused_in_one_line(write, text, words):
    path = write(text)
    with pytest.raises(SiteError) as caught:
        load_site(path)
    assert str(caught.value).startswith(str(path))
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_is_not_there_or_a_folder_is_refused(tmp_path):
    with pytest.raises(SiteError, match="no such file"):
        load_site(tmp_path / "none.py")
    with pytest.raises(SiteError, match="a folder"):
        load_site(tmp_path)


def test_an_interrupt_passes_through_and_a_refused_module_is_gone(write):
    with pytest.raises(KeyboardInterrupt):
        load_site(write("raise KeyboardInterrupt"))


def test_a_traceback_shows_the_source_that_runs_and_not_the_edited_file(write):
    path = write(GOOD.replace("NUMBER", "missing_name"))
    site = load_site(path)
    path.write_text("\n" * 50 + "# edited\n")
    with pytest.raises(ExtractError, match=r'shop\.py:13 in home: yield Record\("row"'):
        home(site)
