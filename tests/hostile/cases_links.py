"""Links and URLs: what a browser would follow is followed, once, and spelled as it would spell it."""

from __future__ import annotations

import time
from itertools import pairwise
from typing import Any

from hostile.answers import HTML, answer, page
from hostile.case import Case
from hostile.server import HERE, OTHER

LONG = "x" * 9_000
NOW = time.gmtime().tm_year
LATER = f"{NOW + 15}-07-04"
DAYS = [f"/calendar/{NOW + n}-07-04" for n in range(20)]


def linked(
    name: str, html: str, *targets: str, keys: tuple[str, ...] = (), content_type: str = HTML, **more: Any
) -> Case:
    """A page at `/d/e` whose links lead to these targets of requests and no others; `keys` where the pages are known
    by others."""
    answers = {
        "/d/e": answer(html.encode("utf-8", "surrogateescape"), content_type),
        **{path: answer("", HTML) for path in targets},
    }
    return Case(
        name=name, here=answers, seeds=("/d/e",), pages={"/d/e": "done",
                                                         **dict.fromkeys(keys or targets, "done")},
        asked={"/d/e": 1, **dict.fromkeys(targets, 1)}, **more,
    )  # fmt: skip


def a(*hrefs: str) -> str:
    return "".join(f'<a href="{href}">to</a>' for href in hrefs)


def spelled(href: str, target: str) -> Case:
    """How one link is asked for."""
    return linked(f"a link to {href[:60]!r} asks for {target[:60]!r}", a(href), target)


def left_out(name: str, reason: str, *hrefs: str, **more: Any) -> Case:
    """Links that lead to no page of the crawl, beside one that does."""
    return linked(name, a(*hrefs, "/ok"), "/ok", dropped={reason: len(hrefs)}, **more)


def twice(name: str, *hrefs: str, target: str, **more: Any) -> Case:
    """Several links that are one page."""
    return linked(f"{name} are one page", a(*hrefs), target, **more)


def apart(name: str, *hrefs: str) -> Case:
    """Links that differ in little and are pages of their own."""
    return linked(f"{name} are pages of their own", a(*hrefs), *hrefs)


SPELLED = {
    "b": "/d/b", "./b": "/d/b", "../b": "/b", "../../../b": "/b", "/b/./c/../d": "/b/d", "?q": "/d/e?q",
    "/%2e%2E/b": "/b",
    " \n\t/b\r\n ": "/b", "/a\nb\tc": "/abc", "/a b": "/a%20b", "\\b\\c": "/b/c", "/b?": "/b?", "/b#x": "/b",
    "//127.0.0.1:00001/b": "/b",
    "HTTP://127.0.0.1:00001/B": "/B", "http:/b": "/b", "http:b": "/d/b", "/café": "/caf%C3%A9",
    "/caf%c3%a9": "/caf%c3%a9",
    "/a%2Fb": "/a%2Fb", "/a%23b": "/a%23b", "/x%25": "/x%25", "/a%3Bb": "/a%3Bb", "/100%": "/100%",
    "/%zz": "/%zz",
    "/b?q=a%2Bb": "/b?q=a%2Bb", "/b?q=a+b": "/b?q=a+b", "/b?q='x'": "/b?q=%27x%27", "/b?q=é": "/b?q=%C3%A9",
    "/b?z=1&amp;a=2&amp;z=3": "/b?z=1&a=2&z=3",
    "/b?x=1&copy=2": "/b?x=1&copy=2", "/~b": "/~b", "/%7Eb": "/%7Eb", "/b//c": "/b//c", "/b|c": "/b|c",
    "/<b>": "/%3Cb%3E", "/b;v=1": "/b;v=1",
    "/😀": "/%F0%9F%98%80", "/b\x01c": "/b%01c",
}  # fmt: skip

