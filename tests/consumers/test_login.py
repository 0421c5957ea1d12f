"""Logins: by hand, turn for turn, over real SQL, both servers and a real site for members."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from club import PASSWORD, Club, club, site_text
from consuming import BASE, Bench, html, moved, shop

from limpet import Page, Site
from limpet.load import load_site
from limpet_consumers.http import FetchFailed
from limpet_consumers.login import Access, NotLoggedIn, Unwanted
from limpet_consumers.turn import Worker
from limpet_consumers.ways import Closing, way_of
from limpet_producer import enqueue
from limpet_store import outbox, standing, summary
from limpet_store.frontier import Frontier
from limpet_store.items import Fetched
from limpet_store.ops import split
from limpet_store.server import Server
from limpet_store.store import Store, wall_ms
from limpet_store.witness import Witness


def take_turns(store: Store, *workers: Worker, seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while summary.next_due(store, workers[0].clock.now()) is not None:
        assert time.monotonic() < deadline, f"it does not end: {store.db.rows('SELECT * FROM hosts')}"
        for worker in workers:
            worker.turn()


class Members:
    """A crawl of a club: workers with a session each, driven by hand."""

    def __init__(self, store: Store, server: Server, place: Club, folder: Path, **tune: float) -> None:
        self.store, self.server, self.club = store, server, place
        path = folder / "club_site.py"
        path.write_text(site_text(place.url, **{"threads": 1, "time_scale": 0.001} | tune))
        self.site = load_site(path)
        self.site.name = store.crawl
        self.witness = Witness(store.db.path)
        self._ways: list[Closing] = []
        first = self.worker("seeder")
        enqueue.seeds(store, self.site.entries, first.hosts, now=wall_ms())
        first.relay()

    def worker(self, token: str) -> Worker:
        frontier = Frontier(self.server, self.store.crawl, self.store.source.store_id)
        self._ways.append(way_of(self.site))
        return Worker(
            self.store, frontier, self._ways[-1], self.site, token=token, witness=self.witness, threads=1
        )

    def crawl(self, *workers: Worker) -> None:
        """Turns of these workers in turn, until nothing is pending or everything is held."""
        take_turns(self.store, *workers)

    def list_products(self) -> None:
        """All pages at once, rather than first the list."""
        seeds = [f"{self.club.url}/product/{n}" for n in range(self.club.products)]
        enqueue.seeds(self.store, seeds, self.worker("list").hosts, now=wall_ms())

    def host(self) -> dict[str, Any]:
        names = ("logins", "error", "paused", "streak", "blocks")
        row = self.store.db.rows(f"SELECT {', '.join(names)} FROM hosts")[0]
        return dict(zip(names, row, strict=True))

    def records(self) -> int:
        return int(self.store.db.value("SELECT count(*) FROM records WHERE gone = 0"))

    def close(self) -> None:
        for way in self._ways:
            way.close()
        self.witness.close()


Open = Callable[..., Members]


@pytest.fixture
def members(
    store: Store, any_server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Open]:
    monkeypatch.setenv("CLUB_PASSWORD", PASSWORD)
    left: list[Callable[[], object]] = []

    def opened(tune: dict[str, float] | None = None, **options: Any) -> Members:
        place = club(**options)
        made = Members(store, any_server, place.__enter__(), tmp_path, **(tune or {}))
        left.extend([lambda: place.__exit__(None, None, None), made.close])
        return made

    yield opened
    while left:
        left.pop()()


@pytest.mark.parametrize("shows", ["redirect", "form", 401])
def test_a_worker_logs_in_before_its_first_page_and_again_when_the_session_is_over(
    members: Open, shows: str | int
) -> None:
    made = members(shows=shows, lasts=3)
    made.crawl(made.worker("a"))
    assert made.records() == 8
    assert made.club.logins == 3
    assert set(made.club.pages.values()) == {1}, "no page is asked for twice but where it was shut out"
    assert sum(made.club.shut.values()) == 2
    assert made.host() == {"logins": 0, "error": None, "paused": 0, "streak": 0, "blocks": 0}
    assert made.store.db.value("SELECT count(*) FROM pages WHERE state <> 'done'") == 0
    assert made.store.db.value("SELECT max(failures) + max(lost) FROM pages") == 0


def test_each_worker_logs_in_once_and_never_two_at_a_time(members: Open) -> None:
    made = members(products=40)
    workers = [made.worker(name) for name in "abc"]
    made.crawl(*workers)
    assert made.records() == 40
    assert 1 <= made.club.logins <= 3
    assert (made.club.overlaps, sum(made.club.shut.values())) == (0, 0)


def test_a_worker_that_finds_the_lock_taken_leases_nothing_and_logs_in_later(members: Open) -> None:
    made = members()
    waiting, other = made.worker("w"), Frontier(made.server, "shop", made.store.source.store_id)
    assert other.take_login("another", 20_000)
    for _ in range(5):
        waiting.turn()
    assert waiting.progress.leased == 0
    assert made.club.logins == 0
    assert made.store.db.value("SELECT fence FROM meta") == 0, "a try costs no attempt"
    assert waiting.progress.next_at is not None
    other.release_login("another")
    made.crawl(waiting)
    assert made.records() == 8


def test_the_lock_goes_with_its_worker_and_is_kept_by_its_owner_alone(members: Open) -> None:
    made = members()
    frontier = made.worker("w").frontier
    assert frontier.take_login("w1/3-login", 60_000)
    assert frontier.take_login("w1/3-login", 60_000), "a reply that was lost changes nothing"
    assert not frontier.take_login("w2/1-login", 60_000)
    assert not frontier.keep_login("w2/1-login", 60_000)
    assert not frontier.release_login("w2/1-login")
    frontier.reap("w2/")
    assert frontier.keep_login("w1/3-login", 60_000)
    frontier.reap("w1/3-")
    assert frontier.take_login("w2/1-login", 60_000)
    assert frontier.release_login("w2/1-login")
    assert not frontier.keep_login("w2/1-login", 60_000)


def test_a_lock_without_an_end_does_not_hold_for_ever(members: Open) -> None:
    made = members()
    frontier = made.worker("w").frontier
    made.server.command("SET", f"{frontier.prefix}:login", "from a clock that was set back", "PX", 9_000_000)
    assert frontier.take_login("w", 20_000)


@pytest.mark.parametrize("threads", [1, 3])
def test_the_third_login_that_fails_holds_the_host_and_no_page_pays(
    members: Open, monkeypatch: pytest.MonkeyPatch, threads: int
) -> None:
    made = members({"threads": threads})
    made.list_products()
    monkeypatch.setenv("CLUB_PASSWORD", "a wrong word")
    made.crawl(made.worker("a"), made.worker("b"))
    assert (made.club.refused, made.club.logins, made.club.overlaps) == (3, 0, 0)
    host = made.host()
    assert host["logins"] == 3
    assert host["error"] == "login failed: ValueError: wrong password: secret('CLUB_PASSWORD')"
    assert made.store.db.rows("SELECT DISTINCT state, failures, error FROM pages") == [("pending", 0, None)]
    (held,) = standing.hosts(made.store, wall_ms())[1]
    assert held.held
    assert held.error == host["error"]
    _, op = [op for row in outbox.after(made.store.db, 0, 100) for op in split(row.ops) if op[0] == "h"][-2:]
    assert op[5] == 1, "the frontier is told that it gives out nothing"
    assert "a wrong word" not in made.store.db.path.read_bytes().decode("latin-1")


def test_the_next_command_lifts_the_hold_and_a_login_that_works_counts_anew(
    members: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = members()
    monkeypatch.setenv("CLUB_PASSWORD", "a wrong word")
    made.crawl(made.worker("a"))
    monkeypatch.setenv("CLUB_PASSWORD", PASSWORD)
    for _ in range(20):
        made.worker("b").turn()
    assert made.club.logins == 0, "held until somebody has looked"
    assert made.store.lift(now=wall_ms()) == 1
    assert made.store.lift(now=wall_ms()) == 0
    made.crawl(made.worker("c"))
    assert (made.records(), made.host()["logins"], made.host()["error"]) == (8, 0, None)


def test_a_login_that_works_sets_the_count_to_zero(members: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    made = members()
    tries = iter(["wrong", "wrong", PASSWORD])
    login = made.site.account.login  # type: ignore[union-attr]

    def trying(session: Any) -> None:
        monkeypatch.setenv("CLUB_PASSWORD", next(tries))
        login(session)  # type: ignore[misc]

    made.site._login = trying
    made.crawl(made.worker("a"))
    assert (made.club.refused, made.club.logins, made.records()) == (2, 1, 8)
    assert made.host()["logins"] == 0


def test_a_secret_that_is_missing_holds_the_host_at_once(
    members: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = members()
    monkeypatch.delenv("CLUB_PASSWORD")
    made.crawl(made.worker("a"))
    assert made.club.refused == 0
    assert made.host()["logins"] == 3
    assert "the secret CLUB_PASSWORD is not there: set CLUB_PASSWORD" in made.host()["error"]


def test_a_login_that_seems_to_work_and_does_not_counts_as_failed(members: Open) -> None:
    made = members(lasts=0)
    made.list_products()
    made.crawl(made.worker("a"), made.worker("b"))
    assert made.club.logins == 3
    assert "it seemed to work, and the page after it is logged out" in made.host()["error"]
    assert sum(made.club.shut.values()) == 3, "one page a login: it is to be proven first"


def test_robots_need_no_login_and_what_is_not_a_login_page_may_be_missing(
    members: Open, tmp_path: Path
) -> None:
    made = members()
    made.site.robots = True
    worker = made.worker("a")
    made.crawl(worker)
    assert made.records() == 8
    assert made.club.robots_with_cookie == 0


def test_a_wipe_of_redis_in_the_middle_of_a_login_loses_nothing(members: Open) -> None:
    made = members(lasts=4)
    worker = made.worker("a")
    for _ in range(3):
        made.server.command("FLUSHALL")
        worker.turn()
    made.crawl(worker)
    assert made.records() == 8


# -- over answers in memory: what a dead, a slow and a strange page do


class Door:
    """The Http port of a site that is logged in to by `log_in`, as a stand-in of the crash tests would be."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.inside = False
        self.logins = 0

    def fetch(self, request: Any, deadline: float) -> Any:
        return self.bench.web.fetch(request, deadline) if self.inside else html("", 401)

    def log_in(self, login: Any, deadline: float) -> bool:
        self.logins += 1
        self.inside = True
        return login(self) is not False


