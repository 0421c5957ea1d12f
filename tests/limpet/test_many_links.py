"""A page with a million links, or with more markup than memory should hold, is a typed failure before it is parsed."""

import json
import subprocess
import sys

import pytest

from limpet import ExtractError, Page, Site
from limpet.bounds import MOST_ATTRIBUTES
from limpet_store.failures import TOO_MANY_LINKS, UNREADABLE
from limpet_store.items import Fetched

CHILD = """
import json, sys
from limpet import ExtractError, Site
from limpet_store.items import Fetched

site = Site("many", ["http://h.example/"])

@site.page("/")
def every(page):
    yield from page.links()

def extract(body):
    try:
        return len(site.extract(Fetched("http://h.example/", 200, {"content-type": "text/html"}, body, "every")).links)
    except ExtractError as error:
        return error.kind

def peak():
    with open("/proc/self/status") as lines:  # ru_maxrss would be that of the parent, if it is larger
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))

extract(b"<a href=/1>one</a>" * 100)
before = peak()
found = extract(open(sys.argv[1], 'rb').read())
print(json.dumps([found, peak() - before]))
"""


@pytest.mark.parametrize(
    "body",
    [
        b"<a href=>" * 1_000_000,  # below the 10 MB that a body may have
        b"<a href=/1>" * 1_000_000,
        b"".join(b"<a href=/%d>x" % n for n in range(1_000_000)),
        b"<a href=/1>" * 1_000_000 + b"\xff",  # no UTF-8: decoded first
    ],
    ids=["under the cap", "one target", "a million targets", "no UTF-8"],
)
def test_a_million_links_end_as_a_typed_failure_within_50_mb(body, tmp_path):
    file = tmp_path / "body"
    file.write_bytes(body)
    run = subprocess.run([sys.executable, "-c", CHILD, file], capture_output=True, text=True, check=True)
    found, extra = json.loads(run.stdout)
    assert found == TOO_MANY_LINKS
    assert extra <= 50_000_000


def page(body, content_type="text/html"):
    return Page(Fetched("http://h.example/", 200, {"content-type": content_type}, body))


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"<A\thref=1>" * 100_001, TOO_MANY_LINKS),
        (b"<br>" * 250_001, UNREADABLE),
        (b"<b a=1 b=2 c=3 d=4 e=5 f=6>" * 200_000, UNREADABLE),
        (b"<i " + b" ".join(b"a%d" % n for n in range(100_000)) + b">", UNREADABLE),
        (b"<i " + b" ".join(b"a%d='1'" % n for n in range(100_000)) + b"><h1 id=end>", UNREADABLE),
        (b"<i " + b" ".join(b"a%d<" % n for n in range(50_000)) + b"><h1 id=end>", UNREADABLE),
        (b"<i " + b" ".join(b"a%d='<>'" % n for n in range(50_000)) + b"><h1 id=end>", UNREADABLE),
        (b"<!--><i " + b" ".join(b"a%d" % n for n in range(50_000)) + b"> -->", UNREADABLE),
        (b"<svg><style/><i " + b" ".join(b"a%d" % n for n in range(50_000)) + b"></style>", UNREADABLE),
    ],
)
def test_more_markup_than_memory_or_time_should_go_into_is_not_parsed(body, kind):
    with pytest.raises(ExtractError) as failed:
        page(body).css("h1")
    assert failed.value.kind == kind


@pytest.mark.parametrize(
    "body",
    [
        b"<a href=1>x</a>" * 100_000,
        b"<p>x</p>" * 200_000,
        b"<i "
        + b" ".join(b"a%d=1" % n for n in range(MOST_ATTRIBUTES - 10))
        + b" z='%s'></i>" % (b"y" * 9000),
        b"<script>if (a<b) {" + b"word " * 90_000 + b"}</script>",
        b"<!-- a<b " + b"word " * 90_000 + b"-->",
        b"<p title='" + b"word " * 90_000 + b"'>" + b"words > " * 9000,
        b"<script>x = '" + b"y " * 200_000 + b"'</script>",
    ],
)
def test_what_pages_really_have_is_read_to_the_end(body):
    assert page(body + b"<h1 id=end>end</h1>").one("#end") == "end"


def test_more_links_than_a_page_may_give_are_a_failure_of_their_own_kind_and_never_fewer_links():
    site = Site("many", ["http://h.example/"])

    @site.page("/")
    def every(page):
        yield from page.links()

    body = b"".join(b"<a href=/%d>" % n for n in range(10_001))
    with pytest.raises(ExtractError, match="links to more than 10000 pages") as failed:
        site.extract(Fetched("http://h.example/", 200, {}, body, "every"))
    assert failed.value.kind == TOO_MANY_LINKS


def test_the_bounds_follow_the_settings_of_the_site():
    site = Site("many", ["http://h.example/"])

    @site.page("/")
    def look(page):
        page.css("p")

    site.tune(max_links=20_000, max_elements=1_000_000)
    found = site.extract(Fetched("http://h.example/", 200, {}, b"<a href=1>x</a>" * 150_000, "look"))
    assert not found.links


def test_a_feed_is_counted_too():
    body = b"<rss><channel>" + b"<i/>" * 250_001 + b"</channel></rss>"
    with pytest.raises(ExtractError, match="elements"):
        page(body, "application/rss+xml").feed()
