"""Framing, cuts and deadlines: what is not whole is a failure, and never a shorter page."""

from __future__ import annotations

from hostile.answers import CHUNKED, HTML, answer, chunks, head, page, said
from hostile.case import Case, done, fails, keeps
from hostile.server import CLOSE, HALF_CLOSE, HANG, RESET, Endless, Script

BODY = said("hello").encode()
START, END = BODY[:10], BODY[10:]
QUICK, LESS_QUICK = {"total_timeout": 0.15}, {"total_timeout": 0.25}  # the second reads a page as well
FORGED = page("forged", "/forged")


def chunked(body: bytes, *lines: str) -> bytes:
    return head(HTML, CHUNKED, *lines) + body


def long(length: str) -> bytes:
    return head(HTML, f"Content-Length: {length}") + BODY


CUT: dict[str, tuple[Script, str]] = {
    "a body shorter than its length": ((page("hello")[:-3], CLOSE), "cut short"),
    "a body of which nothing comes": ((head(HTML, "Content-Length: 90"), CLOSE), "cut short"),
    "a body that ends in a reset": ((page("hello")[:-3], RESET), "connection"),
    "a body that is half-closed": ((page("hello")[:-3], HALF_CLOSE, HANG), "cut short"),
    "a body without its last chunk": ((chunked(chunks(BODY, end=b"")), CLOSE), "cut short"),
    "a body cut inside a chunk": ((chunked(chunks(BODY)[:20]), CLOSE), "cut short"),
    "a body cut inside the size of a chunk": ((chunked(chunks(START, end=b"1")), CLOSE), "cut short"),
    "an answer cut inside its status line": ((b"HTTP/1.1 20", CLOSE), "cut short"),
    "an answer cut between its headers": (
        (b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n", CLOSE),
        "cut short",
    ),
    "an answer cut inside a header": ((b"HTTP/1.1 200 OK\r\nContent-Le", CLOSE), "cut short"),
    "an answer of no byte": (CLOSE, "connection"),
    "a reset before the answer": (RESET, "connection"),
    "a body that only the end of the connection ends": ((head(HTML) + BODY, CLOSE), "unframed"),
    "an answer that never comes": (HANG, "time-out"),
    "headers that never end": ((b"HTTP/1.1 200 OK\r\nX-Slow: ", HANG), "time-out"),
    "a body that stops": ((page("hello")[:-3], HANG), "time-out"),
    "a byte of a header now and then": ((b"HTTP/1.1 200 OK\r\nX-Drip: ", Endless(b"1", 0.01)), "time-out"),
    "a byte of the body now and then": ((head("Content-Length: 9999"), Endless(b"1", 0.01)), "time-out"),
    "a byte of a chunk's size now and then": ((chunked(b""), Endless(b"0", 0.01)), "time-out"),
    "a chunk now and then": ((chunked(b""), Endless(b"1\r\n1\r\n", 0.01)), "time-out"),
    "interim answers without end": (Endless(b"HTTP/1.1 100 Continue\r\n\r\n", 0.01), "time-out"),
}
UNANSWERED = (
    "an answer of no byte",
    "a reset before the answer",
)  # on a kept connection: sent once more on a new one
DAMAGED: dict[str, Script] = {
    "a body without a head": (BODY + b"\n", CLOSE),
    "an answer in HTTP/2": (b"\0\0\x12\x04\0\0\0\0\0\0\x03\0\0\0d\0\x04\0\xa0\0\0\0\x02\0\0\0\0", CLOSE),
    "another protocol's banner": (b"SSH-2.0-OpenSSH_9.6\r\n", CLOSE),
    "a radio's status line": (b"ICY 200 OK\r\nContent-Length: 0\r\n\r\n", CLOSE),
    "a status of letters": b"HTTP/1.1 OK 200\r\nContent-Length: 0\r\n\r\n",
    "a status of four digits": b"HTTP/1.1 2000 OK\r\nContent-Length: 0\r\n\r\n",
    "a chunk whose size is no number": (chunked(b"xyz\r\n" + BODY), CLOSE),
    "a chunk of a size below 0": (chunked(b"-5\r\nhello\r\n0\r\n\r\n"), CLOSE),
    "a chunk of a size with a prefix": (chunked(b"0x5\r\nhello\r\n0\r\n\r\n"), CLOSE),
    "a chunk of a size with an underscore": (chunked(b"0_5\r\nhello\r\n0\r\n\r\n"), CLOSE),
    "a chunk longer than its size": (chunked(b"5\r\nhello, you\r\n0\r\n\r\n"), CLOSE),
    "chunks without sizes": (chunked(BODY), CLOSE),
}
LENGTHS = ("-1", "abc", "+27", "0x1b", "2_7", "27, 28", "", "²7")

CASES = (
    Case(
        name="whole pages are read over one connection, with their links",
        here={"/": page("hello", "/a"), "/a": page("there")},
        pages={"/": "done", "/a": "done"},
        records={"/": "hello", "/a": "there"},
        asked={"/": 1, "/a": 1},
        connections=1,
    ),
    *(
        fails(f"{name} is no page", script, reason, tune=QUICK if reason == "time-out" else {})
        for name, (script, reason) in CUT.items()
    ),
    *(
        keeps(f"{name} takes no record and no link away", script, f"dead: {reason}",
              2 + (name in UNANSWERED), later=LESS_QUICK if reason == "time-out" else {})
        for name, (script, reason) in CUT.items()
    ),
    *(fails(f"{name} is no page", script, "damaged") for name, script in DAMAGED.items()),
    *(fails(f"a length of {length!r} is none", (long(length), CLOSE), "damaged") for length in LENGTHS),
    fails("two lengths that differ are none", (head("Content-Length: 4", "Content-Length: 5") + b"12345",
                                               CLOSE), "damaged"),
    done("two lengths that agree are one", answer(BODY, HTML, f"Content-Length: {len(BODY)}")),
    done("chunks count where there is a length too", chunked(chunks(START, END), "Content-Length: 5")),
    done("many small chunks are one body", chunked(chunks(*(BODY[n : n + 1] for n in range(len(BODY)))))),
    done("chunks may have extensions", chunked(b"%x;name=value\r\n%s\r\n0;last\r\n\r\n" % (len(BODY), BODY))),
    done("the size of a chunk may be written at length",
         chunked(b"000%X\r\n%s\r\n000\r\n\r\n" % (len(BODY), BODY))),
    done("chunks may be followed by trailers",
         chunked(chunks(BODY, end=b"0\r\nX-Sum: 1\r\nX-Time: 2\r\n\r\n"))),
    done("a status line may lack its words", page("hello").replace(b" Thing", b"")),
    done("lines may end in a bare line feed", page("hello").replace(b"\r\n", b"\n")),
    done("HTTP/1.0 with a length is whole", (page("hello").replace(b"HTTP/1.1", b"HTTP/1.0"), CLOSE)),
    done("a site may accept what only the connection ends", (head(HTML) + BODY, CLOSE),
         tune={"unframed": True}),
    done("an empty body is a page without records", answer(b"", HTML), None),
    done("an interim answer comes before the real one", b"HTTP/1.1 100 Continue\r\n\r\n" + page("hello")),
    done("early hints are no answer", b"HTTP/1.1 103 Early Hints\r\nLink: </s.css>\r\n\r\n" + page("hello")),
    done("an answer that comes before its request is read is one", page("hello"),
         greeting=(page("hello"), HALF_CLOSE, HANG), asked={}),
    Case(
        name="what follows a body on its connection is not the next page",
        here={"/": page("hello", "/a") + FORGED, "/a": page("there")},
        pages={"/": "done", "/a": "done"},
        records={"/": "hello", "/a": "there"},
        asked={"/": 1, "/a": 1},
    ),
    Case(
        name="much that follows a body on its connection is not the next page",
        here={"/": page("hello", "/a") + FORGED * 500, "/a": page("there")},
        pages={"/": "done", "/a": "done"},
        records={"/": "hello", "/a": "there"},
        asked={"/": 1, "/a": 1},
        connections=2,
    ),
    Case(
        name="what follows the last chunk on its connection is not the next page",
        here={"/": chunked(chunks(said("hello", "/a").encode()) + FORGED * 500), "/a": page("there")},
        pages={"/": "done", "/a": "done"},
        records={"/": "hello", "/a": "there"},
        asked={"/": 1, "/a": 1},
    ),
    Case(
        name="a body where none may be is not the next page",
        here={"/": page("hello", "/none", "/a"), "/none": head("Server: x", status=204) + FORGED * 500,
              "/a": page("there")},
        pages={"/": "done", "/none": "dead: HTTP status", "/a": "done"},
        records={"/": "hello", "/a": "there"},
        asked={"/": 1, "/none": 1, "/a": 1},
    ),
    Case(
        name="a kept connection that the server has closed costs no attempt",
        here={"/": (page("hello", "/a"), CLOSE), "/a": page("there")},
        tune={"max_attempts": 1},
        pages={"/": "done", "/a": "done"},
        records={"/": "hello", "/a": "there"},
        asked={"/": 1, "/a": 1},
        connections=2,
    ),
    Case(
        name="a page that is whole at its second try is read once",
        here={"/": [(page("hello", "/a")[:-5], CLOSE), page("hello", "/a")], "/a": page("there")},
        pages={"/": "done", "/a": "done"},
        records={"/": "hello", "/a": "there"},
        asked={"/": 2, "/a": 1},
        columns={"/": {"failures": 0, "error": None}},
    ),
)  # fmt: skip