def guarded(login: Callable[[Any], object] = lambda door: None) -> Site:
    site = shop()

    @site.login
    def log_in(session: Any) -> object:
        return login(session)

    @site.logged_out
    def logged_out(page: Page) -> bool:
        return page.status == 401

    site.tune(threads=1, time_scale=0.001, max_attempts=3)
    return site


PAGES = {
    "/": html('<a href="/p/1">1</a><a href="/p/2">2</a>'),
    "/p/1": html('<b class="price">5</b>'),
    "/p/2": html("", 401),
}


@pytest.fixture
def bench(store: Store, any_server: Server) -> Bench:
    return Bench(store, any_server, PAGES, guarded())


def run(bench: Bench, door: Door) -> None:
    frontier = Frontier(bench.server, bench.store.crawl, bench.store.source.store_id)
    worker = Worker(bench.store, frontier, door, bench.site, token="w", witness=bench.witness)
    take_turns(bench.store, worker)


def test_a_page_that_no_login_opens_ends_the_crawl_sooner_or_later(bench: Bench) -> None:
    """Either it is held for logins that seem to fail, or the page is buried: never an endless change of the two."""
    door = Door(bench)
    run(bench, door)
    state, failures = bench.page("/p/2", "state", "failures")
    held = bench.store.db.value("SELECT logins FROM hosts") >= 3
    assert state == "dead" or held
    assert door.logins < 25
    assert failures <= 3


