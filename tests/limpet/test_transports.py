"""Transports that are plugged in: what they give is checked, and what they do wrong costs a page or nothing."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from e2e.helpers import Crawl, eventually
from small_site import Answer, small_site

import limpet
from limpet import FetchFailed, Request, Response, Site, SiteError, secret
from limpet_consumers.plugged import Plugged
from limpet_consumers.ways import way_of

URL = "http://club.example/"
GOOD = Response(URL, 200, {"Content-Type": "text/html"}, b"hello")


class Gives:
    """A transport that gives, or raises, what it is told."""

    def __init__(self, given: Any) -> None:
        self.given = given

    def fetch(self, request: Request, deadline: float) -> Any:
        if isinstance(self.given, BaseException):
            raise self.given
        return self.given


def fetch(given: Any, **request: Any) -> Response:
    return Plugged(lambda: Gives(given), max_body=10).fetch(Request(URL, **request), 5)


def test_what_it_gives_is_taken_as_ours_would_be() -> None:
    response = fetch(GOOD)
    assert (response.status, response.headers, response.body) == (
        200,
        {"content-type": "text/html"},
        b"hello",
    )
    assert fetch(GOOD, most=2).body == b"he"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (None, "gave a NoneType, not a limpet.Response"),
        ("text", "gave a str"),
        (Response(URL, 99, {}, b""), "status 99 is none"),
        (Response(URL, True, {}, b""), "status True"),
        (Response(URL, "200", {}, b""), "status '200'"),  # type: ignore[arg-type]
        (Response(URL, 200, {}, "text"), "its body is str, not bytes"),  # type: ignore[arg-type]
        (Response(URL, 200, [("a", "b")], b""), "its headers are a list, not a dict"),  # type: ignore[arg-type]
        (Response(URL, 200, {"a": 1}, b""), "header 'a': names and values are text"),  # type: ignore[dict-item]
        (Response(URL, 200, {"a": "b\r\nc: d"}, b""), "header 'a' is more than a line"),
        (Response(URL, 200, {}, b"x" * 11), "body larger than 10 bytes"),
        (ValueError("so it went"), "transport: ValueError: so it went"),
        (SystemExit(3), "transport: SystemExit: 3"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_no_response_is_a_failure_of_the_page_that_says_so(given: Any, words: str) -> None:
    with pytest.raises(FetchFailed, match=words) as failure:
        fetch(given)
    assert not failure.value.host


def test_a_failure_of_its_own_passes_and_one_of_the_system_is_the_hosts() -> None:
    with pytest.raises(FetchFailed) as failure:
        fetch(FetchFailed("as it says", final=True))
    assert failure.value.final
    for error in (ConnectionError("gone"), TimeoutError("late")):
        with pytest.raises(FetchFailed, match=r"gone|late") as failure:
            fetch(error)
        assert failure.value.host


def test_a_secret_in_an_exception_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERVICE_KEY", "k/e y+1")
    key = secret("SERVICE_KEY").reveal()
    with pytest.raises(FetchFailed) as failure:
        fetch(ValueError(f"no https://service/?key=k%2Fe%20y%2B1 or {key}"))
    assert str(failure.value) == (
        "transport: ValueError: no https://service/?key=secret('SERVICE_KEY') or secret('SERVICE_KEY')"
    )


def test_a_private_address_is_not_asked_for() -> None:
    asked: list[str] = []

    class Notes:
        def fetch(self, request: Request, deadline: float) -> Response:
            asked.append(request.url)
            return GOOD

    plugged = Plugged(Notes, max_body=10)
    with pytest.raises(FetchFailed, match=r"127\.0\.0\.1 is private"):
        plugged.fetch(Request("http://127.0.0.1/"), 5)
    plugged.fetch(Request("http://127.0.0.1/", private=True), 5)
    assert asked == ["http://127.0.0.1/"]


def test_one_that_does_not_come_back_is_given_up_with_its_thread() -> None:
    release, made = threading.Event(), []

    class Stuck:
        def __init__(self) -> None:
            made.append(threading.get_ident())

        def fetch(self, request: Request, deadline: float) -> Response:
            if len(made) == 1:
                release.wait(30)
            return GOOD

    plugged = Plugged(Stuck, max_body=10, grace=0.05)
    with pytest.raises(FetchFailed, match="does not come back"):
        plugged.fetch(Request(URL), 0.05)
    assert plugged.fetch(Request(URL), 5).status == 200
    assert len(set(made)) == 2
    release.set()


def test_it_is_made_used_and_closed_in_one_thread_which_is_not_the_workers() -> None:
    where: list[int] = []

    class Bound:
        def __init__(self) -> None:
            where.append(threading.get_ident())

        def fetch(self, request: Request, deadline: float) -> Response:
            where.append(threading.get_ident())
            return GOOD

        def close(self) -> None:
            where.append(threading.get_ident())

    site = Site("club", [URL], transport=Bound)
    assert site.knobs.threads == 1
    plugged = way_of(site)
    for _ in range(3):
        plugged.fetch(Request(URL), 5)
    plugged.close()
    assert len(where) == 5
    assert len(set(where)) == 1
    assert where[0] != threading.get_ident()


def test_a_close_that_fails_or_a_factory_that_does_costs_no_worker() -> None:
    class Breaks(Gives):
        def close(self) -> None:
            raise RuntimeError("no")

    plugged = Plugged(lambda: Breaks(GOOD), max_body=10)
    plugged.close()
    plugged.fetch(Request(URL), 5)
    plugged.close()
    with pytest.raises(FetchFailed, match="transport: FileNotFoundError") as failure:
        Plugged(lambda: open("/no/such/browser"), max_body=10).fetch(Request(URL), 5)  # noqa: SIM115
    assert failure.value.host


def test_the_argument_is_checked_and_the_names_are_public() -> None:
    with pytest.raises(SiteError, match="transport: a function that makes one, not str"):
        Site("club", [URL], transport="curl")  # type: ignore[arg-type]
    with pytest.raises(SiteError, match="sees to session, cookies and proxy itself"):
        Site("club", [URL], transport=dict, cookies={"a": "b"})  # type: ignore[arg-type]
    for name in ("Request", "Response", "FetchFailed"):
        assert name in limpet.__all__


SITE = """
import pathlib, urllib.request
from limpet import Page, Record, Response, Site

