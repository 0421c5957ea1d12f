"""One page tried: what is shown, what is said of what found nothing, and that nothing is stored or started."""

from __future__ import annotations

import json
import os
import pty
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest
from front_helpers import CLEAN, command, limpet, write_site
from small_site import Answer, SmallSite, small_site

from limpet.demo.shop import ShopServer


@pytest.fixture
def serve() -> Iterator[Callable[..., SmallSite]]:
    with ExitStack() as stack:
        yield lambda pages, robots="": stack.enter_context(small_site(pages, robots))


def lines(out: str, name: str) -> list[str]:
    return [line[9:] for line in out.splitlines() if line.startswith(f"{name} ")]


def one_handler(folder: Path, seed: str, body: str, head: str = "") -> Path:
    path = folder / "site.py"
    path.write_text(
        f'from limpet import Page, Record, Site\n\nsite = Site("small", seeds=["{seed}"])\n{head}\n\n'
        f'@site.page("/{{rest:path}}")\ndef anything(page: Page):\n    {body}\n'
    )
    return path


def test_a_list_shows_its_links_by_handler_and_nothing_is_stored(site: Path, shop: ShopServer) -> None:
    ran = limpet("try", site)

    assert ran.code == 0
    assert lines(ran.out, "page") == [shop.first_page]
    assert lines(ran.out, "robots") == ["robots.txt allows it"]
    assert lines(ran.out, "answer")[0].endswith("bytes of text/html, utf-8 (Content-Type)")
    assert "wait" in lines(ran.out, "time")[0]
    assert lines(ran.out, "handler") == ["listing, by /list/{n}: n=0"]
    assert lines(ran.out, "links") == ["1 to listing", "3 to product"]
    assert f"  {shop.url}/product/2\n" in ran.out
    assert list(site.parent.iterdir()) == [site]


def test_a_product_shows_its_record(site: Path, shop: ShopServer) -> None:
    ran = limpet("try", site, f"{shop.url}/product/1")

    assert ran.code == 0
    assert lines(ran.out, "record") == ["product LP-00001"]
    assert '  name   "Rough kettle 1"\n' in ran.out


def test_follow_goes_on_to_one_page_of_each_handler_as_a_crawl_would(site: Path, shop: ShopServer) -> None:
    ran = limpet("try", site, "--follow")

    assert lines(ran.out, "page") == [shop.first_page, f"{shop.url}/product/0"]


def test_what_is_handed_down_comes_along(serve: Callable[..., SmallSite], tmp_path: Path) -> None:
    web = serve({"/": '<a href="/a">a</a>', "/a": "<h1>A</h1>"})
    body = 'yield page.link(page.css("a"), to=child, data={"shelf": 7})'
    path = one_handler(tmp_path, f"{web.url}/", body)
    path.write_text(
        path.read_text() + '\n\n@site.page("/child")\ndef child(page: Page):\n'
        '    yield Record("c", page.one("h1"), {"shelf": page.data["shelf"]})\n'
    )

    ran = limpet("try", path, "--follow")

    assert ran.code == 0
    assert lines(ran.out, "data") == ['{"shelf": 7}']
    assert lines(ran.out, "handler")[1] == "child, none of its patterns fits; the link named it"
    assert limpet("try", path, f"{web.url}/a", "--to", "child", "--data", '{"shelf": 9}').code == 0


def test_a_rejection_names_the_selector_and_its_nearest_miss(shop: ShopServer, tmp_path: Path) -> None:
    data = '{"price": page.one(".prod-price"), "more": page.one("dl > h1", "")}'
    body = f'yield Record("product", page.one(".sku"), {data})'
    site = write_site(tmp_path / "site", shop.first_page, body)

    ran = limpet("try", site, f"{shop.url}/product/1")

    assert ran.code == 3
    assert lines(ran.out, "rejected") == ["product LP-00001: data.price: nothing at '.prod-price'"]
    assert lines(ran.out, "nothing") == [".prod-price: .price matches 1", "dl > h1 (one, optional)"]
    found = json.loads(limpet("try", site, f"{shop.url}/product/1", "--json").out)
    assert found["nothing"][0] == {"selector": ".prod-price", "required": True, "near": ".price matches 1"}
    assert found["rejections"][0]["key"] == "LP-00001"


