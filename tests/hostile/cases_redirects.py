"""Redirects: an alias and a page of its own, checked like a link; nothing that leads nowhere goes on for ever."""

from __future__ import annotations

from hostile.answers import CHUNKED, HTML, answer, chunks, head, moved, page, said, sent
from hostile.case import Case, done, fails, keeps
from hostile.server import CLOSE, HANG, HERE, OTHER, Endless

PRIVATE = {"allow_private": False}
EVERYWHERE = {"allow_private": True}
WALL = sent("cookie", "seen=1", page("hello"), moved("/", 302, "Set-Cookie: seen=1; Path=/"))


def leads(name: str, location: str | bytes, to: str, at: str = "/d/x") -> Case:
    """A redirect that leads to a page of the same host."""
    return Case(
        name=f"a redirect {name} leads on", here={at: moved(location), to: page("there")}, seeds=(at,),
        pages={at: "alias", to: "done"}, records={to: "there"}, asked={at: 1, to: 1},
    )  # fmt: skip


def nowhere(name: str, location: str | bytes, told: str = "", hidden: str = "") -> Case:
    """A redirect to what is no page, and never will be."""
    return fails(
        f"a redirect to {name} leads nowhere", moved(location), "redirect", 1, told={"/": told}, hidden=hidden
    )


def private(name: str, url: str, key: str = "") -> Case:
    """A seed that leads to a private address: its host is in scope then, and may not be reached."""
    return Case(
        name=f"a redirect to {name} sends no byte", here={"/": moved(url)}, other={"/x": page("secret")},
        site=PRIVATE,
        pages={"/": "alias", key or url: "dead: private address"}, asked={"/": 1}, untouched=True,
    )  # fmt: skip


def unseen(name: str, location: str, target: str) -> Case:
    """A known product that leads to a page above it: looked at again in another round, and then gone."""
    return Case(
        name=f"a product that leads to {name} is gone at the second look",
        here={"/": page("home", "/t/"), "/t/": page("tea", "/t/1"), "/t/1": [page("green"), moved(location)]},
        rounds=3, pages={"/": "done", "/t/": "done", "/t/1": "gone"}, records={"/": "home", "/t/": "tea"},
        asked={"/": 3, "/t/": 3, "/t/1": 3}, gone=frozenset({"/t/1"}), versions={"/t/1": 2},
        told={"/t/1": target},
    )  # fmt: skip


