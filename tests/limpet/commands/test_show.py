"""The story of a page or a record, from the store and the frontier: nothing is started, nothing changed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from front_helpers import ask, edit, limpet, write_site
from small_site import Answer, small_site

from limpet.demo.shop import ShopServer
from limpet.engine import Engine


def said(site: Path, name: str, what: str) -> list[str]:
    """The lines of one kind, and those that go on from it."""
    found, kind = [], ""
    for line in limpet("show", site, name).out.splitlines():
        kind = line[:9].strip() or kind
        if kind == what:
            found.append(line[9:])
    return found


def test_a_page_is_told_back_to_its_seed(crawled: Path, shop: ShopServer) -> None:
    url = f"{shop.url}/product/4"
    ran = limpet("show", crawled, url)

    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith(f"page     {url}\nstate    done, status 200, read 20")
    assert said(crawled, url, "handler") == ["product, named by the link: n=4"]
    assert said(crawled, url, "found") == [
        f"on {shop.url}/list/1, depth 2",
        f"which was found on {shop.first_page}",
        "which is a seed, or was enqueued",
    ]
    assert said(crawled, url, "record") == ["product LP-00004, version 1"]
    assert said(crawled, url, "tries")[0].startswith("last attempt 20")


def test_a_record_is_told_with_its_versions_and_its_page(crawled: Path, shop: ShopServer) -> None:
    told = said(crawled, "LP-00003", "told")

    assert [line.split("  ")[0] for line in told] == ["1", "2"]
    assert told[0].endswith("  created")
    assert told[1].endswith("  changed: price")
    assert said(crawled, "LP-00003", "version")[0].startswith("2, changed 20")
    assert said(crawled, "LP-00003", "part")[0].startswith(
        f"(the only one) from {shop.url}/product/3, last seen 20"
    )
    assert limpet("show", crawled, "product LP-00003").out == limpet("show", crawled, "LP-00003").out


def test_json_has_the_same(crawled: Path) -> None:
    (line,) = limpet("show", crawled, "LP-00003", "--json").out.splitlines()

    assert json.loads(line)[0] == {"what": "record", "text": "product LP-00003"}


def test_it_starts_no_server_and_changes_nothing(crawled: Path, shop: ShopServer) -> None:
    (crawled.parent / ".limpet" / "valkey.log").unlink()
    before = ask(crawled, "SELECT * FROM pages"), ask(crawled, "SELECT * FROM outbox")

    limpet("show", crawled, f"{shop.url}/product/4")

    assert not (crawled.parent / ".limpet" / "valkey.log").exists()
    assert (ask(crawled, "SELECT * FROM pages"), ask(crawled, "SELECT * FROM outbox")) == before


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("/product/77", "no link to it was followed"),
        ("/product/77/x", "no pattern of the site fits it"),
    ],
)
def test_a_page_that_was_never_found_says_so(crawled: Path, shop: ShopServer, path: str, why: str) -> None:
    ran = limpet("show", crawled, f"{shop.url}{path}")

    assert ran.code == 1
    assert "never    fetched: no page of the crawl has this URL\n" in ran.out
    assert f"why      {why}" in ran.out


def test_a_page_out_of_scope_names_the_host_and_who_links_there(tmp_path: Path) -> None:
    with small_site({"/": '<a href="http://127.0.0.2:9/x">x</a>'}) as web:
        site = tmp_path / "s.py"
        site.write_text(
            f'from limpet import Site\nsite = Site("shop", ["{web.url}/"])\n'
            '@site.page("/")\ndef home(page): yield from page.links()\n'
        )
        limpet("crawl", site, "--workers", 1)

        assert said(site, "http://127.0.0.2:9/x", "why")[:2] == [
            "out of scope: Site(hosts=['127.0.0.2:9']) would let links to it be followed",
            f"1 link out of scope on {web.url}/",
        ]


@pytest.mark.parametrize(
    "nearly",
    ["{}/product/3/", "{}/product/3?ref=mail", "{}/PRODUCT/3", "{}//product/3"],
    ids=lambda url: url[2:],
)
def test_a_url_that_is_nearly_a_known_one_is_told(crawled: Path, shop: ShopServer, nearly: str) -> None:
    near = said(crawled, nearly.format(shop.url), "near")

    assert near == ([] if "//product" in nearly else [f"{shop.url}/product/3 (done)"])


def test_a_known_page_with_another_query_is_near(crawled: Path, shop: ShopServer) -> None:
    limpet("enqueue", crawled, f"{shop.url}/product/3?size=9")

    near = said(crawled, f"{shop.url}/product/3?size=8", "near")

    assert near == [f"{shop.url}/product/3?size=9 (pending)", f"{shop.url}/product/3 (done)"]


def test_what_cannot_be_a_url_is_said(crawled: Path) -> None:
    assert said(crawled, "ftp://x/", "never") == ["such a URL cannot be a page: not http"]


def test_a_name_that_is_neither_is_wrong_use(crawled: Path) -> None:
    ran = limpet("show", crawled, "LP-9")

    assert (ran.code, ran.said) == (2, ["limpet: shop has no page and no record 'LP-9'"])


def test_a_page_that_waits_says_for_what(crawled: Path, shop: ShopServer) -> None:
    url = f"{shop.url}/product/77"
    limpet("enqueue", crawled, url)
    now = "(SELECT max(at) FROM outbox)"
    edit(
        crawled,
        f"UPDATE pages SET due_at = {now} + 600000, failures = 2, error = 'HTTP status 500' WHERE state = 'pending'",
        f"UPDATE hosts SET blocked_until = {now} + 1200000, error = '429', robots = NULL",
    )

    waits = said(crawled, url, "waits")

    assert waits[0].startswith("due in ")
    assert waits[0].endswith(" after 2 failures")
    assert " is left alone for another " in waits[1]
    assert waits[2] == f"robots.txt of {shop.url} is not known yet, and comes first"
    assert waits[3] == "nobody works on this machine: `limpet crawl shop.py`"


def test_a_page_in_flight_whose_worker_is_dead_says_so(crawled: Path, shop: ShopServer) -> None:
    edit(crawled, "UPDATE pages SET state = 'pending', open = 1 WHERE id = 4")
    url = ask(crawled, "SELECT url FROM pages WHERE id = 4")[0][0]

    assert said(crawled, str(url), "waits") == [
        "in flight; its worker is dead or elsewhere, and the next run goes on with it"
    ]


@pytest.fixture
def living(crawled: Path) -> Iterator[Engine]:
    with Engine(crawled) as engine:
        engine.relay()
        yield engine


def test_a_lease_is_seen_in_the_frontier(living: Engine, shop: ShopServer) -> None:
    url = f"{shop.url}/product/77"
    limpet("enqueue", living.site_file, url)
    living.frontier.lease("n", 10, 10, lease=60_000, slack=0)

    assert any(
        "a worker has it, leased for another " in line for line in said(living.site_file, url, "waits")
    )


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("UPDATE pages SET state = 'held', reason = 'sample' WHERE id = 4", "it is not in the sample: "),
        (
            "UPDATE pages SET state = 'held', reason = 'token' WHERE id = 4",
            "the token in its URL was refused: ",
        ),
    ],
)
def test_a_page_that_is_held_says_what_lets_it_go(crawled: Path, change: str, why: str) -> None:
    edit(crawled, change)
    url = str(ask(crawled, "SELECT url FROM pages WHERE id = 4")[0][0])

    assert said(crawled, url, "waits")[0].startswith(why)


def test_a_host_whose_logins_fail_is_told(crawled: Path, shop: ShopServer) -> None:
    limpet("enqueue", crawled, f"{shop.url}/product/77")
    edit(crawled, "UPDATE hosts SET logins = 3, error = 'login failed: no'")

    told = said(crawled, f"{shop.url}/product/77", "waits")
    assert any(line.endswith("the next `limpet crawl` tries again: login failed: no") for line in told)


def test_an_unfinished_crawl_may_still_find_the_page(crawled: Path, shop: ShopServer) -> None:
    limpet("enqueue", crawled, f"{shop.url}/product/77")

    told = said(crawled, f"{shop.url}/product/78", "why")
    assert told[1] == "1 page still to be read: the crawl is not finished, and one of them may"


def test_a_rejected_record_is_told_with_its_page_and_on_its_page(crawled: Path, shop: ShopServer) -> None:
    row = "(6, 0, 'product', 'LP-00003', 'price', 'no number', 'x', 0)"
    edit(crawled, f"INSERT INTO rejections (page, n, type, key, field, reason, value, at) VALUES {row}")
    url = str(ask(crawled, "SELECT url FROM pages WHERE id = 6")[0][0])
    told = "price: no number ('x'), 1970-01-01T00:00:00.000Z"

    assert said(crawled, url, "rejected") == [f"product LP-00003: {told}"]
    assert said(crawled, "LP-00003", "rejected") == [f"{url}: {told}"]


def test_a_dead_page_says_why(crawled: Path, shop: ShopServer) -> None:
    edit(
        crawled,
        "UPDATE pages SET state = 'dead', reason = 'robots', error = 'disallowed by robots.txt' WHERE id = 4",
    )
    url = str(ask(crawled, "SELECT url FROM pages WHERE id = 4")[0][0])

    assert said(crawled, url, "state")[0].startswith("dead (robots), ")
    assert said(crawled, url, "error") == ["disallowed by robots.txt"]


def test_a_page_read_by_older_code_says_how_to_read_it_again(crawled: Path, shop: ShopServer) -> None:
    write_site(crawled.parent, shop.first_page, "pass")

    assert said(crawled, f"{shop.url}/product/4", "handler")[1] == (
        "but it was read by older code; `limpet crawl shop.py --refresh` reads it again"
    )


def test_an_alias_says_where_it_leads(tmp_path: Path) -> None:
    with small_site({"/": Answer("", 302, {"Location": "/new"}), "/new": "x"}) as web:
        site = tmp_path / "s.py"
        site.write_text(f'from limpet import Site\nsite = Site("shop", ["{web.url}/"])\n')
        limpet("crawl", site, "--workers", 1)

        lead = said(site, f"{web.url}/", "leads to")
        assert lead[0] == f"{web.url}/new"
        assert lead[1].startswith("which is done, status 200")
        assert said(site, f"{web.url}/new", "found")[0] == f"on {web.url}/ by 1 redirect, depth 0"


def test_a_crawl_that_never_began_is_wrong_use(site: Path) -> None:
    assert limpet("show", site, "http://127.0.0.1/").code == 2


def test_a_page_that_had_no_room_names_the_pages_that_may_link_it(tmp_path: Path) -> None:
    with small_site({"/": '<a href="/a">a</a><a href="/b">b</a>', "/a": "a"}) as web:
        site = tmp_path / "s.py"
        site.write_text(
            f'from limpet import Site\nsite = Site("shop", ["{web.url}/"], max_pages=2)\n'
            '@site.page("/{rest:path}")\ndef home(page): yield from page.links()\n'
        )
        limpet("crawl", site, "--workers", 1)

        assert said(site, f"{web.url}/b", "why")[0] == (
            f"perhaps one of 1 link left out on {web.url}/: too many pages of its host"
        )
