"""Delays, robots.txt and retries, as a worker keeps them over turns driven by hand."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from consuming import BASE, Bench, html, shop

from limpet_consumers.decide import retry_after
from limpet_consumers.http import FetchFailed, Request, Response
from limpet_consumers.pace import LONGEST, Paces
from limpet_store import rounds
from limpet_store.attempts import PageRow
from limpet_store.retry import DAY
from limpet_store.server import Server
from limpet_store.store import Store

NOW = 1_800_000_000_000  # 15 January 2027, 08:00:00 GMT
RULES = "/robots.txt"
PRODUCT = html('<b class="price">5</b>')


@pytest.fixture
def bench(store: Store, real_server: Server) -> Callable[..., Bench]:
    return lambda answers, **options: Bench(store, real_server, answers, shop(**options))


def listing(count: int, answer: Any = PRODUCT) -> dict[str, Any]:
    """A listing of so many products, all with this answer."""
    links = "".join(f'<a href="/p/{n}">{n}</a>' for n in range(count))
    return {"/": html(links), **{f"/p/{n}": answer for n in range(count)}}


def host_of(made: Bench, *columns: str) -> tuple[Any, ...]:
    found = made.store.db.one(f"SELECT {', '.join(columns)} FROM hosts")
    assert found is not None
    return found


def told(made: Bench, field: str) -> int:
    """What the frontier knows of the host."""
    prefix = made.worker("looks").frontier.prefix
    return int(made.server.command("HGET", f"{prefix}:h:1", field))


def to_the_end(made: Bench) -> None:
    """Until nothing is pending, however long its host wants to be left alone."""
    worker, until = made.worker(f"ends{time.monotonic_ns()}"), time.monotonic() + 20
    while rounds.pending(made.store):
        assert time.monotonic() < until, made.web.log
        worker.turn()


# -- never faster than the host answers


def row(delay: int, pace: int = 0, host: int = 1) -> PageRow:
    """A page's row of which nothing counts but its host."""
    return PageRow(**dict.fromkeys(PageRow._fields) | {"host": host, "delay": delay, "pace": pace})


def noted(*seconds: float) -> Paces:
    paces = Paces()
    for each in seconds:
        paces.add(1, each)
    return paces


@pytest.mark.parametrize(
    ("seconds", "delay", "known", "news"),
    [
        ([2] * 4, 1_000, 0, None),  # too few
        ([2] * 5, 1_000, 0, 2_000),
        ([0.1, 0.1, 2, 9, 9], 1_000, 0, 2_000),
        ([0.1] * 9, 1_000, 0, None),  # the delay is longer anyway
        ([2.1] * 9, 2_000, 2_000, None),  # nearly what is known
        ([0.1] * 9, 2_000, 2_000, 100),
        ([0.04] * 9, 20, 0, None),  # a few milliseconds
        ([500] * 9, 1_000, 0, LONGEST),
        ([9, 9, 9, *[0.1] * 9], 1_000, 0, None),  # long ago
    ],
)
def test_a_pace_is_news_when_the_median_differs_markedly(
    seconds: list[float], delay: int, known: int, news: int | None
) -> None:
    assert noted(*seconds).news(row(delay, known)) == news


def test_each_host_has_a_pace_of_its_own() -> None:
    assert noted(*[2] * 9).news(row(1_000, host=2)) is None


def test_a_host_that_answers_slowly_is_asked_no_faster_over_a_wipe_too(bench: Any) -> None:
    made = bench(listing(6, replace(PRODUCT, wait=0.3)), delay=0.02)
    to_the_end(made)
    assert host_of(made, "delay", "pace") == (20, 300)
    assert told(made, "d") == 300
    made.server.command("FLUSHALL")
    assert made.worker("rebuilder").rebuild()
    assert told(made, "d") == 300


def test_a_host_without_a_delay_has_no_pace(bench: Any) -> None:
    made = bench(listing(6, replace(PRODUCT, wait=0.3)))
    made.crawl()
    assert host_of(made, "delay", "pace") == (0, 0)


# -- robots.txt


def a_day_passes(made: Bench) -> None:
    """For the rules alone; one page is due."""
    with made.store.db.write():
        made.store.db.run("UPDATE hosts SET robots_at = robots_at - ?", (DAY + 1,))
        made.store.db.run("UPDATE pages SET due_at = due_at - ? WHERE kind = 'robots'", (DAY + 1,))
        made.store.db.run("UPDATE pages SET state = 'pending', due_at = 0 WHERE key = ?", (f"{BASE}/p/1",))
    made.worker("rebuilder").rebuild(made.worker("x").frontier.cursor())


def test_rules_are_read_again_within_a_round_once_they_are_a_day_old(bench: Any) -> None:
    made = bench({**listing(3), RULES: html("User-agent: *\nDisallow: /bad")}, robots=True)
    made.crawl()
    read_at = host_of(made, "robots_at")
    made.crawl()
    assert made.web.log.count(RULES) == 1
    made.web.answers[RULES] = html("User-agent: *\nDisallow: /p/2\nCrawl-delay: 0.01")
    a_day_passes(made)
    made.crawl()
    assert made.web.log[-2:] == ["/p/1", RULES]
    assert host_of(made, "robots_at") > read_at
    assert told(made, "d") == 10
    assert not rounds.pending(made.store)


