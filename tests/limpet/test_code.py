"""What changes a handler's code hash, and what does not."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from limpet.code import code_hash
from limpet.load import load_site

SITE = '''
import re
from limpet import Page, Record, Site

site = Site("t", ["http://h.example/"], delay=1)
CURRENCY = "EUR"
RATES = {"EUR": 1}
RATES["USD"] = 2
UNUSED = 1

if CURRENCY == "EUR":
    SIGN = "e"
else:
    SIGN = "d"

class Price:
    """A price."""
    def __init__(self, text):
        self.value = clean(text)

def clean(text):
    return re.sub("x", "", text)

def unused():
    return 1

@site.page("/list/{n}")
def listing(page: Page):
    yield from page.links("a", to=product)

@site.page("/product/{n}")
def product(page: Page):
    # a comment
    yield Record("p", "1", {"price": Price("1").value, "in": CURRENCY, "rate": RATES, "sign": SIGN})
'''


@pytest.fixture
def hashes(tmp_path):
    def hashes(text):
        path = tmp_path / "shop.py"
        path.write_text(text)
        return load_site(path).codes()

    return hashes


def test_a_hash_is_16_hex_digits_and_each_handler_has_its_own(hashes):
    found = hashes(SITE)
    assert set(found) == {"listing", "product"}
    assert all(len(value) == 16 and int(value, 16) >= 0 for value in found.values())
    assert found["listing"] != found["product"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('Record("p", "1"', 'Record("p", "2"'),
        ('return re.sub("x", "", text)', 'return re.sub("y", "", text)'),
        ("import re\n", "import re as re\n"),
        ("self.value = clean(text)", "self.value = clean(text) + ''"),
        ('CURRENCY = "EUR"', 'CURRENCY = "USD"'),
        ('RATES["USD"] = 2', 'RATES["USD"] = 3'),
        ('RATES["USD"] = 2', "RATES.update(USD=2)"),
        ('SIGN = "d"', 'SIGN = "f"'),
        ("# a comment", "page = page"),
    ],
)
def test_what_a_handler_does_changes_its_hash_and_no_others(hashes, old, new):
    assert old in SITE
    before, after = hashes(SITE), hashes(SITE.replace(old, new, 1))
    assert before["product"] != after["product"]
    assert before["listing"] == after["listing"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("# a comment", "# another comment\n\n"),
        ('"""A price."""', "'''Another docstring.'''"),
        ('CURRENCY = "EUR"', "\n\nCURRENCY = ('EUR')  # euros"),
        ("UNUSED = 1", "UNUSED = 2"),
        ("return 1", "return 2"),
        ("delay=1", "delay=2"),
        ('"/product/{n}"', '"/product/{m}"'),
        ('@site.page("/product/{n}")', '@site.page("/p")\n@site.page("/product/{n}")'),
    ],
)
def test_what_does_not_change_what_it_does_keeps_the_hash(hashes, old, new):
    assert old in SITE
    assert hashes(SITE) == hashes(SITE.replace(old, new, 1))


def test_another_handler_counts_where_it_is_called_but_not_where_it_is_linked_to(hashes):
    calling = SITE.replace('yield from page.links("a", to=product)', "yield from product(page)")
    change = ('Record("p", "1"', 'Record("p", "2"')
    assert hashes(SITE)["listing"] == hashes(SITE.replace(*change))["listing"]
    assert hashes(calling)["listing"] != hashes(calling.replace(*change))["listing"]


def test_moving_a_helper_about_keeps_the_hash(hashes):
    helper = 'def clean(text):\n    return re.sub("x", "", text)\n'
    moved = SITE.replace(helper, "") + "\n" + helper
    assert hashes(SITE) == hashes(moved)


def test_the_hash_is_of_the_code_that_was_loaded(tmp_path):
    path = tmp_path / "shop.py"
    path.write_text(SITE)
    expected = load_site(path).codes()
    site = load_site(path)
    path.write_text(SITE.replace('Record("p", "1"', 'Record("p", "2"'))
    assert site.codes() == expected


def test_the_hash_is_the_same_after_a_restart(hashes, tmp_path):
    found = hashes(SITE)
    script = "import sys; from limpet.load import load_site; print(dict(load_site(sys.argv[1]).codes()))"
    roots = [str(Path(__file__).parents[2] / folder) for folder in ("", "producer", "consumers", "store")]
    environment = {**os.environ, "PYTHONHASHSEED": "7", "PYTHONPATH": os.pathsep.join(roots)}
    command = [sys.executable, "-c", script, str(tmp_path / "shop.py")]
    output = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    assert output.strip() == str(dict(found))


def test_recursion_and_functions_without_source_have_a_hash_too(hashes):
    looping = SITE.replace('return re.sub("x", "", text)', "return text and clean(text[1:]) or product")
    assert len(hashes(looping)["product"]) == 16
    space: dict = {}
    exec("def f(page):\n    return 1\ndef g(page):\n    return 2", space)
    assert code_hash(space["f"]) == code_hash(space["f"]) != code_hash(space["g"])


def test_a_handler_leads_on_when_it_or_its_helper_makes_links(tmp_path):
    path = tmp_path / "shop.py"
    path.write_text(
        "from limpet import Link, Record, Site\n"
        "site = Site('s', ['http://h/'])\n"
        "def helper(page):\n    return page.follow('x', key='k')\n"
        "@site.page('/a')\ndef links(page):\n    yield from page.links()\n"
        "@site.page('/b')\ndef by_helper(page):\n    yield helper(page)\n"
        "@site.page('/c')\ndef made(page):\n    return [Link(u) for u in page.all('a')]\n"
        "@site.page('/d')\ndef leaf(page):\n    yield Record('p', page.one('a'))\n"
    )
    site = load_site(path)
    assert {name: site.leads(name) for name in site.codes()} == {
        "links": True, "by_helper": True, "made": True, "leaf": False,
    }  # fmt: skip
    assert not site.leads(None)
