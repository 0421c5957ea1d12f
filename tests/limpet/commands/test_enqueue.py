"""Adding URLs: what is new, known or wrong, and that a crawl takes them."""

from __future__ import annotations

import json
from pathlib import Path

from front_helpers import ask, database, eventually, limpet, running

from limpet.demo.shop import ShopServer

NOBODY = "redis://127.0.0.1:1/0"


def lines(*values: object) -> str:
    return "".join(f"{value if isinstance(value, str) else json.dumps(value)}\n" for value in values)


def pages(site: Path) -> list[tuple[object, ...]]:
    return ask(site, "SELECT canonical, handler, data, priority FROM pages WHERE kind = 'page' ORDER BY id")


def test_new_known_and_rejected_urls_are_counted(site: Path, shop: ShopServer) -> None:
    url = f"{shop.url}/product/1"

    assert limpet("enqueue", site, url, url).said == [f"shop: 1 new, 1 known; state in {site.parent}/.limpet"]
    again = limpet("enqueue", site, url, f"{shop.url}/product/2", "nope", "http://elsewhere.example/")

    assert again.code == 0
    assert again.said == [
        "line 3: not a URL: nope",
        "line 4: out of scope: http://elsewhere.example/",
        f"shop: 1 new, 1 known, 2 rejected (1 not a URL, 1 out of scope); state in {site.parent}/.limpet",
    ]
    assert [page[0] for page in pages(site)] == [url, f"{shop.url}/product/2"]


def test_the_seeds_of_the_site_file_are_enqueued_when_they_are_asked_for(
    site: Path, shop: ShopServer
) -> None:
    assert limpet("enqueue", site).code == 2

    ran = limpet("enqueue", site, "--seeds", f"{shop.url}/product/1")
    again = limpet("enqueue", site, "--seeds")

    assert (ran.code, again.code) == (0, 0)
    assert ran.said[-1].startswith("shop: 2 new, 0 known")
    assert again.said[-1].startswith("shop: 0 new, 1 known")
    assert [page[0] for page in pages(site)] == [shop.first_page, f"{shop.url}/product/1"]


def test_lines_may_be_json_and_comments_are_skipped(site: Path, shop: ShopServer) -> None:
    wanted = {"url": f"{shop.url}/x", "to": "product", "data": {"b": 1, "a": [2]}, "priority": 7}
    text = "\ufeff# products\n\n   \n" + lines(wanted, f"  {shop.url}/y  ")

    ran = limpet("enqueue", site, "-", "--priority", 3, stdin=text)

    assert ran.code == 0
    assert pages(site) == [
        (f"{shop.url}/x", "product", '{"a":[2],"b":1}', 7),
        (f"{shop.url}/y", None, None, 3),
    ]


def test_lines_come_from_a_file_too(site: Path, shop: ShopServer, tmp_path: Path) -> None:
    (tmp_path / "urls").write_text(lines(f"{shop.url}/a", f"{shop.url}/b"))

    assert limpet("enqueue", site, "--file", tmp_path / "urls", "--to", "listing").code == 0
    assert [page[:2] for page in pages(site)] == [(f"{shop.url}/a", "listing"), (f"{shop.url}/b", "listing")]


def test_a_wrong_line_is_named_with_its_number_and_costs_no_other(site: Path, shop: ShopServer) -> None:
    text = lines(
        "# comment",
        {"url": f"{shop.url}/a", "to": "nobody"},
        {"address": "x"},
        "{broken",
        {"url": f"{shop.url}/b", "prio": 1},
        {"url": f"{shop.url}/c", "priority": "high"},
        {"url": f"{shop.url}/d", "data": "x" * 20_000},
        f"{shop.url}/good",
    )

    said = limpet("enqueue", site, "-", stdin=text).said

    assert said[0].startswith("line 2: no such handler: ")
    assert "('nobody'; there are: listing, product)" in said[0]
    assert said[1] == 'line 3: no "url": {"address": "x"}'
    assert said[2] == "line 4: not JSON: {broken"
    assert said[3].startswith("line 5: unknown field: ")
    assert said[4].startswith("line 6: priority is no whole number within a million: ")
    assert said[5].startswith("line 7: data cannot be stored: ")
    assert said[6].startswith("shop: 1 new, 0 known, 6 rejected (")


def test_of_many_lines_wrong_for_one_reason_three_are_named(site: Path, shop: ShopServer) -> None:
    said = limpet("enqueue", site, "-", stdin=lines(f"{shop.url}/a", *(f"nope{n}" for n in range(9)))).said

    assert said[:3] == ["line 2: not a URL: nope0", "line 3: not a URL: nope1", "line 4: not a URL: nope2"]
    assert said[3].startswith("shop: 1 new, 0 known, 9 rejected (9 not a URL)")


def test_it_is_wrong_use_when_every_line_is_wrong(site: Path) -> None:
    ran = limpet("enqueue", site, "nope", "ftp://127.0.0.1/")

    assert ran.code == 2
    assert ran.said == [
        "limpet: nothing was enqueued: line 1: not a URL: nope; line 2: not http: ftp://127.0.0.1/"
        " (1 not a URL, 1 not http)"
    ]


def test_a_handler_that_is_not_there_is_wrong_use(site: Path, shop: ShopServer) -> None:
    ran = limpet("enqueue", site, "--to", "nobody", f"{shop.url}/a")

    assert (ran.code, ran.said) == (2, ["limpet: --to: no handler 'nobody'; there are: listing, product"])
    assert not database(site).exists()


def test_nothing_to_enqueue_is_wrong_use(site: Path) -> None:
    assert limpet("enqueue", site).code == 2
    assert limpet("enqueue", site, "--file", site.parent / "none").code == 2


def test_more_lines_than_one_transaction_takes_all_go_in(site: Path, shop: ShopServer) -> None:
    text = lines(*(f"{shop.url}/product/{n}" for n in range(2_500)), "nope")

    ran = limpet("enqueue", site, "-", stdin=text)

    assert ran.said[0] == "line 2501: not a URL: nope"
    assert ran.said[1].startswith("shop: 2500 new, 0 known, 1 rejected")


def test_it_starts_no_server(site: Path, shop: ShopServer) -> None:
    assert limpet("enqueue", site, f"{shop.url}/a").code == 0

    assert not (site.parent / ".limpet" / "valkey.log").exists()


def test_a_redis_that_is_away_loses_nothing(site: Path, shop: ShopServer) -> None:
    ran = limpet("enqueue", site, f"{shop.url}/product/1", "--redis", NOBODY)

    assert ran.code == 0
    assert "whoever works next finds the pages" in ran.said[0]
    assert limpet("consume", site, "--until-done", "--workers", 1).code == 0
    assert ask(site, "SELECT state FROM pages WHERE kind = 'page'") == [("done",)]


def test_workers_that_run_take_what_is_enqueued(site: Path, shop: ShopServer) -> None:
    with running("consume", site, "--workers", 1) as pool:
        eventually(lambda: list((site.parent / ".limpet" / "run").glob("worker-*")))
        mark = shop.mark()
        assert limpet("enqueue", site, f"{shop.url}/product/4").code == 0
        assert shop.wait_for_request(mark).path == "/robots.txt"
        eventually(lambda: ask(site, "SELECT key FROM records") == [("LP-00004",)])
        eventually(lambda: ask(site, "SELECT finished_at > 0 FROM rounds") == [(1,)])
        pool.terminate()
        _, said = pool.communicate(timeout=20)
    assert pool.returncode == 143
    assert f"`limpet consume {site}` goes on from here" in said
