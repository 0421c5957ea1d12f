"""Content codings and caps: unpacked to its end and within limits, or a failure."""

from __future__ import annotations

import gzip
import zlib

from hostile.answers import (
    CHUNKED,
    GZIP,
    HTML,
    answer,
    chunks,
    deflated,
    head,
    packed,
    page,
    raw_deflated,
    said,
)
from hostile.case import Case, done, fails, keeps
from hostile.server import Endless

BODY = said("hello").encode()
LESS = {"max_body": 100_000}
ZEROS = gzip.compress(b"<h1>hello</h1>" + b"\0" * 3_000_000, mtime=0)
FEW = gzip.compress(b"<h1>hello</h1>" + b" " * 900_000, mtime=0)


def coded(body: bytes, coding: str, *lines: str) -> bytes:
    return answer(body, HTML, f"Content-Encoding: {coding}", *lines)


def huge(size: int, *links: str) -> bytes:
    text = said("hello", *links)
    return answer(text + " " * (size - len(text)), HTML)


WHOLE = {
    "gzip": coded(packed("hello"), "gzip"),
    "x-gzip": coded(packed("hello"), "x-gzip"),
    "gzip in capitals": coded(packed("hello"), " GZip "),
    "gzip in chunks": head(HTML, GZIP, CHUNKED) + chunks(packed("hello")[:9], packed("hello")[9:]),
    "gzip of two members": coded(gzip.compress(BODY[:9]) + gzip.compress(BODY[9:]), "gzip"),
    "gzip with padding": coded(packed("hello") + b"\0" * 20, "gzip"),
    "gzip twice": coded(gzip.compress(packed("hello")), "gzip, gzip"),
    "gzip after identity": coded(packed("hello"), "identity, gzip"),
    "gzip in two headers": coded(gzip.compress(packed("hello")), "gzip", GZIP),
    "deflate with zlib's frame": coded(deflated("hello"), "deflate"),
    "deflate without a frame": coded(raw_deflated("hello"), "deflate"),
    "no coding by name": coded(BODY, "identity"),
    "no coding by an empty name": coded(BODY, ""),
}
NOT_WHOLE = {
    "gzip cut in half": (coded(packed("hello")[: len(packed("hello")) // 2], "gzip"), "cut short"),
    "gzip that lacks its last byte": (coded(packed("hello")[:-1], "gzip"), "cut short"),
    "gzip cut inside its head": (coded(packed("hello")[:5], "gzip"), "cut short"),
    "gzip whose second member is cut": (coded(packed("hello") + packed("more")[:-9], "gzip"), "cut short"),
    "deflate cut in half": (coded(deflated("hello")[:-8], "deflate"), "cut short"),
    "gzip twice whose inner stream is cut": (
        coded(gzip.compress(packed("hello")[:-4]), "gzip, gzip"),
        "cut short",
    ),
    "gzip with a wrong sum": (
        coded(packed("hello")[:-8] + b"\1\2\3\4" + packed("hello")[-4:], "gzip"),
        "damaged",
    ),
    "gzip that is plain text": (coded(BODY, "gzip"), "damaged"),
    "deflate that is plain text": (coded(BODY, "deflate"), "damaged"),
    "a coding that nobody knows": (coded(BODY, "snappy"), "damaged"),
    "a coding that nobody knows inside gzip": (coded(packed("hello"), "snappy, gzip"), "damaged"),
}

CASES = (
    *(done(f"{name} is unpacked", script) for name, script in WHOLE.items()),
    *(fails(f"{name} is no page", script, reason) for name, (script, reason) in NOT_WHOLE.items()),
    *(
        keeps(f"{name} takes no record and no link away", script, f"dead: {reason}")
        for name, (script, reason) in NOT_WHOLE.items()
    ),
    done("an empty body that is called gzip is an empty page", coded(b"", "gzip"), None),
    fails("gzip that says so once and is so twice is no page", coded(gzip.compress(packed("hello")), "gzip"),
          "unreadable"),
    done("a body as large as the cap is read", huge(100_000), tune=LESS),
    fails("a body above the cap is never tried again", huge(100_001), "too large", 1, tune=LESS),
    keeps("a body above the cap takes nothing away", huge(100_001), "dead: too large", 1, tune=LESS),
    fails("a body of absurd length is left at the cap",
          (head("Content-Length: 99999999999999"), Endless(b"x" * 9_000)), "too large", 1, tune=LESS),
    fails("a body without end is left at the cap", (head(CHUNKED), Endless(chunks(b"x" * 9_000, end=b""))),
          "too large", 1, tune=LESS),
    fails("a chunk of absurd size is left at the cap", (head(CHUNKED) + b"ffffffffffffff\r\n",
                                                        Endless(b"x" * 9_000)), "too large", 1, tune=LESS),
    fails("a packed body is measured when it is unpacked", coded(FEW, "gzip"), "too large", 1, tune=LESS),
    fails("a small body that becomes a large one is a bomb", coded(ZEROS, "gzip"), "unpacks too far", 1),
    fails("a bomb inside gzip is one", coded(gzip.compress(ZEROS), "gzip, gzip"), "unpacks too far", 1),
    fails("a bomb of deflate is one", coded(zlib.compress(b"\0" * 3_000_000), "deflate"), "unpacks too far",
          1),
    keeps("a bomb takes nothing away", coded(ZEROS, "gzip"), "dead: unpacks too far", 1),
    done("what unpacks far and stays small is no bomb", coded(FEW, "gzip")),
    fails("more links than the cap are no page", page("hello", *(f"/{n}" for n in range(9))),
          "too many links", tune={"max_links": 8}),
    keeps("more links than the cap take nothing away", page("new", *(f"/{n}" for n in range(9))),
          "dead: too many links", tune={"max_links": 8}),
    Case(
        name="as many links as the cap are followed",
        here={"/": page("hello", *(f"/{n}" for n in range(3))),
              **{f"/{n}": answer("", HTML) for n in range(3)}},
        tune={"max_links": 3},
        pages={"/": "done", "/0": "done", "/1": "done", "/2": "done"},
        records={"/": "hello"},
        asked={"/": 1, "/0": 1, "/1": 1, "/2": 1},
    ),
)  # fmt: skip
