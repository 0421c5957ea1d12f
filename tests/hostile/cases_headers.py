"""Headers: what a browser reads past is read past, what cannot be understood is a failure."""

from __future__ import annotations

from hostile.answers import HTML, answer, head, page, said
from hostile.case import Case, done, fails
from hostile.server import CLOSE, Endless

BODY = said("hello").encode()
QUICK = {"total_timeout": 0.15}


def with_line(line: bytes) -> bytes:
    return answer(BODY, HTML, line, "Server: x")


READ_PAST: dict[str, bytes] = {
    "a header without a colon": with_line(b"this is no header"),
    "a header without a name": with_line(b": value"),
    "a header whose name has a space": with_line(b"X Odd: 1"),
    "a header with a space before its colon": with_line(b"X-Odd : 1"),
    "a header without a value": with_line(b"X-Odd:"),
    "a header in UTF-8": with_line("X-Odd: Zürich ☃".encode()),
    "a header in latin-1": with_line("X-Odd: Zürich".encode("latin-1")),
    "a header with an escape character": with_line(b"X-Odd: \x1b[31mred"),
    "a header with a vertical tab": with_line(b"X-Odd: a\x0bb"),
    "a header with a NUL": with_line(b"X-Odd: a\0b"),
    "a header with a NEL": with_line(b"X-Odd: a\x85b"),
    "a folded header": with_line(b"X-Odd: one\r\n two"),
    "a header of 20 kB": with_line(b"X-Odd: " + b"x" * 20_000),
    "ninety headers": answer(BODY, HTML, *(f"X-{n}: {n}" for n in range(88))),
    "forty cookies": answer(BODY, HTML, *(f"Set-Cookie: c{n}={n}; Path=/" for n in range(40))),
    "a folded first header": head(" folded", HTML, f"Content-Length: {len(BODY)}") + BODY,
    "a type without a subtype": answer(BODY, "Content-Type: html"),
    "two types": answer(BODY, HTML, "Content-Type: text/plain"),
    "no type": answer(BODY),
    "a type in capitals": answer(BODY, "CONTENT-TYPE: TEXT/HTML; CHARSET=UTF-8"),
}

CASES = (
    *(done(f"{name} is read past", script) for name, script in READ_PAST.items()),
    fails("a header without end is left at the cap", (b"HTTP/1.1 200 OK\r\nX-Long: ", Endless(b"x" * 8_192)),
          "headers", 1),
    fails("headers without end are left at the cap", (b"HTTP/1.1 200 OK\r\n",
                                                      Endless(b"X-Many: 1\r\n" * 800)), "headers", 1),
    fails("a status line without end is left at the cap", (b"HTTP/1.1 200 ", Endless(b"x" * 8_192)),
          "headers", 1),
    fails("more headers than the cap are a failure", answer(BODY, HTML,
                                                            *(f"X-{n}: {n}" for n in range(9_000))),
                                                            "headers", 1),
    fails("interim answers as fast as they can be sent end at the deadline",
          Endless(b"HTTP/1.1 100 Continue\r\n\r\n" * 300), "time-out", tune=QUICK),
    fails("trailers as fast as they can be sent end at the deadline",
          (head(HTML, "Transfer-Encoding: chunked") + b"0\r\n", Endless(b"X-Many: 1\r\n" * 800)), "time-out",
          tune=QUICK),
    fails("a transfer coding that nobody knows is a failure",
          (head(HTML, "Transfer-Encoding: tea") + BODY, CLOSE), "damaged"),
    fails("an unknown transfer coding before chunks is a failure",
          (head(HTML, "Transfer-Encoding: gzip, chunked") + b"5\r\nhello\r\n0\r\n\r\n", CLOSE), "damaged"),
    Case(
        name="a header that is not there is not taken from the body",
        here={"/": answer(b"Location: /evil\r\n\r\n" + said("hello", "/a").encode(), HTML),
              "/a": page("there")},
        pages={"/": "done", "/a": "done"},
        records={"/": "hello", "/a": "there"},
        asked={"/": 1, "/a": 1},
    ),
)  # fmt: skip
