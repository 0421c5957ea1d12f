"""Looking again: conditional requests, what is gone, and what comes back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from hostile.answers import HTML, answer, head, moved, page, said, sent
from hostile.case import Case, path_of, read
from hostile.server import CLOSE, Answer, Script

from limpet import Page, Record

UNCHANGED = answer(b"", status=304)
DATE = "Tue, 01 Dec 2026 10:00:00 GMT"
FORGED = page("forged", "/forged")


def other_read(page: Page) -> Any:
    """As `read`, in other words: its code is another."""
    for text in page.all("h1"):
        yield Record("page", path_of(page), {"text": f"{text}!"})


def no_key(page: Page) -> Any:
    yield Record("page", " ", {"text": "x"})


def tagged(tag: str, text: str = "hello") -> Callable[..., Script]:
    """A page with an ETag, and 304 for whoever knows it."""
    return sent("if-none-match", tag, UNCHANGED, page(text, lines=(f"ETag: {tag}",)))


def visited(
    name: str, script: Answer | Sequence[Answer], rounds: int, state: str = "done", **more: Any
) -> Case:
    """One page, visited once a round."""
    given = {
        "here": {"/": script},
        "rounds": rounds,
        "pages": {"/": state},
        "records": {"/": "hello"},
        "asked": {"/": rounds},
    }
    return Case(name=name, **{**given, **more})


def gone(name: str, *answers: Script, version: int = 2, state: str = "gone") -> Case:
    """A page that has a record at first and none in the end."""
    return visited(
        name, list(answers), len(answers), state, records={}, gone=frozenset({"/"}), versions={"/": version}
    )


def not_kept(name: str, line: str | bytes) -> Case:
    """A validator that cannot be sent back."""
    return visited(
        f"{name} is not sent back",
        page("hello", lines=(line,)),
        2,
        sent={"/": {"if-none-match": None, "if-modified-since": None}},
    )


HELLO = page("hello")
NOT_FOUND, GONE = (answer(said("error"), HTML, status=status) for status in (404, 410))

CASES = (
    visited("an ETag is sent back, and a 304 makes no version", tagged('"v1"'), 3,
            sent={"/": {"if-none-match": '"v1"'}}),
    visited("a weak ETag is sent back to the letter", tagged('W/"a,b"'), 2,
            sent={"/": {"if-none-match": 'W/"a,b"'}}),
    visited("an ETag without quotes is sent back to the letter", tagged("abc"), 2,
            sent={"/": {"if-none-match": "abc"}}),
    visited("a date is sent back to the letter", sent("if-modified-since", DATE, UNCHANGED,
                                                      page("hello", lines=(f"Last-Modified: {DATE}",))),
            2, sent={"/": {"if-modified-since": DATE}}),
    visited("a date that is none is sent back to the letter",
            sent("if-modified-since", "yesterday", UNCHANGED,
                 page("hello", lines=("Last-Modified: yesterday",))), 2),
    visited("both are sent back", page("hello", lines=('ETag: "1"', f"Last-Modified: {DATE}")), 2,
            sent={"/": {"if-none-match": '"1"', "if-modified-since": DATE}}),
    not_kept("an ETag in UTF-8", 'ETag: "ü"'.encode()),
    not_kept("an ETag with a control character", b'ETag: "a\x01b"'),
    not_kept("an ETag of 5,000 characters", f'ETag: "{"x" * 5_000}"'),
    not_kept("an empty ETag", "ETag:"),
    visited("a page that is sent in full all the same is compared", page("hello", lines=('ETag: "1"',)), 3),
    visited("a page that has changed has a new version and a new ETag",
            [tagged('"v1"'), tagged('"v2"', "new"), tagged('"v2"', "new")], 3,
            records={"/": "new"}, versions={"/": 2}, sent={"/": {"if-none-match": '"v2"'}}),
    visited("a page is asked for in full when its handler has changed", tagged('"v1"'), 2,
            reads=(read, other_read),
            records={"/": "hello!"}, versions={"/": 2}, sent={"/": {"if-none-match": None}}),
    visited("the ETag of an error page is not sent back",
            [page("x", status=500, lines=('ETag: "err"',)), page("hello")], 1,
            asked={"/": 2}, sent={"/": {"if-none-match": None}}),
    visited("a 304 that is cut changes nothing", [page("hello", lines=('ETag: "1"',)),
                                                  (b"HTTP/1.1 304 Not Mod", CLOSE), HELLO], 2,
            asked={"/": 3}),
    Case(
        name="a body after a 304 is not the next page",
        here={"/": sent("if-none-match", "1", UNCHANGED + FORGED * 500,
                        page("hello", "/a", lines=('ETag: "1"',))), "/a": page("there")},
        rounds=2, pages={"/": "done", "/a": "done"}, records={"/": "hello", "/a": "there"},
        asked={"/": 2, "/a": 2},
    ),
    Case(
        name="a 304 that tells a length has no body",
        here={"/": sent("if-none-match", "1", head("Content-Length: 999", status=304),
                        page("hello", "/a", lines=('ETag: "1"',))), "/a": page("there")},
        rounds=2, pages={"/": "done", "/a": "done"}, records={"/": "hello", "/a": "there"}, asked={"/": 2, "/a": 2},
        connections=2,
    ),
    visited("a 410 that is cut takes nothing away", [HELLO, (GONE[:-3], CLOSE)], 2, "dead: cut short",
            asked={"/": 3}),
    visited("a 404 that is cut takes nothing away", [HELLO, (NOT_FOUND[:-3], CLOSE)], 3, "dead: cut short",
            asked={"/": 5}),
    Case(
        name="a 304 keeps the links of its page",
        here={"/": sent("if-none-match", "1", UNCHANGED, page("hello", "/a", lines=('ETag: "1"',))),
              "/a": page("there")},
        rounds=3, pages={"/": "done", "/a": "done"}, records={"/": "hello", "/a": "there"},
        asked={"/": 3, "/a": 3},
    ),
    gone("a 410 takes a page away at once", HELLO, GONE),
    gone("a 404 takes a page away at the second look in another round", HELLO, NOT_FOUND, NOT_FOUND),
    gone("a page that is gone stays gone", HELLO, GONE, NOT_FOUND, GONE),
    gone("what came back may go again", HELLO, GONE, page("hello"), GONE, version=4),
    visited("a first 404 takes nothing away", [HELLO, NOT_FOUND], 2, columns={"/": {"status": 404}}),
    visited("a 404 now and then takes nothing away", [HELLO, NOT_FOUND, HELLO, NOT_FOUND, HELLO], 5),
    visited("a 404 and an error take nothing away", [HELLO, NOT_FOUND, answer("", status=500)], 3,
            "dead: HTTP status", asked={"/": 4}),
    visited("what comes back is the next version", [HELLO, GONE, HELLO], 3, versions={"/": 3}),
    visited("what comes back changed is the next version", [HELLO, GONE, page("new")], 3,
            records={"/": "new"}, versions={"/": 3}),
    visited("a broken link that is mended is a page", [NOT_FOUND, HELLO], 2),
    visited("a dead page is tried again in the next round", [answer("", status=418), HELLO], 2),
    visited("an empty page takes nothing away", [HELLO, answer("", HTML)], 2),
    visited("a page of another kind takes nothing away",
            [HELLO, answer("%PDF-1.7", "Content-Type: application/pdf")], 2, "dead: unreadable",
            asked={"/": 3}),
    visited("a record without a key takes nothing away", HELLO, 2, reads=(read, no_key), rejected=1),
    Case(
        name="a page that has moved for good keeps the record of its new address",
        here={"/": [HELLO, moved("/new", 301)], "/new": page("hello")}, rounds=3,
        pages={"/": "alias", "/new": "done"}, records={"/new": "hello"}, asked={"/": 3, "/new": 2},
        gone=frozenset({"/"}), versions={"/": 2},
    ),
)  # fmt: skip