def test_a_check_that_fails_is_the_pages_failure_and_says_so(bench: Bench) -> None:
    def broken(page: Page) -> bool:
        raise KeyError("no such thing")

    bench.site._logged_out = broken
    run(bench, Door(bench))
    assert bench.page("/", "state", "error") == ("dead", "broken: KeyError: 'no such thing'")
    assert bench.store.db.value("SELECT logins FROM hosts") == 0


def test_a_login_that_returns_false_or_leaves_has_failed(store: Store, any_server: Server) -> None:
    def leaves(door: Any) -> None:
        raise SystemExit("bye")

    for login, words in ((lambda door: False, "it returned False"), (leaves, "SystemExit: bye")):
        bench = Bench(store, any_server, PAGES, guarded(login))
        store.lift(now=wall_ms())
        run(bench, Door(bench))
        assert store.db.value("SELECT error FROM hosts") == f"login failed: {words}"


def test_cookies_that_are_of_no_use_any_more_hold_the_host(store: Store, any_server: Server) -> None:
    site = shop(cookies={"session": "old"})

    @site.logged_out
    def logged_out(page: Page) -> bool:
        return "/login" in page.headers.get("location", "")

    site.tune(threads=1, time_scale=0.001)
    bench = Bench(store, any_server, {"/": moved("/login")}, site)
    door = Door(bench)
    door.inside = True
    run(bench, door)
    assert "has no @site.login" in store.db.value("SELECT error FROM hosts")
    assert bench.page("/", "state", "failures") == ("pending", 0)