CASES = (
    *(spelled(href, target) for href, target in SPELLED.items()),
    apart("paths in capitals and small letters", "/Product/ABC", "/product/abc"),
    apart("an escaped slash and a slash", "/a%2Fb", "/a/b"),
    apart("a path with a slash at its end and one without", "/a", "/a/"),
    apart("queries in another order", "/a?x=1&y=2", "/a?y=2&x=1"),
    apart("an empty query, no query and an empty value", "/a", "/a?", "/a?b", "/a?b="),
    apart("values in capitals and small letters", "/a?t=SeCrEt", "/a?t=secret"),
    apart("campaigns, where the site does not drop them,", "/a", "/a?utm_source=x"),
    twice("campaigns, where the site drops them,", "/a", "/a?utm_source=x", "/a?UTM_Medium=y", target="/a",
          keys=("/a",), site={"drop_params": ["utm_*"]}),
    twice("fragments of a page", "/a#1", "/a#2", "/a#", target="/a"),
    twice("session ids of a page", "/a;jsessionid=12AB", "/a;JSESSIONID=34CD", "/a?PHPSESSID=56",
          target="/a"),
    twice("raw and escaped letters", "/caf\u00e9", "/caf%C3%A9", target="/caf%C3%A9"),
    twice("links of a page that come twice", "/a", "/a", f"{HERE}/a", "../a", target="/a"),
    left_out("links with a user or a password are left out", "credentials in URL",
             "http://user:hunter2@127.0.0.1:00001/a", "//user@127.0.0.1:00001/b", hidden="hunter2"),
    left_out("malformed links cost themselves alone", "malformed", "http://[", "http://a b/",
             "http://127.0.0.1:99999/", "http://%00/"),
    left_out("links of other schemes are left out", "scheme", "ftp://x/", "file:///etc/passwd", "intent://x",
             "ws://x/", "chrome://x"),
    linked("a link as long as the cap is followed", a(f"/{'x' * (8_192 - len(HERE) - 1)}"),
           f"/{'x' * (8_192 - len(HERE) - 1)}"),
    left_out("links longer than the cap are left out", "too long", f"/{LONG}", f"/?q={LONG}"),
    left_out("links out of scope are left out", "out of scope", "http://other.example/", f"{OTHER}/x",
             "//b\u00fccher.example/", "https://127.0.0.1/"),
    left_out("paths that grow are left out", "trap: growing path", "/shop/shop/shop/", "/a/bcd/a/bcd/a/bcd/",
             "/x" * 40),
    left_out("parameters that come again and again are left out", "trap: repeated parameter", "/?a=1&a=1&a=1",
             "/?page=1&page=2&page=3"),
    left_out("days that nobody has anything to say about are left out", "trap: endless calendar",
             f"/calendar/{LATER}", f"/events?date={LATER}"),
    linked("what was never meant as a page is passed over",
           a("javascript:void(0)", " JavaScript:x()", "mailto:a@b", "tel:1", "data:text/html,x",
             "about:blank", "#", "#top", "", "  ", "java\nscript:x()")),
    linked("traps are followed where the site wants it", a("/shop/shop/shop/", f"/calendar/{LATER}"),
           "/shop/shop/shop/", f"/calendar/{LATER}", site={"traps": False}),
    Case(
        name="a calendar without end ends",
        here={day: page(day, then) for day, then in pairwise(DAYS)}, seeds=(DAYS[1],),
        pages=dict.fromkeys(DAYS[1:4], "done"), records={day: day for day in DAYS[1:4]},
        asked=dict.fromkeys(DAYS[1:4], 1),
        dropped={"trap: endless calendar": 1},
    ),
    Case(
        name="a path that grows by its own links ends",
        here={"/": page("0", "more/"), "/more/": page("1", "more/"), "/more/more/": page("2", "more/")},
        pages={"/": "done", "/more/": "done", "/more/more/": "done"},
        records={"/": "0", "/more/": "1", "/more/more/": "2"},
        asked={"/": 1, "/more/": 1, "/more/more/": 1}, dropped={"trap: growing path": 1},
    ),
    Case(
        name="no page is deeper than the site wants", here={"/": page("0", "/1"), "/1": page("1", "/2"),
                                                            "/2": page("2")}, site={"max_depth": 1},
        pages={"/": "done", "/1": "done"}, records={"/": "0", "/1": "1"}, asked={"/": 1, "/1": 1},
        dropped={"too deep": 1},
    ),
    Case(
        name="a host has no more pages than the site wants",
        here={"/": page("0", *(f"/{n}" for n in range(9)))}, site={"max_pages": 3},
        pages={"/": "done", "/0": "dead: broken link", "/1": "dead: broken link"}, records={"/": "0"},
        asked={"/": 1, "/0": 1, "/1": 1},
        dropped={"too many pages of its host": 7},
    ),
    linked("links start from the first base", '<base href="/x/"><base href="/y/">' + a("b"), "/x/b"),
    linked("a base in a comment is none", '<!--<base href="/x/">-->' + a("b"), "/d/b"),
    linked("a base in a script is none", "<script>'<base href=\"/x/\">'</script>" + a("b"), "/d/b"),
    linked("a base without an address is passed over", '<base target="_top"><base href="/x/">' + a("b"),
           "/x/b"),
    linked("a base far down counts", f"<head><!--{'x' * 5_000}--><base href='/x/'></head>" + a("b"), "/x/b"),
    linked("a relative base starts from its page", '<base href="../x/">' + a("b"), "/x/b"),
    linked("a malformed base is none", '<base href="http://[">' + a("b"), "/d/b"),
    linked("a base that is a script is none", '<base href="javascript:x">' + a("b"), "/d/b"),
    linked("a base with blanks is read", '<base href=" \n/x/ ">' + a("b"), "/x/b"),
    linked("a base on another host takes relative links out of scope",
           f'<base href="{OTHER}/">' + a("b", f"{HERE}/c"), "/c", dropped={"out of scope": 1}),
    linked("a link in a comment is none", "<!--" + a("/a") + "-->" + a("/b"), "/b"),
    linked("a link without quotes is read", "<a href=/b>to", "/b"),
    linked("a link in capitals is read", '<A HREF="/b">to</A>', "/b"),
    linked("the first of two addresses counts", '<a href="/b" href="/c">to</a>', "/b"),
    linked("links are decoded once", a("/b?x=1&amp;amp;y=2"), "/b?x=1&amp;y=2"),
    linked("a query is sent in the encoding of its page",
           "<meta charset=windows-1251><a href='/b?q=\udcef\udcf0'>to</a>", "/b?q=%EF%F0",
           content_type="Content-Type: text/html"),
    linked("a path is sent in UTF-8 whatever the encoding of its page",
           "<meta charset=windows-1251><a href='/\udcef\udcf0'>to</a>", "/%D0%BF%D1%80",
           content_type="Content-Type: text/html"),
)  # fmt: skip