LOG = pathlib.Path({log!r})


def note(word):
    with LOG.open("a") as log:
        log.write(word + "\\n")


class Plain:
    def __init__(self):
        note("made")

    def fetch(self, request, deadline):
        note("fetch")
        with urllib.request.urlopen(request.url, timeout=deadline) as answer:
            return Response(request.url, answer.status, dict(answer.headers), answer.read())

    def close(self):
        note("closed")


site = Site("plugged", ["{url}/"], transport=Plain, robots=False)


@site.page("/")
def listing(page: Page):
    yield from page.links("a")


@site.page("/product/{{n}}")
def product(page: Page):
    yield Record("product", page.params["n"], {{"name": page.one("h1")}})
"""


def test_a_crawl_with_a_transport_makes_it_once_a_worker_and_closes_it(tmp_path: Path) -> None:
    pages = {"/": "".join(f"<a href=/product/{n}>x</a>" for n in range(5))}
    pages |= {f"/product/{n}": f"<h1>Name {n}</h1>" for n in range(5)}
    log = tmp_path / "log"
    with (
        small_site(pages) as there,  # type: ignore[arg-type]
        Crawl(tmp_path, SITE.format(url=there.url, log=str(log)), name="plugged", workers=1) as crawl,
    ):
        assert crawl.run() == 0, crawl.said
        assert crawl.versions() == {str(n): 1 for n in range(5)}
        assert len(there.asked) == 6
    assert log.read_text().split() == ["made", *["fetch"] * 6, "closed"]


# -- the example with a browser

JAVASCRIPT = """<ul></ul><script>
fetch("/data").then(found => found.json()).then(products => {
  for (const product of products)
    document.querySelector("ul").innerHTML += `<li><a class="product" href="${product}">${product}</a></li>`;
});
</script>"""
PRODUCT = "<h1></h1><b class=price></b><script>document.querySelector('h1').append('Chair %d');" + (
    "setTimeout(() => document.querySelector('.price').append('%d.50'), 50)</script>"
)
SHOP: dict[str, str | Answer | Callable[[Any], Answer]] = {
    "/": JAVASCRIPT,
    "/robots.txt": Answer("User-agent: *\nDisallow: /product/3", headers={"Content-Type": "text/plain"}),
    "/data": Answer(
        '["/product/1", "/product/2", "/product/3", "/product/4", "/product/5"]',
        headers={"Content-Type": "application/json"},
    ),
    "/product/1": PRODUCT % (1, 1),
    "/product/2": PRODUCT % (2, 2),
    "/product/3": PRODUCT % (3, 3),
    "/product/4": Answer("", 302, {"Location": "/product/1"}),
    "/product/5": Answer("<h1>gone</h1>", 410),
}
EXAMPLE = Path(__file__).parents[2] / "examples/with_chromium.py"


@pytest.fixture
def browsed(tmp_path: Path) -> Iterator[tuple[Any, Crawl]]:
    if not shutil.which("chromium"):
        pytest.skip("no chromium on the path")
    if os.geteuid() == 0 and "--no-sandbox" not in os.environ.get("CHROMIUM_FLAGS", ""):
        pytest.skip("chromium does not start as root without CHROMIUM_FLAGS=--no-sandbox")
    # Short: Chromium makes a socket in it, and a socket's path has about 107 bytes.
    with small_site(SHOP) as there, TemporaryDirectory(ignore_cleanup_errors=True) as short:
        environment = {"SHOP_URL": there.url + "/", "TMPDIR": short}
        with Crawl(
            tmp_path, EXAMPLE.read_text(), name="with-chromium", workers=1, environment=environment
        ) as crawl:
            yield there, crawl


def test_a_shop_made_by_javascript_is_read_through_a_browser_that_ends_with_its_worker(
    browsed: tuple[Any, Crawl],
) -> None:
    there, crawl = browsed
    crawl.start()
    eventually(lambda: "GET /" in there.asked)
    mine = eventually(lambda: _browsers(crawl.process.pid))  # type: ignore[union-attr]
    crawl.kill_everything()
    eventually(lambda: not [pid for pid in mine if _runs(pid)], "a browser outlives its worker", 20)
    there.asked.clear()
    assert crawl.run("--wait", "1") == 0, crawl.said
    assert crawl.ask("SELECT key, data FROM records ORDER BY key") == [
        ("1", '{"name":"Chair 1","price":"1.50"}'), ("2", '{"name":"Chair 2","price":"2.50"}'),
    ]  # fmt: skip
    states = dict(crawl.ask("SELECT substr(canonical, -1), state || coalesce(' ' || reason, '') FROM pages"))
    assert states == {
        "/": "done",
        "t": "done",
        "1": "done",
        "2": "done",
        "3": "dead robots",
        "4": "alias",
        "5": "gone",
    }
    pages = [line for line in there.asked if "data" not in line and "favicon" not in line]
    assert sorted(pages) == sorted(set(pages)), "the browser follows no redirect by itself"
    assert "GET /product/3" not in pages


def _browsers(ancestor: int) -> list[int]:
    """Processes of Chromium below this one."""
    parents: dict[int, tuple[int, str]] = {}
    for entry in Path("/proc").iterdir():
        with suppress(OSError, ValueError):
            name, fields = (entry / "stat").read_text().partition("(")[2].rsplit(") ", 1)
            parents[int(entry.name)] = int(fields.split()[1]), name
    return [pid for pid, (_, name) in parents.items() if "chrom" in name and _below(pid, ancestor, parents)]


def _below(pid: int, ancestor: int, parents: dict[int, tuple[int, str]]) -> bool:
    while pid in parents and pid != ancestor:
        pid = parents[pid][0]
    return pid == ancestor


def _runs(pid: int) -> bool:
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1][0] not in "ZX"
    return False