def test_a_page_that_fails_after_a_login_proves_nothing(store: Store, any_server: Server) -> None:
    bench = Bench(store, any_server, {**PAGES, "/": FetchFailed("cut", host=False)}, guarded())
    door = Door(bench)
    run(bench, door)
    assert door.logins == 1
    assert bench.page("/", "state") == ("dead",)


def test_before_the_failure_is_committed_nobody_else_may_log_in(
    members: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = members()
    monkeypatch.setenv("CLUB_PASSWORD", "wrong")
    first, second = made.worker("a"), made.worker("b")
    while not made.club.refused:
        first.turn()
    assert made.host()["logins"] == 0, "not committed yet"
    for _ in range(5):
        second.turn()
    assert made.club.refused == 1
    first.turn()
    assert made.host()["logins"] == 1
    (wait,) = made.store.db.rows("SELECT blocked_until - blocked_at FROM hosts")[0]
    assert 10 <= wait <= 13, "a thousandth of ten seconds and a bit"


def test_a_page_of_a_held_host_is_not_attempted_whatever_the_frontier_says(members: Open) -> None:
    made = members()
    with made.store.db.write():
        made.store.db.run("UPDATE hosts SET logins = 3")
    worker = made.worker("late")
    for _ in range(5):
        worker.turn()
    assert worker.progress.leased > 0
    assert made.store.db.value("SELECT fence FROM meta") == 0


def test_a_page_that_is_logged_out_while_the_login_works_for_others_pays_in_the_end(bench: Bench) -> None:
    door = Door(bench)
    assert bench.site.account is not None
    access = Access(bench.site.account, door, 5)
    access.allowed = True
    inside, outside = Fetched(BASE, 200, {}, b""), Fetched(BASE, 401, {}, b"")
    for _ in range(2):
        assert access.judge(1, access.enter(), inside), "the first page proves the login"
        assert not access.judge(2, access.enter(), inside)
        with pytest.raises(NotLoggedIn) as put_back:
            access.judge(3, access.enter(), outside)
        assert put_back.value.failure is None
    access.judge(1, access.enter(), inside)
    with pytest.raises(Unwanted):
        access.judge(3, access.enter(), outside)
    assert door.logins == 3


def test_pages_that_were_out_when_the_session_ended_tell_nothing_new(bench: Bench) -> None:
    door = Door(bench)
    assert bench.site.account is not None
    access = Access(bench.site.account, door, 5)
    access.allowed = True
    logins = [access.enter() for _ in range(3)]
    assert access.judge(1, logins[0], Fetched(BASE, 200, {}, b""))
    for page in (2, 3):
        with pytest.raises(NotLoggedIn):
            access.judge(page, logins[1], Fetched(BASE, 401, {}, b""))
    again = access.enter()
    with pytest.raises(NotLoggedIn) as late:
        access.judge(4, logins[2], Fetched(BASE, 401, {}, b""))
    assert late.value.failure is None, "it went out under the login before"
    assert access.judge(2, again, Fetched(BASE, 200, {}, b""))
    assert door.logins == 2


def test_until_the_login_is_proven_one_page_is_in_hand_however_many_threads_there_are(members: Open) -> None:
    made = members({"threads": 3}, slow=0.2)
    made.list_products()
    worker = made.worker("a")
    deadline = time.monotonic() + 20
    while not made.club.pages:
        assert time.monotonic() < deadline
        worker.turn()
        assert worker.in_hand() <= 1 or made.club.pages
    made.crawl(worker)
    assert (made.records(), made.club.logins) == (8, 1)
