"""What goes to whom: cookies, credentials and secrets, and what the environment says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import requests
from hostile.answers import HTML, answer, moved, page, said
from hostile.case import Case, done, fails
from hostile.server import CLOSE, HERE, OTHER, Asked, Script

from limpet import Page, secret

KEY = "hunter2-correct-horse"
ENV = {"HOSTILE_KEY": KEY}
KEYED = {"headers": {"X-Key": secret("HOSTILE_KEY")}}
BOTH = {"hosts": ("127.0.0.1:00002", "localhost:00001")}
LOCAL = "http://localhost:00001"
ABROAD = {"/": page("hello", f"{OTHER}/x", f"{LOCAL}/y"), "/y": page("y")}
NETRC = {"NETRC": str(Path(__file__).with_name("netrc"))}
SET = "Set-Cookie: id=7; Path=/"


def goes(name: str, sent: dict[str, dict[str, str | None]], here: Any = ABROAD, **more: Any) -> Case:
    """A page that leads to two more hosts, which the site names: what each of them was sent."""
    given = {
        "site": BOTH, "pages": {"/": "done", f"{OTHER}/x": "done", f"{LOCAL}/y": "done"},
        "records": {"/": "hello", "/x": "x", "/y": "y"}, "asked": {"/": 1, f"{OTHER}/x": 1, "/y": 1},
    }  # fmt: skip
    return Case(name=name, here=here, other={"/x": page("x")}, sent=sent, **{**given, **more})


def own_session() -> requests.Session:
    """A session of the user's own, with a cookie for one name."""
    session = requests.Session()
    session.trust_env = False
    session.cookies.set("own", "1", domain="127.0.0.1", path="/")
    return session


def asks_with_header(page: Page) -> Any:
    """`/` asks for `/a` with a header of its own."""
    if page.url.endswith("/"):
        yield page.request("/a", headers={"X-Token": "t"})


def echoed(asked: Asked) -> Script:
    """A page that says back what it was sent."""
    return page(
        asked.headers["x-key"],
        f"/next?key={asked.headers['x-key']}",
        lines=(f'ETag: "{asked.headers["x-key"]}"',),
    )


def says(make: Any) -> Any:
    return lambda asked: make(asked.headers["x-key"])


