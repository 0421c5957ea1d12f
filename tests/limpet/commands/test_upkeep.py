"""path, reset, rebuild, doctor."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from front_helpers import ask, database, limpet, running, write_site

from limpet import home as homes
from limpet.demo.shop import Shop, ShopServer
from limpet.engine import Engine
from limpet.looking import embedded_runs
from limpet_store.server import connect
from limpet_store.valkey import ensure_server, stop_server

NOBODY = "redis://127.0.0.1:1/0"


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[str]:
    """A Redis that is not the embedded one of the crawl."""
    home = tmp_path / "elsewhere"
    home.mkdir()
    yield ensure_server(home).url
    stop_server(home)


def test_path_prints_the_database_and_nothing_else(site: Path, tmp_path: Path) -> None:
    assert limpet("path", site).out == f"{site.parent}/.limpet/shop.db\n"
    assert not (site.parent / ".limpet").exists()
    assert limpet("path", site, env={"LIMPET_HOME": str(tmp_path / "h")}).out == f"{tmp_path}/h/shop.db\n"
    assert (
        limpet("path", site, "--store", tmp_path / "x.db", env={"LIMPET_HOME": "/h"}).out
        == f"{tmp_path}/x.db\n"
    )


def test_the_path_opens_in_sqlite(crawled: Path) -> None:
    path = limpet("path", crawled).out.strip()

    assert sqlite3.connect(path).execute("SELECT count(*) FROM records").fetchone() == (6,)


def test_reset_asks_and_no_means_no(crawled: Path) -> None:
    ran = limpet("reset", crawled, stdin="n\n")

    assert ran.code == 130
    assert "Delete all data of shop" in ran.err
    assert ran.said[-1].endswith("nothing was removed")
    assert database(crawled).exists()


def test_reset_deletes_nothing_when_nobody_can_answer(crawled: Path) -> None:
    ran = limpet("reset", crawled)

    assert ran.code == 2
    assert "say --yes" in ran.err
    assert database(crawled).exists()


@pytest.mark.parametrize(("options", "answer"), [(["--yes"], ""), ([], "y\n")])
def test_reset_removes_the_crawl_and_says_what(
    crawled: Path, shop: ShopServer, options: list[str], answer: str
) -> None:
    ran = limpet("reset", crawled, *options, stdin=answer)

    assert ran.code == 0
    assert str(database(crawled)) in ran.said[-1]
    assert [path.name for path in (crawled.parent / ".limpet").glob("shop*")] == []
    assert limpet("crawl", crawled, "--workers", 1).code == 0
    assert ask(crawled, "SELECT max(version) FROM records") == [(1,)]


def test_reset_of_what_is_not_there_is_no_mistake(site: Path) -> None:
    ran = limpet("reset", site)

    assert ran.code == 0
    assert "nothing to delete" in ran.err


def test_reset_stops_the_embedded_server_that_a_killed_run_left(crawled: Path) -> None:
    home = crawled.parent / ".limpet"
    ensure_server(home)
    try:
        ran = limpet("reset", crawled, "--yes")
        assert not embedded_runs(home)
    finally:
        stop_server(home)
    assert "what the embedded server held" in ran.said[-1]


def test_reset_is_refused_while_a_crawl_runs(tmp_path: Path) -> None:
    with ShopServer(Shop(listings=2, products=6), log_path=tmp_path / "log") as slow:
        slow.delay_answers(1.0)
        site = write_site(tmp_path / "site", slow.first_page)
        with running("crawl", site, "--workers", 1):
            slow.wait_for_request(0)
            ran = limpet("reset", site, "--yes")
    assert ran.code == 2
    assert "shop is in use (front " in ran.err
    assert database(site).exists()


def test_reset_takes_the_crawl_out_of_a_redis_elsewhere_and_nothing_else(site: Path, elsewhere: str) -> None:
    assert limpet("crawl", site, "--workers", 1, "--redis", elsewhere).code == 0
    with connect(elsewhere) as client:
        client.set("somebody:else", "1")

        ran = limpet("reset", site, "--yes", "--redis", elsewhere)

        assert " keys in Redis" in ran.said[-1]
        left = {key for key in client.scan_iter() if b"shop" in key}  # type: ignore[union-attr]
        assert left == set()
        assert client.get("somebody:else") == b"1"


def test_reset_works_when_redis_is_away_and_says_what_stays(crawled: Path) -> None:
    ran = limpet("reset", crawled, "--yes", "--redis", NOBODY)

    assert ran.code == 0
    assert ran.said[0].startswith("its keys in Redis stay: ")
    assert not database(crawled).exists()


def test_rebuild_says_what_it_built(crawled: Path, shop: ShopServer) -> None:
    limpet("enqueue", crawled, f"{shop.url}/product/1?again")

    ran = limpet("rebuild", crawled)

    assert (ran.code, ran.said[-1]) == (0, "rebuilt: 1 page, 10 messages")


def test_rebuild_replaces_what_is_wrong_in_redis(crawled: Path, shop: ShopServer) -> None:
    limpet("enqueue", crawled, f"{shop.url}/product/1?again")
    with Engine(crawled) as engine:
        engine.relay()
        page, host = ask(crawled, "SELECT id, host FROM pages WHERE state = 'pending'")[0]
        engine.client.zrem(f"{engine.frontier.prefix}:p:{host}", str(page))
        engine.client.delete(f"{engine.frontier.prefix}:stream")

        assert limpet("rebuild", crawled).code == 0

        assert engine.frontier.holds(int(str(page)), int(str(host)))
        assert engine.frontier.status().messages == 10


def test_rebuild_while_a_crawl_runs_repeats_no_page(tmp_path: Path) -> None:
    with ShopServer(Shop(listings=5, products=40), log_path=tmp_path / "log") as slow:
        slow.delay_answers(0.1)
        site = write_site(tmp_path / "site", slow.first_page)
        with running("crawl", site, "--workers", 2) as crawl:
            slow.wait_for_request(0)
            for _ in range(3):
                assert limpet("rebuild", site).code == 0
            crawl.communicate(timeout=60)
        assert crawl.returncode == 0
        paths = [request.path for request in slow.log()]
    assert len(paths) == len(set(paths)) == 46


def facts(out: str) -> dict[str, str]:
    return dict(line.split(": ", 1) for line in out.splitlines())


def test_doctor_shows_the_machine_and_where_each_setting_comes_from(crawled: Path, tmp_path: Path) -> None:
    ran = limpet("doctor", crawled, "--home", tmp_path / "h", env={"LIMPET_WORKERS": "3"})
    found = facts(ran.out)

    assert ran.code == 0
    assert found["--home"] == f"{tmp_path}/h  (flag --home; LIMPET_HOME)"
    assert found["--workers"] == "3  (environment LIMPET_WORKERS)"
    assert found["--redis"] == "embedded  (default; LIMPET_REDIS_URL)"
    assert found["site"] == "shop, handlers: listing, product"
    assert {"python", "sqlite", "cpus", "home", "store", "embedded server", "socket"} <= found.keys()
    assert not (tmp_path / "h").exists()


def test_doctor_needs_no_site_file(tmp_path: Path) -> None:
    assert limpet("doctor", cwd=tmp_path).code == 0
    assert list(tmp_path.iterdir()) == []


def test_doctor_names_no_database_where_there_is_no_crawl_and_no_variable_twice(tmp_path: Path) -> None:
    found = facts(limpet("doctor", cwd=tmp_path, env={"LIMPET_WORKERS": "2"}).out)
    assert found["--store"].startswith(f"{tmp_path}/.limpet/<crawl>.db")
    assert found["--workers"] == "2  (environment LIMPET_WORKERS)"


def test_doctor_looks_into_the_store(crawled: Path) -> None:
    assert "journal " in facts(limpet("doctor", crawled).out)["store"]


def test_doctor_shows_the_socket_of_a_server_that_runs(crawled: Path) -> None:
    with Engine(crawled) as engine:
        path = engine.server_url.removeprefix("unix://")

        assert facts(limpet("doctor", crawled).out)["socket"].startswith(f"{path}, server pid ")


def test_doctor_names_the_redis_without_its_password(crawled: Path, elsewhere: str) -> None:
    found = facts(limpet("doctor", crawled, "--redis", elsewhere).out)
    assert found["redis"].startswith("valkey ")
    assert "maxmemory-policy noeviction" in found["redis"]

    away = limpet("doctor", crawled, "--redis", "redis://:secret@127.0.0.1:1/0")
    assert away.code == 1
    assert away.out.startswith("problem: no usable Redis at 127.0.0.1:1")
    assert "secret" not in away.out


def test_doctor_finds_a_broken_site_file(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text("x = 1")

    ran = limpet("doctor", tmp_path / "shop.py")

    assert ran.code == 1
    assert ran.out.startswith("problem: ")
    assert "no `site` in it" in ran.out.splitlines()[0]


def test_doctor_finds_a_file_that_is_no_store(site: Path) -> None:
    database(site).parent.mkdir()
    database(site).write_text(
        "this is no database, and it is longer than a header of SQLite's would be\n" * 9
    )

    ran = limpet("doctor", site)

    assert ran.code == 1
    assert "not a database" in ran.out.splitlines()[0]


@pytest.mark.parametrize("name", ["crawl", "doctor"])
def test_a_network_file_system_is_refused(site: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(homes, "filesystem", lambda folder: "nfs4")
    monkeypatch.setattr("limpet.doctoring.filesystem", lambda folder: "nfs4")

    ran = limpet(name, site)

    assert ran.code == {"crawl": 2, "doctor": 1}[name]
    assert "is on a network file system (nfs4)" in (ran.err or ran.out).splitlines()[0]


def test_what_doctor_says_is_what_a_crawl_uses(crawled: Path) -> None:
    store = facts(limpet("doctor", crawled).out)["store"].split(": ")[0]

    assert store == json.loads(limpet("status", crawled, "--json").out)["store"]
