"""Status codes and retries: the status decides before anything is read."""

from __future__ import annotations

import threading
from collections.abc import Callable

from hostile.answers import HTML, answer, page, said
from hostile.case import Case, done, fails, keeps
from hostile.server import CLOSE, HANG, RESET, Asked, Script

FAST = {"time_scale": 1e-6}
FOR_GOOD = (204, 205, 206, 300, 305, 306, 400, 401, 402, 405, 406, 407, 409, 411, 412, 413, 414, 415, 416,
            417, 418, 421, 422, 426, 451)  # fmt: skip
AGAIN = (408, 425, 500, 501, 502, 504, 505, 507, 511, 520, 599, 600, 999)
LEFT_ALONE = (403, 429, 503)
AFTER = ("7", "0", "-5", "abc", "", "99999999", "1e3", "7.5", "7, 8", "Fri, 31 Dec 1999 23:59:59 GMT",
         "Fri, 31 Dec 2100 23:59:59 GMT", "Fri, 99 Dec 2100 23:59:59 GMT", "9" * 400)  # fmt: skip


def status(code: int, *lines: str) -> bytes:
    """An error page that looks like a page."""
    return answer("" if code in (204, 304) else said("error", "/evil"), HTML, *lines, status=code)


def together(count: int, script: Script) -> Callable[[Asked], Script]:
    """The script, once so many requests are waiting for it."""
    barrier = threading.Barrier(count, timeout=10)

    def decide(asked: Asked) -> Script:
        barrier.wait()
        return script

    return decide


FOUR = ("/a", "/b", "/c", "/d")

CASES = (
    *(fails(f"a {code} is no page, and final", status(code), "HTTP status", 1,
            columns={"/": {"status": code}}) for code in FOR_GOOD),
    *(fails(f"a {code} is no page, and tried again", status(code), "HTTP status", 2,
            columns={"/": {"status": code}}) for code in AGAIN),
    *(keeps(f"a {code} takes nothing away", status(code), "dead: HTTP status", 1) for code in (204, 206, 401,
                                                                                               418)),
    *(keeps(f"a {code} takes nothing away", status(code), "dead: HTTP status", 2) for code in (500, 599,
                                                                                               999)),
    *(
        done(f"a {code} charges the host and not the page", [status(code)] * 4 + [page("hello")],
             asked={"/": 5},
             columns={"/": {"failures": 0}}, host={"blocks": 0, "streak": 0})
        for code in (429, 503)
    ),
    done("a 403 charges the host at first", [status(403), page("hello")], asked={"/": 2},
         tune={"max_attempts": 1}),
    fails("a page that stays 403 is the page's own affair", status(403), "HTTP status", 3),
    *(
        Case(
            name=f"a {code} blocks the host, and its page waits", here={"/": status(code)},
            until=3 if code != 403 else 1, tune={"time_scale": 1e-3},  # a block that the clock can tell
            pages={"/": "pending: HTTP status"}, asked={"/": 3 if code != 403 else 1},
            columns={"/": {"failures": 0}}, host={"blocks": 3 if code != 403 else 1},
        )
        for code in LEFT_ALONE
    ),
    *(
        done(f"a Retry-After of {value[:40]!r} is tamed",
             [status(429, f"Retry-After: {value}"), page("hello")], asked={"/": 2},
             tune=FAST, columns={"/": {"failures": 0}})
        for value in AFTER
    ),
    done("a Retry-After that comes twice is tamed",
         [status(503, "Retry-After: 7", "Retry-After: 9"), page("hello")], asked={"/": 2}, tune=FAST),
    Case(
        name="four 429 at once raise the back-off once",
        here={"/": page("hello", *FOUR), **dict.fromkeys(FOUR, together(4, status(429)))},
        tune={"threads": 4, "time_scale": 1}, until=5,
        pages={"/": "done", **dict.fromkeys(FOUR, "pending: HTTP status")}, records={"/": "hello"},
        asked={"/": 1, **dict.fromkeys(FOUR, 1)}, host={"blocks": 1},
    ),
    Case(
        name="an outage of the host kills none of its pages",
        here={"/": page("hello", *FOUR), **{path: [status(500)] * 2 + [page("there")] for path in FOUR}},
        pages={"/": "done", **dict.fromkeys(FOUR, "done")},
        records={"/": "hello", **dict.fromkeys(FOUR, "there")},
        asked={"/": 1, **dict.fromkeys(FOUR, 3)},
        columns={path: {"failures": 0, "error": None} for path in FOUR},
    ),
    Case(
        name="five failures in a row rest the host, and the fifth charges no page",
        here={"/": status(502)}, tune={"max_attempts": 9}, until=5,
        pages={"/": "pending: HTTP status"}, asked={"/": 5}, columns={"/": {"failures": 4}},
        host={"rests": 1},
    ),
    done("a page that fails in four ways is read at its fifth try",
         [status(500), (page("x")[:-2], CLOSE), CLOSE, RESET, page("hello")],
         asked={"/": 5}, tune={"max_attempts": 5}),
    done("a 201 with a page is one", page("hello", status=201)),
    done("a 203 with a page is one", page("hello", status=203)),
    done("an unheard-of 2xx with a page is one", page("hello", status=299)),
    fails("a 101 that nobody asked for is no page",
          (b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: tea\r\n\r\n", HANG), "HTTP status", 1),
    fails("a 304 that nobody asked for is tried again", status(304), "HTTP status", 2),
    fails("a 404 of a page never seen is a broken link", status(404), "broken link", 1),
    fails("a 404 that only the connection ends is a broken link",
          (b"HTTP/1.0 404 Not Found\r\nServer: x\r\n\r\nnothing here", CLOSE), "broken link", 1),
    fails("a first byte that does not come in time is a time-out", HANG, "time-out", tune={"read_timeout": 0.15}),
    Case(name="a 410 of a page never seen is gone", here={"/": status(410)}, pages={"/": "gone"},
         asked={"/": 1}),
    fails("a part of a page with a range that nobody asked for is no page",
          status(206, "Content-Range: bytes 0-4/99"), "HTTP status", 1),
)  # fmt: skip
