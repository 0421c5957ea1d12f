"""Where a page leads: which elements, from which base, and what is none."""

import pytest

from limpet import ExtractError, Page, Site
from limpet_store.items import Fetched

HERE = "http://h.example/dir/page"


def page(body, content_type="text/html", **headers):
    return Page(Fetched(HERE, 200, {"content-type": content_type, **headers}, body.encode()))


def urls(body, **more):
    return [link.url.removeprefix("http://h.example") for link in page(body).links(**more)]


def reasons(body, **more):
    return [link.reason for link in page(body).links(**more) if not link.url]


def test_without_a_selector_it_is_what_a_browser_follows():
    body = (
        "<link rel='stylesheet' href=/css><link rel='PREV Next' href=/next><link rel=canonical href=/canonical>"
        "<link href=/bare><meta http-equiv=refresh content='0; url=/refresh'><a href=/a><a name=x>"
        "<map><area href=/area></map><iframe src=/frame></iframe><img src=/image>"
    )
    assert urls(body) == ["/next", "/canonical", "/refresh", "/a", "/area"]


@pytest.mark.parametrize(
    "meta",
    [
        "<meta http-equiv=refresh content='5;url=/x'>",
        "<META CONTENT='5;URL=/x' HTTP-EQUIV=Refresh>",
        "<meta http-equiv=refresh content=0;url=/x>",
        "<meta http-equiv=refresh content=' 0 , /x'>",
        "<meta http-equiv=refresh content='.5 /x'>",
        "<meta http-equiv=refresh content=\"0; url='/x' and more\">",
        "<meta http-equiv=refresh content='0;\nurl = \n/x\n'>",
        "<body><p><meta http-equiv=refresh content='0;url=/x'>",
    ],
)
def test_a_refresh_is_a_link_however_it_is_written(meta):
    assert urls(meta) == ["/x"]


@pytest.mark.parametrize(
    "meta",
    [
        "<noscript><meta http-equiv=refresh content='0;url=/x'></noscript>",
        "<body><noscript><p><meta http-equiv=refresh content='0;url=/x'></noscript>",
        "<!-- <meta http-equiv=refresh content='0;url=/x'> -->",
        "<meta http-equiv=refresh content='60'>",
        "<meta http-equiv=refresh content='url=/x'>",
        "<meta http-equiv=refresh>",
        "<meta name=refresh content='0;url=/x'>",
        "<meta http-equiv=refresh content='0;url=javascript:go()'>",
    ],
)
def test_what_no_browser_with_scripts_obeys_is_no_refresh(meta):
    assert [link for link in urls(meta) if link] == []


def test_other_links_in_noscript_are_links():
    assert urls("<noscript><a href=/x>x</a></noscript>") == ["/x"]


def test_frames_and_images_are_for_those_who_ask():
    body = (
        "<iframe src=/f1></iframe><iframe srcdoc=x></iframe>"
        "<img src=/i1 srcset='/i2 1x, /i3,4 2x,/i5'><picture><source srcset=' /i6 100w , data:x,y 2x'></picture>"
        "<video><source src=/film></video>"
    )
    assert urls(body, frames=True) == ["/f1"]
    assert [url for url in urls(body, images=True) if url] == ["/i1", "/i2", "/i3,4", "/i5", "/i6"]
    assert urls(f"<img srcset='/1{',' * 500_000} x'>", images=True)[0] == "/1"
    assert urls(f"<img srcset='{' ,' * 500_000}/1'>", images=True) == ["/1"]
    assert urls("<frameset><frame src=/f></frameset>", frames=True) == ["/f"]
    with pytest.raises(ExtractError, match="without a selector"):
        list(page(body).links("a", images=True))


def test_nofollow_is_left_out_by_choice_and_counted():
    body = "<a href=/1 rel='external NoFollow'>1</a><a href=/2 rel=nofollower>2</a>"
    assert urls(body) == ["/1", "/2"]
    assert urls(body, nofollow=False) == ["", "/2"]
    assert urls(body, css="a", nofollow=False) == ["", "/2"]
    site = Site("t", [HERE])

    @site.page("/dir/page")
    def every(page):
        yield from page.links(nofollow=False)

    found = site.extract(Fetched(HERE, 200, {}, body.encode(), "every"))
    assert [link.url for link in found.links] == ["http://h.example/2"]
    assert found.dropped == {"nofollow": 1}


@pytest.mark.parametrize("said", ["nofollow", "noindex, NOFOLLOW", "none"])
def test_a_page_may_say_it_of_all_its_links(said):
    assert reasons(f"<meta content='{said}' name=Robots><a href=/1>", nofollow=False) == ["nofollow"]
    header = {"x-robots-tag": said}
    assert [link.url for link in page("<a href=/1>", **header).links(nofollow=False)] == [""]
    assert [link.url for link in page("<a href=/1>", **header).links()] == ["http://h.example/1"]


@pytest.mark.parametrize(
    ("head", "base"),
    [
        ("<!--<base href='http://evil.example/'>-->", "/dir/x"),
        ("<base href=/one/><base href=/two/>", "/one/x"),
        ("<base target=_top><base href=/two/>", "/two/x"),
        ("<base target=_top>", "/dir/x"),
        ("<meta name=a content='" + "b" * 5000 + "'><base href=/late/>", "/late/x"),
        ("<base href='\n /blank/ \t'>", "/blank/x"),
        ("<base href='/li\nne/'>", "/line/x"),
        ("<base href='javascript:x'>", "/dir/x"),
        ("<base href='data:text/html,x'>", "/dir/x"),
        ("<base href='http://[malformed/'>", "/dir/x"),
        ("<base href='http://[malformed/'><base href=/two/>", "/dir/x"),
        ("<base href=''>", "/dir/x"),
        ("<script>'<base href=/no/>'</script>", "/dir/x"),
        ("<base href=other>", "/dir/x"),
        ("<base href=../up/>", "/up/x"),
    ],
)
def test_the_first_base_with_an_href_counts_as_in_browsers(head, base):
    assert urls(f"<html><head>{head}</head><body><a href='\n x '>") == [base]


NOWHERE = (
    "",
    "javascript:void(0)",
    " JavaScript:x",
    "java\nscript:x",
    "javascript://[x",
    "mailto:a@b",
    "tel:+1",
)


@pytest.mark.parametrize("href", [*NOWHERE, "data:,x", "sms:1", "#top", "about:blank"])
def test_what_leads_nowhere_is_ignored_quietly(href):
    assert reasons(f'<a href="{href}"><a href=/x>') == [""]


def test_one_malformed_link_costs_one_link_and_is_counted():
    hrefs = ("/1", "http://[::1", "http://a b/", "ftp://h/", "//h.example:99999/", "/2")
    body = "".join(f"<a href='{href}'>" for href in hrefs)
    assert urls(body) == ["/1", "", "", "", "", "/2"]
    assert reasons(body) == ["malformed", "malformed", "scheme", "malformed"]


def test_links_of_xml_are_its_a_elements():
    view = page("<feed><a href='/1'/><link rel='next' href='/2'/></feed>", "application/xml")
    assert [link.url for link in view.links()] == ["http://h.example/1"]