def test_a_record_that_does_not_fit_its_shape_names_the_field(shop: ShopServer, tmp_path: Path) -> None:
    body = 'yield Record("product", data={"sku": page.one(".sku"), "price": page.one(".name")})'
    site = write_site(tmp_path / "site", shop.first_page, body)
    shape = '@site.record("product", key="sku")\nclass Product:\n    sku: str\n    price: float\n'
    text = site.read_text().replace("site.tune(lease=3)", f"@@{shape}").replace("@@@", "@")
    site.write_text(
        "from dataclasses import dataclass\n" + text.replace("class Product", "@dataclass\nclass Product")
    )

    ran = limpet("try", site, f"{shop.url}/product/1")

    assert ran.code == 3
    assert "price" in lines(ran.out, "rejected")[0]
    assert "'Rough kettle 1'" in lines(ran.out, "rejected")[0]


def test_links_that_are_dropped_are_told_with_the_reason(
    serve: Callable[..., SmallSite], tmp_path: Path
) -> None:
    web = serve({"/": '<a href="https://other.example/x">x</a><a href="ftp://f/">f</a><a href="/y">y</a>'})

    ran = limpet("try", one_handler(tmp_path, f"{web.url}/", "yield from page.links()"))

    assert lines(ran.out, "links") == ["1 to anything"]
    assert lines(ran.out, "dropped") == ["1 out of scope", "1 scheme"]
    assert "  https://other.example/x\n" in ran.out


def test_a_page_that_no_pattern_fits_is_said_and_no_success(site: Path, shop: ShopServer) -> None:
    shop_root = limpet("try", site, f"{shop.url}/robots.txt")

    assert shop_root.code == 5
    assert lines(shop_root.out, "handler") == ["none: no pattern of the site fits this URL"]


def test_a_handler_that_fails_shows_its_line(shop: ShopServer, tmp_path: Path) -> None:
    ran = limpet("try", write_site(tmp_path / "s", shop.first_page, "1 / 0"), f"{shop.url}/product/1")

    assert ran.code == 1
    assert "product: ZeroDivisionError: division by zero" in ran.out
    assert "shop.py:16 in product: 1 / 0" in ran.out


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (Answer("gone", 404), "the page is dead (broken link): 404 Not Found"),
        (Answer("no", 429), "its pages would wait: 429: the host wants to be left alone"),
        (Answer("oh", 500), "failed, and would be tried again later: HTTP status 500"),
    ],
)
def test_a_status_says_what_a_crawl_would_do(
    serve: Callable[..., SmallSite], tmp_path: Path, answer: Answer, words: str
) -> None:
    web = serve({"/": answer})

    ran = limpet("try", one_handler(tmp_path, f"{web.url}/", "pass"))

    assert ran.code == 1
    assert f"         {words}\n" in ran.out


def test_a_host_that_is_not_there_is_a_failed_page(tmp_path: Path) -> None:
    ran = limpet("try", one_handler(tmp_path, "http://127.0.0.1:1/", "pass", "site.robots = False"))

    assert ran.code == 1
    assert "failed, and would be tried again later: connection refused" in ran.out


def test_a_redirect_is_told_and_its_target_tried(serve: Callable[..., SmallSite], tmp_path: Path) -> None:
    web = serve({"/": Answer("", 302, {"Location": "/new/"}), "/new/": "<h1>Here</h1>"})
    path = one_handler(tmp_path, f"{web.url}/", 'yield Record("r", page.one("h1"), {})')

    ran = limpet("try", path)

    assert ran.code == 0
    assert lines(ran.out, "page") == [f"{web.url}/", f"{web.url}/new/"]
    assert f"a redirect: the page is an alias of {web.url}/new/" in ran.out
    assert lines(ran.out, "record") == ["r Here"]


