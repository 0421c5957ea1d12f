"""robots.txt and sitemaps: what the site says of itself, as far as it can be believed."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from typing import Any

from hostile.answers import GZIP, HTML, answer, head, moved, page, said
from hostile.case import Case
from hostile.server import CLOSE, HANG, HERE, OTHER, Answer, Endless

NO_A = b"User-agent: *\nDisallow: /a\n"
TEXT = "Content-Type: text/plain"
RULES = answer(NO_A, TEXT)
SITE = {"robots": True}
SLOW = {"time_scale": 1e-4}  # a day is 8.6 s: rules stay fresh for all of a case
ROBOTS = "/robots.txt"


def obeys(
    name: str,
    robots: Answer | Sequence[Answer],
    *,
    a: bool = False,
    b: bool = True,
    asked: int = 1,
    **more: Any,
) -> Case:
    """`/` leads to `/a` and `/b`: which of them may be visited. By default the rules forbid `/a` alone."""
    may = {"/": True, "/a": a, "/b": b}
    answers = {
        "/": page("hello", "/a", "/b"),
        "/a": page("a"),
        "/b": page("b"),
        ROBOTS: robots,
        **more.pop("here", {}),
    }
    requests = {
        ROBOTS: asked,
        **{path: 1 for path, allowed in may.items() if allowed},
        **more.pop("requests", {}),
    }
    records = {path: text for path, text in (("/", "hello"), ("/a", "a"), ("/b", "b")) if may[path]}
    given = {"site": SITE, "tune": SLOW, "records": records, "asked": requests}
    return Case(
        name=name,
        here=answers,
        pages={path: "done" if ok else "dead: robots" for path, ok in may.items()},
        **{**given, **more},
    )


def waits(name: str, robots: Answer, asked: int = 3, tune: dict[str, float] = SLOW, **more: Any) -> Case:
    """A robots.txt that cannot be had: nothing else is asked for."""
    return Case(name=name, here={"/": page("hello"), ROBOTS: robots}, site=SITE, tune=tune, until=asked,
                pages={"/": "pending"}, asked={ROBOTS: asked}, **more)  # fmt: skip


def mapped(
    name: str, answers: dict[str, Answer | Sequence[Answer]], state: str, asked: int = 1, **more: Any
) -> Case:
    """A sitemap of the site file that lists `/p`."""
    there = state == "done"
    pages = {"/": "done", f"sitemap {HERE}/map.xml": state, **({"/p": "done"} if there else {})}
    given = {
        "pages": pages, "records": {"/": "hello", **({"/p": "p"} if there else {})},
        "asked": {"/": 1, "/map.xml": asked, **({"/p": 1} if there else {})},
    }  # fmt: skip
    return Case(
        name=name,
        here={"/": page("hello"), "/p": page("p"), **answers},
        site={"sitemaps": [f"{HERE}/map.xml"]},
        **{**given, **more},
    )


def urls(*paths: str) -> bytes:
    return b'<?xml version="1.0"?><urlset>%s</urlset>' % b"".join(
        b"<url><loc>%s</loc></url>" % path.encode() for path in paths
    )


MAP = urls("/p")
INDEX = b"<sitemapindex><sitemap><loc>/map.xml</loc></sitemap></sitemapindex>"
DOCTYPE = b'<!DOCTYPE urlset [<!ENTITY x SYSTEM "file:///etc/passwd">]>'
XML = "Content-Type: application/xml"

CASES = (
    obeys("what robots.txt forbids is not asked for", RULES),
    *(obeys(f"a robots.txt of {status} forbids nothing", answer(NO_A, status=status),
            a=True) for status in (400, 401, 403, 404, 410, 451)),
    *(obeys(f"a robots.txt of {status} is asked for again", [answer(b"", status=status), RULES],
            asked=2) for status in (429, 500, 502, 503, 599)),
    *(waits(f"a host whose robots.txt stays {status} gives nothing out",
            answer(NO_A, status=status)) for status in (429, 500, 503)),
    waits("a host whose robots.txt never comes gives nothing out", HANG, 2, {**SLOW, "total_timeout": 0.15}),
    waits("a host whose robots.txt is always cut gives nothing out", (RULES[:-3], CLOSE)),
    waits("a host whose robots.txt is damaged gives nothing out", answer(NO_A, TEXT, GZIP)),
    obeys("a robots.txt that is cut is asked for again", [(RULES[:-3], CLOSE), RULES], asked=2),
    obeys("a robots.txt of 304 that nobody asked for is asked for again", [answer(b"", status=304), RULES], asked=2),
    obeys("a robots.txt of 206 is asked for again", [answer(b"User-agent: *", TEXT, status=206), RULES], asked=2),
    obeys("what was forbidden and is no more is visited when the new rules are known",
          [RULES, answer(b"", TEXT)], a=True, asked=3, rounds=3, requests={"/": 3, "/b": 3}),
    obeys("a robots.txt that fails in the next round leaves its rules", [RULES, answer(b"", status=500)], asked=3,
          rounds=2, requests={"/": 2, "/b": 2}),
    obeys("a BOM hides no rule", answer(b"\xef\xbb\xbf" + NO_A, TEXT)),
    obeys("a page in the place of robots.txt forbids nothing", answer(said("not found", "/x"), HTML), a=True),
    obeys("an empty robots.txt forbids nothing", answer(b"", TEXT), a=True),
    obeys("a binary robots.txt forbids nothing", answer(bytes(range(256)) * 40, "Content-Type: image/png"),
          a=True),
    obeys("rules between bytes of another encoding hold", answer(b"# caf\xe9 \xff\xfe\n" + NO_A, TEXT)),
    obeys("rules after a NUL hold", answer(b"# a\0b\n" + NO_A, TEXT)),
    obeys("rules in lines of carriage returns hold", answer(NO_A.replace(b"\n", b"\r"), TEXT)),
    obeys("rules in lines of both hold", answer(NO_A.replace(b"\n", b"\r\n"), TEXT)),
    obeys("rules in capitals hold", answer(b"USER-AGENT: *\nDISALLOW: /a\n", TEXT)),
    obeys("rules of another type hold", answer(NO_A, HTML)),
    obeys("packed rules hold", answer(gzip.compress(NO_A), TEXT, GZIP)),
    obeys("our own group of rules is the one that counts",
          answer(b"User-agent: *\nDisallow: /b\n\nUser-agent: limpet\nDisallow: /a\n", TEXT)),
    obeys("the longer rule counts", answer(b"User-agent: *\nDisallow: /\nAllow: /b\nAllow: /$\n", TEXT)),
    obeys("a pattern holds", answer(b"User-agent: *\nDisallow: /*a$\n", TEXT)),
    obeys("of 600 kB the first 500 KiB count", answer(NO_A + b"# " + b"x" * 600_000 + b"\nDisallow: /b\n",
                                                      TEXT)),
    obeys("of a robots.txt without end the first 500 KiB count",
          (head(TEXT, "Content-Length: 999999999") + NO_A, Endless(b"# endless\n" * 800))),
    obeys("a packed robots.txt that becomes a large one is read to 500 KiB",
          answer(gzip.compress(NO_A + b"#" * 900_000), TEXT, GZIP)),
    obeys("a robots.txt may have moved", moved("/r.txt", 301), here={"/r.txt": RULES},
          requests={"/r.txt": 1}),
    obeys("a robots.txt may have moved five times", moved("/1"),
          here={"/1": moved("/2"), "/2": moved("/3"), "/3": moved("/4"), "/4": moved("/5"), "/5": RULES},
          requests={"/1": 1, "/2": 1, "/3": 1, "/4": 1, "/5": 1}),
    obeys("a robots.txt in a circle forbids nothing", moved("/robots.txt"), a=True, asked=6),
    obeys("a robots.txt that leads nowhere forbids nothing", moved("ftp://x/"), a=True),
    obeys("a robots.txt that leads to a private address forbids nothing, and gets no byte there",
          moved(f"{OTHER}/robots.txt"), a=True, untouched=True),
    obeys("a robots.txt may be on another host", moved(f"{OTHER}/r"), other={"/r": RULES},
          site={"robots": True, "allow_private": True},
          requests={f"{OTHER}/r": 1}),
    obeys("a delay between requests is read as a fraction", answer(NO_A + b"Crawl-delay: 0.01\n", TEXT),
          host={"crawl_delay": 10}),
    obeys("a delay that is none is none", answer(NO_A + b"Crawl-delay: soon\n", TEXT),
          host={"crawl_delay": 0}),
    obeys("a delay below 0 is none", answer(NO_A + b"Crawl-delay: -5\n", TEXT), host={"crawl_delay": 0}),
    obeys("a delay that is infinite is none", answer(NO_A + b"Crawl-delay: nan\n", TEXT),
          host={"crawl_delay": 0}),
    Case(
        name="an absurd delay is capped", here={"/": page("hello"),
                                                ROBOTS: answer(b"User-agent: *\nCrawl-delay: 86400", TEXT)},
                                                site=SITE, tune=SLOW,
        pages={"/": "done"}, records={"/": "hello"}, asked={ROBOTS: 1, "/": 1}, host={"crawl_delay": 60_000},
    ),
    Case(
        name="a redirect to what is forbidden is not followed", here={"/": moved("/a"), ROBOTS: RULES},
        site=SITE, tune=SLOW,
        pages={"/": "alias", "/a": "dead: robots"}, asked={ROBOTS: 1, "/": 1},
    ),
    Case(
        name="inline, a redirect to what is forbidden is not followed",
        here={"/": moved("/a"), ROBOTS: RULES}, site={**SITE, "follow": "inline"}, tune=SLOW,
        pages={"/": "alias", "/a": "dead: robots"}, asked={ROBOTS: 1, "/": 1},
    ),
    Case(
        name="each host has a robots.txt of its own", here={"/": page("hello", f"{OTHER}/a", f"{OTHER}/b"),
                                                            ROBOTS: answer(b"", TEXT)},
        other={ROBOTS: RULES, "/b": page("b")}, site={**SITE, "hosts": ("127.0.0.1:00002",)}, tune=SLOW,
        pages={"/": "done", f"{OTHER}/a": "dead: robots", f"{OTHER}/b": "done"},
        records={"/": "hello", "/b": "b"},
        asked={ROBOTS: 1, "/": 1, f"{OTHER}{ROBOTS}": 1, f"{OTHER}/b": 1},
    ),
    Case(
        name="robots.txt is asked for once a round", here={"/": page("hello", "/b"), "/b": page("b"),
                                                           ROBOTS: RULES}, site=SITE, tune=SLOW,
        rounds=3, pages={"/": "done", "/b": "done"}, records={"/": "hello", "/b": "b"},
        asked={ROBOTS: 3, "/": 3, "/b": 3},
    ),
    mapped("the pages of a sitemap are visited", {"/map.xml": answer(MAP, XML)}, "done"),
    mapped("a packed sitemap is read",
           {"/map.xml": answer(gzip.compress(MAP), "Content-Type: application/gzip")}, "done"),
    mapped("a sitemap that is cut is asked for again",
           {"/map.xml": [(answer(MAP, XML)[:-9], CLOSE), answer(MAP, XML)]}, "done", 2),
    mapped("a sitemap that lacks its end is none", {"/map.xml": answer(MAP[:-5], XML)}, "dead: unreadable",
           2),
    mapped("a packed sitemap that lacks its end is none", {"/map.xml": answer(gzip.compress(MAP)[:-9], XML)},
           "dead: unreadable", 2),
    Case(
        name="a sitemap that lists itself is read once", site={"sitemaps": [f"{HERE}/map.xml"]},
        here={"/": page("hello"), "/map.xml": answer(INDEX, XML)},
        pages={"/": "done", f"sitemap {HERE}/map.xml": "done"}, records={"/": "hello"},
        asked={"/": 1, "/map.xml": 1},
    ),
    mapped("a page is no sitemap", {"/map.xml": answer(said("not found"), HTML)}, "dead: unreadable", 2),
    mapped("a sitemap above its cap is none", {"/map.xml": answer(urls("/p", "/q", "/r"), XML)},
           "dead: unreadable", 1, tune={"max_sitemap": 2}),
    mapped("of a sitemap one bad line costs one line",
           {"/map.xml": answer(urls("http://[", "/p", "ftp://x/"), XML)}, "done",
           dropped={"not a URL": 1, "not http": 1}),
    mapped("a sitemap that says entities out of files is not obeyed",
           {"/map.xml": answer(DOCTYPE + MAP[21:].replace(b"</loc>", b"</loc><lastmod>&x;</lastmod>"), XML)},
           "done", hidden="root:"),
)  # fmt: skip