@pytest.mark.parametrize(
    "answer",
    [html("<h1>Sorry</h1>", 500), html("<h1>Sorry</h1>", 503), html("", 429), FetchFailed("time-out")],
    ids=["500", "503", "429", "time-out"],
)
def test_the_old_rules_stand_while_new_ones_cannot_be_had_and_the_crawl_ends(bench: Any, answer: Any) -> None:
    made = bench({**listing(3), RULES: html("User-agent: *\nDisallow: /p/2")}, robots=True)
    made.site.tune(time_scale=0.0001)
    made.crawl()
    made.web.answers[RULES] = answer
    a_day_passes(made)
    read_at = host_of(made, "robots_at")
    to_the_end(made)
    assert made.web.log.count("/p/1") == 2
    assert made.web.log.count("/p/2") == 0
    assert 1 + made.site.knobs.max_attempts <= made.web.log.count(RULES) <= 4 * made.site.knobs.max_attempts
    assert host_of(made, "robots_at") == read_at
    assert made.page_of(f"robots {BASE}{RULES}", "state") == ("done",)


@pytest.mark.parametrize("status", [500, 503])
def test_an_error_page_is_no_robots_txt_that_allows_everything(bench: Any, status: int) -> None:
    """It is asked on and on, and its HTML is never taken for rules."""
    made = bench({**listing(2), RULES: html("<h1>Sorry</h1>", status)}, robots=True)
    made.site.tune(time_scale=0.0001)
    until = time.monotonic() + 20
    while made.web.log.count(RULES) <= made.site.knobs.max_attempts + 1:
        assert time.monotonic() < until
        made.crawl()
    assert set(made.web.log) == {RULES}
    made.web.answers[RULES] = html("User-agent: *\nDisallow: /p/1")
    to_the_end(made)
    assert sorted(set(made.web.log)) == ["/", "/p/0", RULES]


def test_a_site_that_no_longer_obeys_robots_txt_waits_for_none(bench: Any) -> None:
    made = bench({**listing(2), RULES: html("", 500)}, robots=True)
    made.crawl()
    assert set(made.web.log) == {RULES}
    made.site.robots = False
    worker = made.worker("ignores")
    assert made.store.follow(worker.hosts, now=worker.clock.now())
    with made.store.db.write():
        made.store.db.run("UPDATE hosts SET blocked_until = 0, rests = 0")
    worker.rebuild(worker.frontier.cursor())
    made.crawl(worker)
    assert len(made.records()) == 2


def test_a_site_that_begins_to_obey_robots_txt_asks_for_it_first(bench: Any) -> None:
    made = bench({**listing(2), RULES: html("User-agent: *\nDisallow: /p/1")})
    made.site.robots = True
    worker = made.worker("obeys")
    assert made.store.follow(worker.hosts, now=worker.clock.now())
    assert made.store.follow(worker.hosts, now=worker.clock.now()) == 0
    worker.relay()
    made.crawl(worker)
    assert made.web.log == [RULES, "/", "/p/0"]


# -- retries


@pytest.mark.parametrize(
    ("value", "wait"),
    [
        ("7", 7_000),
        (" 7 ", 7_000),
        ("Fri, 15 Jan 2027 08:01:30 GMT", 90_000),
        ("Fri, 15 Jan 2027 08:01:30 -0000", 90_000),
        ("Friday, 15-Jan-27 08:01:30 GMT", 90_000),
        ("Fri, 15 Jan 2027 07:59:00 GMT", None),
        ("Fri, 15 Jan 20270 08:00:00 GMT", None),
        ("0", 0),
        ("99999999", 99_999_999_000),
        ("9" * 5_000, 999_999_999_000),
        *((odd, None) for odd in ("-5", "abc", "1e3", "１２", "7.5", "5, 10", "", "0x10", "\x00")),
    ],
)
def test_retry_after_is_seconds_or_a_date_and_anything_else_is_nothing(value: str, wait: int | None) -> None:
    assert retry_after(value, NOW) == wait


def test_eight_answers_of_429_at_once_are_one_block(bench: Any) -> None:
    out = threading.Barrier(8)

    def busy(_: Request) -> Response:
        out.wait(10)
        return html("", 429, retry_after="7")

    made = bench(listing(8, busy))
    made.site.tune(threads=8)
    worker = made.worker("eight")
    while len(made.web.log) < 9:
        worker.turn()
    while worker.in_hand():
        worker.turn()
    worker.close()
    blocks, until, began = host_of(made, "blocks", "blocked_until", "blocked_at")
    assert blocks == 1
    assert 30_000 <= until - began <= 37_500
    assert made.store.db.rows("SELECT DISTINCT state, failures FROM pages WHERE key LIKE '%/p/%'") == [
        ("pending", 0)
    ]


def test_a_block_stands_over_a_wipe(bench: Any) -> None:
    made = bench(listing(3, html("", 429)))
    made.crawl()
    asked = len(made.web.log)
    made.server.command("FLUSHALL")
    made.crawl(made.worker("after"))
    assert len(made.web.log) == asked


def test_a_host_that_failed_five_times_in_a_row_rests_and_is_asked_for_one_page(bench: Any) -> None:
    made = bench(listing(12, FetchFailed("time-out")))
    made.site.tune(time_scale=0.01, group=1)
    worker = made.worker()
    while not host_of(made, "rests")[0]:
        worker.turn()
    assert len(made.web.log) == 1 + 5
    rest = host_of(made, "blocked_until - blocked_at")[0]
    assert 600 <= rest <= 750
    until = time.monotonic() + 20
    while host_of(made, "rests") == (1,):
        assert time.monotonic() < until
        worker.turn()
    assert len(made.web.log) == 1 + 5 + 1
    assert made.store.db.value("SELECT max(failures) FROM pages") <= 1
