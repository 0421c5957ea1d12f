"""Guards against what a site makes without end: what passes, and what is cut."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limpet_store.canonical import admit
from limpet_store.traps import CALENDAR, GROWING, REPEATED, trap

THIS_YEAR = time.gmtime().tm_year
DEEP = "/".join(f"part{n}" for n in range(29))

LEGITIMATE = [
    "/",
    "/product/1234-05",
    "/product/2050-12",
    "/p/9999/12/31x",
    "/thread/2041/7",
    "/topic/2041/07",
    "/topic/2041/12/page",
    "/zip/1450/05",
    "/parts/1234/12345/123456",
    "/archive/1850/05/01",
    "/archive/1850/05",
    "/newspapers/1605-07-14/page-2",
    "/blog/2009/11/28/a-post",
    "/on-this-day/1066-10-14",
    "/bonds/bund-2055-08-15",
    f"/events/{THIS_YEAR + 4}/07/04",
    f"/events/{THIS_YEAR + 9}/07",
    f"/calendar/{THIS_YEAR + 2}/12",
    f"/calendar/{THIS_YEAR - 40}/01",
    "/calendar/1850/05",
    "/search?from=1850-01-01&to=1899-12-31",
    "/search?year=1850&month=5",
    "/search?year=2050",
    f"/book?date={THIS_YEAR + 1}-06-30",
    "/item?id=20410704",
    "/item?model=2041-07",
    f"/{DEEP}/index.html",
    "/tiles/1/1/1.png",
    "/cache/a/a/a/b",
    "/2011/11/11/11",
    "/0/0/0/0/0/0",
    "/user/user/user-list",
    "/maven2/junit/junit/4.13",
    "/a-b/c-d/a-b/c-d/x",
    "/docs/en/api/en/ref/en/x/en",
    "/shop?filter=red&filter=blue&filter=green&filter=red&size=m&size=l",
    "/shop?filter[]=1&filter[]=2&filter[]=3&filter[]=4",
    "/shop?ids=1&ids=2&ids=3&ids=4&ids=5&ids=6&ids=7&ids=8",
    "/shop?page=1&page=2",
    "/login?next=%2Fcart%3Fa%3D%2520b",
    "/a%2525b",
    "/?q=100%2525",
    "/?&&",
    "/?size[]=&size[]=&size[]=&colour=&colour=&colour=",
    "/?",
    "/wiki/Talk:Talk:Talk",
    "/..%2f../",
]

TRAPS = [
    ("/shop/shop/shop/", GROWING),
    ("/shop/shop/shop/item/1", GROWING),
    ("/a/news/a/news/a/news/", GROWING),
    ("/x/de/about/de/about/de/about", GROWING),
    ("/news/1/sport/news/2/sport/news/3/news/4/news/5", GROWING),
    ("/" + "/".join(f"part{n}" for n in range(31)), GROWING),
    ("/1" * 31, GROWING),
    ("/x?a=1&a=1&a=1", REPEATED),
    ("/x?a=1&b=2&a=1&c=3&a=1", REPEATED),
    ("/x?page=1&page=2&page=3", REPEATED),
    ("/x?Sort=a&x=1&Sort=b&Sort=c", REPEATED),
    ("/login?return=%2Flogin%3Freturn%3D%25252525252Flogin", REPEATED),
    (f"/{THIS_YEAR + 11}/07/04/", CALENDAR),
    (f"/room/7/{THIS_YEAR + 11}-07-04", CALENDAR),
    (f"/events/{THIS_YEAR + 11}/07", CALENDAR),
    (f"/agenda/{THIS_YEAR + 11}/7/", CALENDAR),
    (f"/room?date={THIS_YEAR + 11}-07-04", CALENDAR),
    (f"/room?date={THIS_YEAR + 11}-07-04T10%3A00", CALENDAR),
    (f"/room?month={THIS_YEAR + 11}07", CALENDAR),
    (f"/room?month={THIS_YEAR + 11}-07", CALENDAR),
    (f"/room?id=3&year={THIS_YEAR + 11}&month=7", CALENDAR),
    (f"/calendar/{THIS_YEAR + 4}/01", CALENDAR),
    (f"/booking?day={THIS_YEAR + 4}-01-01", CALENDAR),
    (f"/calendar/{THIS_YEAR - 51}/12", CALENDAR),
    ("/diary/1499/12/31", CALENDAR),
    ("/room?year=1499&month=12", CALENDAR),
]


@pytest.mark.parametrize("path", LEGITIMATE)
def test_what_real_sites_have_passes(path: str) -> None:
    assert trap(admit(f"http://shop.example{path}").canonical) == ""


@pytest.mark.parametrize(("path", "reason"), TRAPS)
def test_a_trap_is_cut_and_named(path: str, reason: str) -> None:
    assert trap(admit(f"https://shop.example:8443{path}").canonical) == reason


@pytest.mark.parametrize("step", [1, -1])
@pytest.mark.parametrize(
    "path",
    [
        "/{0}/{1:02}/01",
        "/events/{0}/{1}",
        "/calendar/{0}-{1:02}",
        "/?date={0}-{1:02}-01",
        "/?year={0}&month={1}",
    ],
)
def test_a_calendar_ends_whichever_way_it_is_walked(path: str, step: int) -> None:
    """Month by month, as its links go; the bound is not stepped over."""
    month, walked = THIS_YEAR * 12, 0
    while not trap("http://x.example" + path.format(month // 12, month % 12 + 1)):
        month, walked = month + step, walked + 1
        assert walked < 12 * 600
    beyond = (month + step * n for n in range(12 * 49))
    assert all(trap("http://x.example" + path.format(m // 12, m % 12 + 1)) == CALENDAR for m in beyond)


def test_relative_links_that_are_followed_over_and_over_come_to_an_end() -> None:
    """A site that answers any path with the same links, two of them."""
    known, waiting = set(), ["http://x.example/"]
    while waiting:
        url = waiting.pop()
        known.add(url)
        assert len(known) < 1_000
        waiting += [new for new in (f"{url}news/", f"{url}sport/") if not trap(new) and new not in known]
    assert "http://x.example/news/sport/news/" in known


@given(st.text("/?&=;a1-%25:", max_size=40))
def test_any_canonical_url_can_be_looked_at(tail: str) -> None:
    assert trap(admit(f"http://x.example/{tail}").canonical) in ("", GROWING, REPEATED, CALENDAR)