CASES = (
    *(
        Case(
            name=f"a {status} makes an alias and a page",
            here={"/": moved("/b", status), "/b": page("there")},
            pages={"/": "alias", "/b": "done"}, records={"/b": "there"}, asked={"/": 1, "/b": 1},
            columns={"/b": {"hops": 1, "depth": 0}},
        )
        for status in (301, 302, 303, 307, 308)
    ),
    leads("to a relative path", "b", "/d/b"),
    leads("upwards", "../b", "/b"),
    leads("beyond the top", "../../../../b", "/b"),
    leads("to another query", "?q=1", "/d/x?q=1"),
    leads("without a scheme", "//127.0.0.1:00001/b", "/b"),
    leads("with a fragment", "/b#part", "/b"),
    leads("with blanks around it", " \t/b ", "/b"),
    leads("with a blank in it", "/a b", "/a%20b"),
    leads("with backslashes", "\\d\\b", "/d/b"),
    leads("in raw UTF-8", "/caf\u00e9?q=\u00fc", "/caf%C3%A9?q=%C3%BC"),
    leads("in raw latin-1", b"/caf\xe9", "/caf%E9"),
    leads("with escapes", "/a%2Fb%C3%A9%e9", "/a%2Fb%C3%A9%e9"),
    leads("in capitals", "HTTP://127.0.0.1:00001/B", "/B"),
    fails("a redirect without a location is tried again", answer(b"", status=302), "redirect", 2),
    fails("a redirect with an empty location is tried again", moved(""), "redirect", 2),
    fails("a redirect with two locations that differ leads nowhere", moved("/b", 302, "Location: /c"),
          "redirect", 2),
    nowhere("ftp", "ftp://127.0.0.1/x", "not http"),
    nowhere("a file", "file:///etc/passwd", "not http"),
    nowhere("a script", "javascript:alert(1)", "not http"),
    nowhere("data", "data:text/html,<h1>x</h1>", "not http"),
    nowhere("a URL without a host", "http://", "not a URL"),
    nowhere("a broken address", "http://[::1", "not a URL"),
    nowhere("a port that is none", "http://127.0.0.1:99999/", "not a URL"),
    nowhere("a URL of 9,000 characters", "/" + "x" * 9_000, "too long"),
    nowhere("a URL with a password", "http://user:hunter2@127.0.0.1:00001/b", "credentials",
            hidden="hunter2"),
    keeps("a redirect to nowhere takes nothing away", moved("ftp://x/"), "dead: redirect", 1),
    keeps("a redirect without a location takes nothing away", moved(""), "dead: redirect", 2),
    private("a private address", f"{OTHER}/x"),
    private("an address written as a number", "http://2130706433:00002/x", f"{OTHER}/x"),
    private("an address in hexadecimal", "http://0x7f.1:00002/x", f"{OTHER}/x"),
    private("any address", "http://0.0.0.0:00002/x"),
    private("a name of this machine", "http://localhost:00002/x"),
    Case(
        name="a seed that leads to another host takes it into scope",
        here={"/": moved(f"{OTHER}/x")}, other={"/x": page("there", "/y"), "/y": page("more")},
        site=EVERYWHERE,
        pages={"/": "alias", f"{OTHER}/x": "done", f"{OTHER}/y": "done"},
        records={"/x": "there", "/y": "more"},
        asked={"/": 1, f"{OTHER}/x": 1, f"{OTHER}/y": 1},
    ),
    Case(
        name="a page that leads out of scope is an alias of nothing",
        here={"/": page("hello", "/a"), "/a": moved(f"{OTHER}/x")}, site=EVERYWHERE,
        pages={"/": "done", "/a": "alias"}, records={"/": "hello"}, asked={"/": 1, "/a": 1},
        dropped={"out of scope": 1},
    ),
    Case(
        name="a page that leads to a host of the site is followed there",
        here={"/": page("hello", "/a"), "/a": moved(f"{OTHER}/x")}, other={"/x": page("there")},
        site={"hosts": ("127.0.0.1:00002",)}, pages={"/": "done", "/a": "alias", f"{OTHER}/x": "done"},
        records={"/": "hello", "/x": "there"}, asked={"/": 1, "/a": 1, f"{OTHER}/x": 1},
    ),
    Case(
        name="redirects in a circle end by themselves",
        here={"/": moved("/a"), "/a": moved("/b"), "/b": moved("/a")},
        pages={"/": "alias", "/a": "alias", "/b": "alias"}, asked={"/": 1, "/a": 1, "/b": 1},
    ),
    Case(
        name="a chain of twelve ends after ten",
        here={f"/{n}": moved(f"/{n + 1}") for n in range(12)}, seeds=("/0",),
        pages={**{f"/{n}": "alias" for n in range(10)}, "/10": "dead: redirect"},
        asked={f"/{n}": 1 for n in range(11)},
    ),
    Case(
        name="a chain of ten is followed to its end",
        here={**{f"/{n}": moved(f"/{n + 1}") for n in range(10)}, "/10": page("there")}, seeds=("/0",),
        pages={**{f"/{n}": "alias" for n in range(10)}, "/10": "done"}, records={"/10": "there"},
        asked={f"/{n}": 1 for n in range(11)},
    ),
    fails("a page that leads to itself is asked five times more, and then again", moved("/"), "redirect", 12),
    fails("a page that leads to a part of itself is one that leads to itself", moved("/#top"), "redirect",
          12),
    done("a cookie that has to come back is brought back", WALL, asked={"/": 2},
         sent={"/": {"cookie": "seen=1"}}),
    fails("a cookie of another path is not brought back",
          sent("cookie", "seen=1", page("hello"), moved("/", 302, "Set-Cookie: seen=1; Path=/x")), "redirect",
          12),
    fails("a cookie of another host is not brought back",
          sent("cookie", "seen=1", page("hello"), moved("/", 302, "Set-Cookie: seen=1; Domain=example.com")),
          "redirect", 12),
    Case(
        name="a cookie ends with the visit of its page",
        here={"/": sent("cookie", "seen=1", page("hello", "/a"),
                        moved("/", 302, "Set-Cookie: seen=1; Path=/")), "/a": page("there")},
        pages={"/": "done", "/a": "done"}, records={"/": "hello", "/a": "there"}, asked={"/": 2, "/a": 1},
        sent={"/a": {"cookie": None}},
    ),
    Case(
        name="a parameter that tells no pages apart is followed within the visit",
        here={"/": moved("/?utm_source=x"), "/?utm_source=x": page("hello")}, site={"drop_params": ["utm_*"]},
        pages={"/": "done"}, records={"/": "hello"}, asked={"/": 1, "/?utm_source=x": 1},
    ),
    Case(
        name="a session id in the path is followed within the visit",
        here={"/s": moved("/s;jsessionid=1"), "/s;jsessionid=1": page("hello")}, seeds=("/s",),
        pages={"/s": "done"}, records={"/s": "hello"}, asked={"/s": 1, "/s;jsessionid=1": 1},
    ),
    *(
        Case(
            name=f"a redirect {name} is whole, for its headers are",
            here={"/": (script, CLOSE), "/b": page("there")},
            pages={"/": "alias", "/b": "done"}, records={"/b": "there"}, asked={"/": 1, "/b": 1},
        )
        for name, script in {
            "whose body is cut": head("Location: /b", "Content-Length: 9", status=302) + b"x",
            "whose chunks are cut": head("Location: /b", CHUNKED, status=302) + chunks(b"x", end=b""),
            "whose body nothing ends": head("Location: /b", status=302) + b"x",
        }.items()
    ),
    fails("a redirect that is cut inside its location is none",
          (b"HTTP/1.1 302 Found\r\nLocation: /b", CLOSE), "cut short"),
    Case(
        name="a redirect whose body never comes ends at the deadline", tune={"total_timeout": 0.25},
        here={"/": (head("Location: /b", "Content-Length: 9", status=302), HANG), "/b": page("there")},
        pages={"/": "alias", "/b": "done"}, records={"/b": "there"}, asked={"/": 1, "/b": 1},
    ),
    Case(
        name="a redirect whose body never ends is left at once",
        here={"/": (head("Location: /b", CHUNKED, status=302), Endless(chunks(b"x" * 99, end=b""))),
              "/b": page("there")},
        pages={"/": "alias", "/b": "done"}, records={"/b": "there"}, asked={"/": 1, "/b": 1},
    ),
    leads("that is folded", b"/a\r\n b", "/a%20b"),
    fails("a page that leads to itself in capitals leads to itself", moved("HTTP://127.0.0.1:00001/"), "redirect", 12),
    fails("a cookie that has to come back and is taken away ends", sent("cookie", "seen=1", page("x"),
          moved("/", 302, "Set-Cookie: seen=1; Max-Age=0")), "redirect", 12),
    done("cookies that are none are passed over", sent("cookie", "seen=1", page("hello"),
         moved("/", 302, "Set-Cookie: ;;=;", "Set-Cookie: seen=1; Path=/; HttpOnly", "Set-Cookie: \xe2\x98\x83=\xff")),
         asked={"/": 2}),
    done("a location without a redirect leads nowhere", page("hello", lines=("Location: /b",))),
    fails("a choice of pages is not a redirect", answer(b"", "Location: /b", status=300), "HTTP status", 1),
    done("a meta refresh in a noscript is no redirect",
         answer("<noscript><meta content='0;url=/b' http-equiv=refresh></noscript>" + said("hello"), HTML)),
    Case(
        name="inline, a chain on one host is one page",
        here={"/": moved("/b", 302, "Set-Cookie: id=7; Path=/"), "/b": moved("/c"), "/c": page("hello", "d"),
              "/d": page("there")},
        site={"follow": "inline"}, pages={"/": "done", "/d": "done"}, records={"/": "hello", "/d": "there"},
        asked={"/": 1, "/b": 1, "/c": 1, "/d": 1}, sent={"/c": {"cookie": "id=7"}, "/d": {"cookie": None}},
    ),
    fails("inline, a circle ends after ten hops", moved("/b"), "redirect", 2,
          here={"/": moved("/b"), "/b": moved("/c"), "/c": moved("/b")}, site={"follow": "inline"},
          requests={"/b": 10, "/c": 10}),
    Case(
        name="inline, another host is a page of its own",
        here={"/": moved(f"{OTHER}/x")}, other={"/x": page("there")}, site={"follow": "inline", **EVERYWHERE},
        pages={"/": "alias", f"{OTHER}/x": "done"}, records={"/x": "there"}, asked={"/": 1, f"{OTHER}/x": 1},
    ),
    unseen("the home page", "/", "/"),
    unseen("the home page by its whole URL", f"{HERE}/", "/"),
    unseen("its category", "/t/", "/t/"),
    Case(
        name="a product that leads home once and is there again keeps its version",
        here={"/": page("home", "/t/1"), "/t/1": [page("green"), moved("/"), page("green"), moved("/")]},
        rounds=4,
        pages={"/": "done", "/t/1": "done"}, records={"/": "home", "/t/1": "green"},
        asked={"/": 4, "/t/1": 4},
    ),
    Case(
        name="a page that was never read and leads home is an alias",
        here={"/": page("home", "/t/1"), "/t/1": moved("/")}, rounds=2,
        pages={"/": "done", "/t/1": "alias"}, records={"/": "home"}, asked={"/": 2, "/t/1": 2},
    ),
)  # fmt: skip