def test_redirects_without_end_end(serve: Callable[..., SmallSite], tmp_path: Path) -> None:
    web = serve({f"/{n}": Answer("", 302, {"Location": f"/{n + 1}"}) for n in range(30)})

    ran = limpet("try", one_handler(tmp_path, f"{web.url}/0", "pass"))

    assert ran.code == 1
    assert "more than 10 redirects" in ran.out


def test_what_robots_txt_forbids_is_not_fetched_unless_asked_for(
    serve: Callable[..., SmallSite], tmp_path: Path
) -> None:
    web = serve({"/secret": "<h1>S</h1>"}, robots="User-agent: *\nDisallow: /secret\n")
    path = one_handler(tmp_path, f"{web.url}/secret", 'yield Record("r", page.one("h1"), {})')

    ran = limpet("try", path)

    assert ran.code == 1
    assert lines(ran.out, "robots") == ["robots.txt forbids it; --ignore-robots tries it all the same"]
    assert web.asked == ["GET /robots.txt"]
    assert limpet("try", path, "--ignore-robots").code == 0
    assert "GET /secret" in web.asked


def test_a_link_that_robots_txt_forbids_is_marked(serve: Callable[..., SmallSite], tmp_path: Path) -> None:
    web = serve({"/": '<a href="/secret">s</a>'}, robots="User-agent: *\nDisallow: /secret\n")

    ran = limpet("try", one_handler(tmp_path, f"{web.url}/", "yield from page.links()"))

    assert f"  {web.url}/secret  (robots.txt forbids it)\n" in ran.out


def test_robots_txt_that_cannot_be_read_holds_the_page_back(
    serve: Callable[..., SmallSite], tmp_path: Path
) -> None:
    web = serve({"/": "x", "/robots.txt": Answer("", 500)})

    ran = limpet("try", one_handler(tmp_path, f"{web.url}/", "pass"))

    assert (ran.code, web.asked) == (1, ["GET /robots.txt"])
    assert lines(ran.out, "robots")[0].startswith("robots.txt cannot be read: robots.txt: HTTP status 500;")


def test_a_sitemap_shows_the_pages_that_it_lists(serve: Callable[..., SmallSite], tmp_path: Path) -> None:
    listed = "".join(f"<url><loc>{{url}}/p/{n}</loc></url>" for n in range(3))
    urlset = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{listed}</urlset>'
    web = serve(
        {"/map.xml": Answer(urlset, headers={"Content-Type": "application/xml"}), "/p/0": "<h1>0</h1>"}
    )
    path = one_handler(tmp_path, f"{web.url}/", 'yield Record("p", page.one("h1"), {})')
    path.write_text(path.read_text().replace("seeds=", "sitemaps=").replace('/"]', '/map.xml"]'))

    ran = limpet("try", path, "--follow")

    assert ran.code == 0
    assert lines(ran.out, "links") == ["3 to anything"]
    assert lines(ran.out, "record") == ["p 0"]


def only_inside(headers: Mapping[str, str]) -> Answer:
    inside = "session=1" in (headers.get("Cookie") or "")
    return Answer("<h1>In</h1>") if inside else Answer("", 302, {"Location": "/login"})


LOGIN = """
@site.login
def login(session):
    session.post("{url}/{login}")

@site.logged_out
def logged_out(page):
    return page.headers.get("location") == "/login"
"""