CASES = (
    goes("the site's cookies go to the hosts that it names",
         {"/": {"cookie": "id=7"}, f"{OTHER}/x": {"cookie": "id=7"}, "/y": {"cookie": "id=7"}},
         site={"hosts": BOTH["hosts"], "cookies": {"id": "7"}}),
    goes("a cookie that is set is not kept", {"/y": {"cookie": None}, f"{OTHER}/x": {"cookie": None}},
         {"/": page("hello", f"{OTHER}/x", f"{LOCAL}/y", lines=(SET,)), "/y": page("y")}),
    Case(
        name="a cookie that is set is not sent to the next page",
        here={"/": page("hello", "/a", lines=(SET,)), "/a": page("a")},
        pages={"/": "done", "/a": "done"}, records={"/": "hello", "/a": "a"}, asked={"/": 1, "/a": 1},
        sent={"/a": {"cookie": None}},
    ),
    Case(
        name="credentials do not follow a seed's redirect to another host", here={"/": moved(f"{OTHER}/x")},
        other={"/x": page("x")},
        site={"allow_private": True, "headers": {"Authorization": secret("HOSTILE_KEY")},
              "cookies": {"id": "7"}}, env=ENV,
        pages={"/": "alias", f"{OTHER}/x": "done"}, records={"/x": "x"}, asked={"/": 1, f"{OTHER}/x": 1},
        sent={"/": {"authorization": KEY, "cookie": "id=7"},
              f"{OTHER}/x": {"authorization": None, "cookie": None}}, hidden=KEY,
    ),
    Case(
        name="inline, a cookie does not follow a redirect to another host",
        here={"/": moved(f"{OTHER}/x", 302, SET)}, other={"/x": page("x")},
        site={"allow_private": True, "follow": "inline"}, pages={"/": "alias", f"{OTHER}/x": "done"},
        records={"/x": "x"},
        asked={"/": 1, f"{OTHER}/x": 1}, sent={f"{OTHER}/x": {"cookie": None}},
    ),
    done("a secret that is said back is stored nowhere", echoed, None, site=KEYED, env=ENV, hidden=KEY,
         rejected=1, dropped={"holds a secret": 1}),
    fails("a secret in a location is stored nowhere", says(lambda key: moved(f"/login?key={key}")),
          "redirect", 1, site=KEYED, env=ENV, hidden=KEY),
    fails("a secret in a coding is stored nowhere",
          says(lambda key: answer("x", HTML, f"Content-Encoding: {key}")), "damaged", site=KEYED, env=ENV,
          hidden=KEY),
    fails("a secret in a status line is stored nowhere",
          says(lambda key: (f"HTTP/1.1 {key}\r\n\r\n".encode(), CLOSE)), "damaged", site=KEYED, env=ENV,
          hidden=KEY),
    fails("a secret in a header without a colon is stored nowhere",
          says(lambda key: (f"HTTP/1.1 200 OK\r\n{key}\r\n\r\n".encode(), CLOSE)), "unframed",
          site=KEYED, env=ENV, hidden=KEY),
    Case(
        name="a token in the query is in no error", here={"/?token=hunter2": CLOSE},
        seeds=("/?token=hunter2",),
        pages={"/?token=hunter2": "dead: connection"}, asked={"/?token=hunter2": 2},
        columns={"/?token=hunter2": {"error": "connection closed without an answer"}},
    ),
    done("a proxy of the environment is not used", page("hello"),
         env={"http_proxy": "http://127.0.0.1:9", "HTTP_PROXY": "http://127.0.0.1:9",
              "ALL_PROXY": "http://127.0.0.1:9"}),
    done("passwords of the environment are not used", page("hello"), env=NETRC,
         sent={"/": {"authorization": None}}),
    done("passwords of the environment are not used for a site with cookies either", page("hello"), env=NETRC,
         site={"cookies": {"id": "7"}}, sent={"/": {"authorization": None, "cookie": "id=7"}}),
    goes("a cookie of the user's own session goes to no other name",
         {"/": {"cookie": "own=1"}, "/y": {"cookie": None}},
         site={**BOTH, "session": own_session}),
    Case(
        name="what a page's request carries does not follow a redirect to another host",
        reads=(asks_with_header,),
        here={"/": page("hello"), "/a": moved(f"{OTHER}/x")}, other={"/x": answer("", HTML)}, site=BOTH,
        pages={"/": "done", "/a": "alias", f"{OTHER}/x": "done"}, asked={"/": 1, "/a": 1, f"{OTHER}/x": 1},
        sent={"/a": {"x-token": "t"}, f"{OTHER}/x": {"x-token": None}},
    ),
    done("the agent is an honest one", page("hello"), site={"contact": "ops@example.com"},
         sent={"/": {"user-agent": "limpet/0.1.0 (+ops@example.com)"}}),
    done("nothing is sent that was not asked for", page("hello"),
         sent={"/": {"cookie": None, "authorization": None, "referer": None}}),
    Case(
        name="a private address that a page names is out of scope",
        here={"/": page("hello", f"{OTHER}/x", "http://localhost:00002/x", "http://[::1]:00002/x")},
        other={"/x": page("x")}, pages={"/": "done"}, records={"/": "hello"}, asked={"/": 1},
        dropped={"out of scope": 3}, untouched=True,
    ),
    Case(
        name="a private address in any spelling is out of scope",
        here={"/": page("hello", "http://2130706433:00002/x", "http://0x7f.0.0.1:00002/x",
                        "http://017700000001:00002/x", "http://127.1:00002/x", f"//{OTHER[7:]}/x")},
        other={"/x": page("x")}, pages={"/": "done"}, records={"/": "hello"}, asked={"/": 1},
        dropped={"out of scope": 1}, untouched=True,
    ),
    Case(
        name="escape and bidi characters in a record are stored as they are",
        here={"/": answer(said("a\x1b[31m\u202eb"), HTML)},
        pages={"/": "done"}, records={"/": "a\x1b[31m\u202eb"}, asked={"/": 1},
    ),
    done("a page by its whole address is one", page("hello"), seeds=("/",), sent={"/": {"accept": "*/*"}},
         here={"/": page("hello", f"{HERE}/")}),
)  # fmt: skip
