"""How a crawl stands: problems first, nothing started, nothing changed."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from front_helpers import CLEAN, ask, command, edit, limpet, write_site

from limpet import standing
from limpet.demo.shop import ShopServer
from limpet.engine import Engine

FIELDS = [
    "crawl", "site_file", "store", "at", "problems", "pages", "sitemaps", "dead", "failing",
    "failing_by_reason", "missed", "paused", "in_flight", "next_due",
    "records", "versions", "rejected", "unmatched", "stale", "requests", "repeat_rate", "round", "hosts_total", "hosts",
    "workers", "redis", "lag", "queue",
]  # fmt: skip
RFC3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
NOBODY = "redis://127.0.0.1:1/0"


def test_a_finished_crawl_in_plain_lines(crawled: Path) -> None:
    ran = limpet("status", crawled)
    lines = dict(line.split(": ", 1) for line in ran.out.splitlines())

    assert (ran.code, ran.err) == (0, "")
    assert list(lines) == ["crawl", "pages", "records", "round", "host", "workers", "lag", "store"]
    assert lines["pages"] == "8 done"
    assert lines["records"] == "6, 8 versions; this round 9 requests, 1.50 for each record"
    assert lines["round"].startswith("2 (asked for), begun ")
    assert lines["lag"] == "unknown (Redis is not running)"


def test_json_is_stable_and_complete(crawled: Path) -> None:
    found = json.loads(limpet("status", crawled, "--json").out)

    assert list(found) == FIELDS
    assert found["pages"] == {"pending": 0, "done": 8, "alias": 0, "dead": 0, "gone": 0, "held": 0}
    assert (found["records"], found["versions"], found["requests"], found["repeat_rate"]) == (6, 8, 9, 1.5)
    assert found["lag"] is None
    for time in (found["at"], found["round"]["started"], found["round"]["finished"]):
        assert RFC3339.fullmatch(time)
    assert list(found["hosts"][0]) == [
        "host", "delay", "max_in_flight", "paused", "blocked_until", "resting", "error", "robots_unknown",
        "held",
    ]  # fmt: skip


def everything(site: Path) -> list[list[tuple[object, ...]]]:
    return [ask(site, f"SELECT * FROM {table}") for table in ("meta", "hosts", "pages", "outbox", "rounds")]


def test_it_starts_no_server_and_changes_nothing(crawled: Path) -> None:
    (crawled.parent / ".limpet" / "valkey.log").unlink()
    before = everything(crawled)

    limpet("status", crawled)

    assert not (crawled.parent / ".limpet" / "valkey.log").exists()
    assert everything(crawled) == before


def test_problems_come_first(crawled: Path) -> None:
    now = "(SELECT max(at) FROM outbox)"
    edit(
        crawled,
        "UPDATE pages SET state = 'dead', reason = 'failed' WHERE id = 2",
        "UPDATE pages SET state = 'held' WHERE id = 3",
        "UPDATE pages SET state = 'pending', open = 1 WHERE id = 4",
        "UPDATE pages SET code = ':' WHERE id = 5",
        "UPDATE pages SET code = 'product:older' WHERE id = 6",
        "INSERT INTO rejections VALUES (6, 0, 'product', 'k', 'price', 'no price', '', 0)",
        f"UPDATE hosts SET blocked_until = {now} + 615000, rests = 1, error = 'time-out'",
    )

    ran = limpet("status", crawled, "--check")

    problems = [
        line.removeprefix("problem: ") for line in ran.out.splitlines() if line.startswith("problem: ")
    ]
    url = ask(crawled, "SELECT url FROM pages WHERE id = 2")[0][0]
    assert ran.code == 4
    assert ran.out.startswith("problem: ")
    assert problems[0] == f"1 page dead (failed), e.g. {url}"
    read = ask(crawled, "SELECT url FROM pages WHERE id = 6")[0][0]
    assert problems[1] == f"1 record rejected, e.g. product k on {read}: price: no price"
    assert re.fullmatch(r"http://127.0.0.1:\d+ rests for another \d+ min: time-out", problems[2])
    assert problems[3:5] == [
        "held: 1 page",
        "in flight when the workers died: 1 page; the next run goes on with them",
    ]
    assert problems[5].startswith("1 page matched no handler, e.g. http://127.0.0.1:")
    assert problems[6:] == ["read by handlers that have changed since: 1 page"]
    assert json.loads(limpet("status", crawled, "--json").out)["problems"] == problems


def test_what_a_page_wrote_cannot_steer_the_terminal(crawled: Path) -> None:
    edit(
        crawled,
        "INSERT INTO rejections VALUES (6, 0, 'product', 'k', 'price', 'no \x1b[2J price\nreally', '', 0)",
    )

    assert ": no \\u001b[2J price\n" in limpet("status", crawled).out


def test_a_redis_that_should_be_there_and_is_not_is_a_problem(crawled: Path) -> None:
    ran = limpet("status", crawled, "--redis", NOBODY)

    assert ran.code == 0
    assert ran.out.startswith("problem: no usable Redis at 127.0.0.1:1")
    assert "lag: unknown (Redis is not running)" in ran.out


@pytest.fixture
def living(crawled: Path) -> Iterator[Engine]:
    with Engine(crawled) as engine:
        engine.relay()
        yield engine


def test_the_lag_is_the_rows_that_redis_has_not_seen(living: Engine) -> None:
    assert json.loads(limpet("status", living.site_file, "--json").out)["lag"] == 0

    edit(
        living.site_file,
        *["INSERT INTO outbox (mark, kind, ops, messages, at) VALUES ('a', 'x', '[]', '', 0)"] * 3,
    )

    found = json.loads(limpet("status", living.site_file, "--json").out)
    assert (found["redis"], found["lag"]) == ("running", 3)


def test_a_frontier_that_was_lost_has_no_lag(living: Engine) -> None:
    living.client.flushall()

    assert "lag: unknown (Redis is to be rebuilt)" in limpet("status", living.site_file).out


def test_without_a_site_file_the_one_in_the_folder_is_meant_and_named(crawled: Path) -> None:
    (crawled.parent / "tool.py").write_text("raise SystemExit('this must not be run')")

    ran = limpet("status", cwd=crawled.parent)

    assert (ran.code, ran.said) == (0, ["status of shop.py"])
    assert ran.out.startswith("crawl: shop (")


def test_of_several_site_files_the_one_that_was_crawled_is_meant(crawled: Path) -> None:
    (crawled.parent / "another.py").write_text(
        'import limpet\nsite = limpet.Site("another", seeds=["http://a/"])'
    )

    assert limpet("status", cwd=crawled.parent).said == ["status of shop.py"]


def test_several_site_files_are_listed(site: Path, shop: ShopServer) -> None:
    (site.parent / "b.py").write_text('from limpet import Site\nsite = Site("b", seeds=["http://a/"])')

    ran = limpet("status", cwd=site.parent)

    assert (ran.code, ran.said) == (2, ["limpet: several site files here, name one: b.py, shop.py"])


def test_a_folder_without_a_site_file_is_wrong_use(tmp_path: Path) -> None:
    ran = limpet("status", cwd=tmp_path)

    assert (ran.code, ran.said) == (2, [f"limpet: no site file in {tmp_path}: name one"])


def test_a_crawl_with_everything_in_many_hosts_still_fits_a_screen(crawled: Path) -> None:
    edit(
        crawled,
        *(
            "INSERT INTO hosts (scheme, name, port, scope, delay, max_in_flight, paused)"
            f" VALUES ('https', 'h{n}.example', 443, 1, 1000, 1, {n % 2})"
            for n in range(60)
        ),
    )

    ran = limpet("status", crawled)

    assert len(ran.out.splitlines()) < 40
    assert "problem: and 19 more: --json has them all" in ran.out
    assert "host: and 53 more" in ran.out


def in_terminal(*args: object, **env: str) -> str:
    """What a command shows in a terminal."""
    ours, theirs = pty.openpty()
    subprocess.run(command(*args), stdout=theirs, env={**CLEAN, "TERM": "xterm", **env}, check=True)
    os.close(theirs)
    shown = b""
    while chunk := _read(ours):
        shown += chunk
    os.close(ours)
    return shown.decode()


def _read(fd: int) -> bytes:
    try:
        return os.read(fd, 65_536)
    except OSError:  # how a terminal says that it is closed
        return b""


def test_a_terminal_gets_colours_unless_it_wants_none(crawled: Path, shop: ShopServer) -> None:
    edit(crawled, "UPDATE pages SET state = 'dead', reason = 'failed' WHERE id = 2")

    colourful, plain = in_terminal("status", crawled), in_terminal("status", crawled, NO_COLOR="1")

    assert colourful.startswith("\x1b[1;31m! 1 page dead (failed)")
    assert "\x1b[1;31m" not in plain
    assert "! 1 page dead (failed)" in plain


def test_a_crawl_that_was_only_enqueued_to_has_a_status(site: Path, shop: ShopServer) -> None:
    limpet("enqueue", site, f"{shop.url}/product/1")

    ran = limpet("status", site, "--check")

    assert ran.code == 4
    assert "pages: 1 pending" in ran.out
    assert "robots.txt unknown" in ran.out


def test_nothing_was_stored_by_an_empty_crawl(shop: ShopServer, tmp_path: Path) -> None:
    site = write_site(tmp_path / "site", shop.first_page)
    limpet("consume", site, "--until-done", "--workers", 1)

    found = json.loads(limpet("status", site, "--json").out)

    assert (found["round"], found["repeat_rate"], found["hosts"]) == (None, None, [])


def test_every_problem_is_listed_with_its_url_and_reason(crawled: Path) -> None:
    edit(
        crawled,
        "UPDATE pages SET state = 'dead', reason = 'failed', error = 'HTTP status 500', status = 500 WHERE id = 3",
        "UPDATE pages SET state = 'pending', failures = 2, error = 'slow', reason = 'time-out' WHERE id = 4",
        "UPDATE pages SET missed = 1, missed_at = 0, status = 404 WHERE id = 5",
        "INSERT INTO rejections VALUES (2, 0, 'product', 'k', 'price', 'no price', '', 0)",
    )

    found = [json.loads(line) for line in limpet("status", crawled, "--problems").out.splitlines()]

    urls = dict(ask(crawled, "SELECT id, url FROM pages"))
    assert [
        (problem["kind"], problem["url"], problem["reason"]) for problem in found if "reason" in problem
    ] == [
        ("dead page", urls[3], "failed"),
        ("failing page", urls[4], "time-out"),
        ("rejected record", urls[2], "no price"),
    ]
    assert found[0]["linked_from"] in urls.values()
    assert (found[1]["url"], found[1]["failures"], found[1]["error"]) == (urls[4], 2, "slow")
    assert (found[2]["kind"], found[2]["url"], found[2]["status"]) == ("missed page", urls[5], 404)


def test_what_takes_too_long_to_count_is_left_out_and_said_to_be(
    crawled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(standing, "PATIENCE", -1.0)

    found = json.loads(limpet("status", crawled, "--json").out)

    assert (found["stale"], found["unmatched"]) == (None, None)
    assert "not counted: pages by the handler that read them" in limpet("status", crawled).out