def test_a_site_that_wants_a_login_gets_one(serve: Callable[..., SmallSite], tmp_path: Path) -> None:
    login = Answer("in", headers={"Content-Type": "text/plain", "Set-Cookie": "session=1"})
    web = serve({"/": only_inside, "/login": login, "/broken": Answer("no", 200)})
    body = 'yield Record("r", page.one("h1"), {})'

    works = one_handler(tmp_path, f"{web.url}/", body, LOGIN.format(url=web.url, login="login"))
    assert lines(limpet("try", works).out, "record") == ["r In"]

    broken = one_handler(tmp_path, f"{web.url}/", body, LOGIN.format(url=web.url, login="broken"))
    ran = limpet("try", broken)
    assert ran.code == 1
    assert "not logged in, so the page would wait: login failed: it seemed to work" in ran.out


def test_a_file_is_tried_without_a_request(shop: ShopServer, tmp_path: Path) -> None:
    site = write_site(tmp_path / "site", shop.first_page)
    mark = shop.mark()
    page = tmp_path / "page.html"
    page.write_text("<b class=sku>K</b><b class=name>N</b><b class=price>1</b>")

    ran = limpet("try", site, page, "--url", f"{shop.url}/product/77")

    assert ran.code == 0
    assert lines(ran.out, "record") == ["product K"]
    assert lines(ran.out, "answer")[0].endswith("text/html, utf-8 (guess)")
    assert shop.requests_since(mark) == []


def test_a_json_file_is_json(tmp_path: Path) -> None:
    body = "for item in page.json():\n        yield Record('r', item['id'], item)"
    path = one_handler(tmp_path, "https://api.example/", body)
    (tmp_path / "page.json").write_text('[{"id": 1}, {"id": 2}]')

    ran = limpet("try", path, tmp_path / "page.json", "--url", "https://api.example/items")

    assert (ran.code, lines(ran.out, "record")) == (0, ["r 1", "r 2"])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["no.html"], "no.html: neither a file nor a URL"),
        (["shop.py"], "--url says which URL it was fetched from"),
        (["--to", "prodct"], "--to: no handler 'prodct'; there are: listing, product"),
        (["--data", "{"], "--data: not JSON"),
        (["http://user:pw@127.0.0.1/"], "credentials in URL"),
    ],
)
def test_wrong_use_is_one_line(site: Path, words: list[str], said: str) -> None:
    ran = limpet("try", site, *words, cwd=site.parent)

    assert (ran.code, ran.out, len(ran.said)) == (2, "", 1)
    assert said in ran.err


def test_json_is_one_line_a_page(site: Path, shop: ShopServer) -> None:
    ran = limpet("try", site, "--follow", "--json")
    first, second = map(json.loads, ran.out.splitlines())

    assert (first["handler"], first["outcome"], first["status"], first["charset"]) == (
        "listing",
        "done",
        200,
        "utf-8",
    )
    assert first["links"][1] == {
        "url": f"{shop.url}/product/0", "method": "GET", "handler": "product", "data": None, "allowed": True,
    }  # fmt: skip
    assert second["params"] == {"n": "0"}
    assert second["records"][0]["data"]["name"] == "Keyhole lamp 0"


def test_what_a_page_says_cannot_steer_the_terminal(serve: Callable[..., SmallSite], tmp_path: Path) -> None:
    web = serve({"/": "<h1>a\x1b[2Jb\u202ec</h1>"})

    ran = limpet(
        "try",
        one_handler(tmp_path, f"{web.url}/", 'yield Record("r", page.one("h1"), {"a": page.one("h1")})'),
    )

    assert "\x1b" not in ran.out
    assert "\u202e" not in ran.out
    assert lines(ran.out, "record") == ["r a\\u001b[2Jb\\u202ec"]


def test_a_terminal_gets_colours(site: Path) -> None:
    ours, theirs = pty.openpty()
    subprocess.run(command("try", site), stdout=theirs, env={**CLEAN, "TERM": "xterm"}, check=True)
    os.close(theirs)
    shown = os.read(ours, 65_536).decode()
    os.close(ours)

    assert shown.startswith("\x1b[1mpage")
