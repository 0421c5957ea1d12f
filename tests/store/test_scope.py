"""What is in scope: hosts, patterns, depth; and how many pages of a host."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from store_making import NO_ROBOTS, NOW, attempt, done, enqueue, found, page_id, turn, visit

from limpet_producer import enqueue as producer
from limpet_store import capacity, pages
from limpet_store.admission import HostRules, discover
from limpet_store.attempts import Lease, Rules
from limpet_store.canonical import admit
from limpet_store.dropping import Dropping
from limpet_store.items import Link
from limpet_store.outcome import Limits
from limpet_store.scope import Bounds, Hosts, Scope
from limpet_store.store import Store

HOME = "http://shop.example/"
THREE = HostRules(delay=0, robots=False, max_pages=3)


def kept(scope: Scope, *urls: str, depth: int = 1, kind: str = "page") -> list[str]:
    links = [Link(url, kind=kind) for url in urls]
    discoveries, _ = discover(links, scope, parent=1, depth=depth, home=HOME)
    return [each.key for each in discoveries]


def dropped(scope: Scope, *urls: str, depth: int = 1) -> dict[str, int]:
    return discover([Link(url) for url in urls], scope, parent=1, depth=depth, home=HOME)[1]


@pytest.mark.parametrize(
    ("authority", "there"),
    [
        ("a.shop.example", True),
        ("a.b.shop.example", True),
        ("shop.example", False),
        ("myshop.example", False),
        ("a.shop.example:8080", False),
        ("a.dev.example:8080", True),
        ("a.dev.example", False),
        ("cdn.example", True),
        ("a.cdn.example", False),
    ],
)
def test_a_star_stands_for_every_name_below_a_host(authority: str, there: bool) -> None:
    assert (authority in Hosts(["*.shop.example", "*.dev.example:8080", "cdn.example"])) is there


def test_no_host_is_in_scope_where_none_is_named() -> None:
    assert "shop.example" not in Hosts([])


def test_what_is_left_out_is_counted_by_its_reason(store: Store) -> None:
    bounds = Bounds(included=lambda url: "/p/" in url, excluded=lambda url: url.endswith("/no"), max_depth=2)
    scope = Scope(store.db, ["*.shop.example"], bounds)
    urls = [f"{HOME}p/1", f"{HOME}other", f"{HOME}p/no", "http://a.shop.example/p/2", "http://else.example/p/3",
            f"{HOME}p/p/p/shop/shop/shop", "ftp://shop.example/", "http://a..b/"]  # fmt: skip
    assert kept(scope, *urls) == [f"{HOME}p/1", "http://a.shop.example/p/2"]
    assert dropped(scope, *urls) == {
        "not included": 1, "excluded": 1, "out of scope": 1, "trap: growing path": 1, "not http": 1, "no host name": 1,
    }  # fmt: skip
    assert dropped(scope, *urls[:4], depth=3) == {"too deep": 4}


def test_traps_are_followed_by_a_site_that_says_so(store: Store) -> None:
    url = f"{HOME}shop/shop/shop"
    assert kept(Scope(store.db), url) == []
    assert kept(Scope(store.db, bounds=Bounds(traps=False)), url) == [url]


def test_patterns_and_depth_are_for_pages_not_for_sitemaps(store: Store) -> None:
    bounds = Bounds(included=lambda url: False, max_depth=0)
    assert kept(Scope(store.db, bounds=bounds), f"{HOME}s.xml", kind="sitemap") == [f"sitemap {HOME}s.xml"]


def test_links_that_differ_in_dropped_parameters_alone_are_one_page(store: Store) -> None:
    scope = Scope(store.db, bounds=Bounds(drop=Dropping(["utm_*"])))
    links = [Link(f"{HOME}?utm_source=a&x=1"), Link(f"{HOME}?x=1&utm_source=b")]
    (only,), _ = discover(links, scope, parent=1, depth=1, home=HOME)
    assert (only.key, only.address.canonical) == (f"{HOME}?x=1", f"{HOME}?x=1")
    assert only.address.url == f"{HOME}?utm_source=a&x=1"


def test_session_ids_are_dropped_where_nothing_is_said(store: Store) -> None:
    assert kept(Scope(store.db), f"{HOME}a;jsessionid=1?PHPSESSID=2&x", f"{HOME}?utm_source=1") == [
        f"{HOME}a?x",
        f"{HOME}?utm_source=1",
    ]


# -- seeds, and what is enqueued


def test_seeds_are_kept_as_the_rules_say_and_the_excluded_ones_counted(store: Store) -> None:
    bounds = Bounds(
        drop=Dropping(["ref"]), included=lambda url: False, excluded=lambda url: "/no" in url, max_depth=0
    )
    seeds = [HOME, f"{HOME}?ref=1", f"{HOME}no", f"{HOME}no/2", f"{HOME}x/x1/x/x1/x/x1"]
    result = producer.seeds(store, seeds, NO_ROBOTS, now=NOW, bounds=bounds)
    assert (result.new, result.known, result.left_out) == (2, 0, {"excluded": 2})
    again = producer.seeds(store, seeds, NO_ROBOTS, now=NOW, bounds=bounds)
    assert (again.new, again.known) == (0, 2)


def test_what_is_enqueued_minds_patterns_and_hosts_not_depth_and_traps(store: Store) -> None:
    bounds = Bounds(included=lambda url: "/p/" in url, excluded=lambda url: "/no" in url, max_depth=0)
    scope = Scope(store.db, ["shop.example"], bounds)
    urls = [
        f"{HOME}p/p1/p/p1/p/p1",
        f"{HOME}p/no",
        f"{HOME}q",
        "http://else.example/p/",
        f"{HOME}p/2;jsessionid=1",
    ]
    result = producer.links(store, map(Link, urls), scope, NO_ROBOTS, now=NOW)
    assert result.new == 2
    assert [reason for _, reason in result.rejected] == ["excluded", "not included", "out of scope"]
    assert page_id(store, f"{HOME}p/2")


# -- how many pages of a host there may be


def urls(*numbers: int, host: str = "shop.example") -> list[str]:
    return [f"http://{host}/{n}" for n in numbers]


def count(store: Store, host: str = "shop.example") -> int:
    sql = "SELECT count(*) FROM pages WHERE kind = 'page' AND host = (SELECT id FROM hosts WHERE name = ?)"
    return int(store.db.value(sql, (host,)))


def test_a_host_gets_no_more_pages_than_it_may_have(store: Store) -> None:
    assert enqueue(store, *urls(1, 2), rules=THREE) == 2
    assert enqueue(store, *urls(2, 3, 4), *urls(5, host="other.example"), rules=THREE) == 2
    assert (count(store), count(store, "other.example")) == (3, 1)
    assert enqueue(store, *urls(6), rules=THREE) == 0
    assert enqueue(store, *urls(6), rules=NO_ROBOTS) == 1, "the bound is the site's, not the store's"


def test_robots_and_sitemaps_count_for_nothing_and_are_not_held_up(store: Store) -> None:
    rules = HostRules(delay=0, robots=True, max_pages=1)
    enqueue(store, *urls(1, 2), rules=rules)
    sitemap = found(*urls(9), kind="sitemap", named="sitemap http://shop.example/9")
    assert store.enqueue(sitemap, rules, now=NOW, why="x") == 1
    assert count(store) == 1


def test_who_asks_for_more_is_told_which(store: Store) -> None:
    scope = Scope(store.db, ["shop.example"])
    wanted = [*urls(1, 2, 3), "http://shop.example/4#there"]
    result = producer.links(store, map(Link, wanted), scope, THREE, now=NOW)
    assert (result.new, result.rejected) == (3, [(wanted[-1], capacity.TOO_MANY)])
    seeds = producer.seeds(store, urls(1, 2, 7, 8), THREE, now=NOW)
    assert (seeds.new, seeds.known, seeds.left_out) == (0, 2, {capacity.TOO_MANY: 2})


def test_a_page_says_how_many_of_its_links_there_was_no_room_for(store: Store) -> None:
    enqueue(store, *urls(1), rules=THREE)
    outcome = done(
        attempt(store, urls(1)[0]), discoveries=found(*urls(1, 2, 3, 4, 5)), dropped={"out of scope": 2}
    )
    turn(store, done=[outcome], hosting=THREE)
    assert count(store) == 3
    said = store.db.value("SELECT dropped FROM pages WHERE key = ?", urls(1))
    assert said == '{"out of scope": 2, "too many pages of its host": 2}'


def test_the_bound_holds_over_pages_of_one_transaction(store: Store) -> None:
    enqueue(store, *urls(1, 2), rules=THREE)
    attempts = [attempt(store, url) for url in urls(1, 2)]
    outcomes = [done(each, discoveries=found(*urls(10 + n, 20 + n))) for n, each in enumerate(attempts)]
    turn(store, done=outcomes, hosting=THREE)
    assert count(store) == 3


def test_the_bound_holds_after_a_transaction_that_was_rolled_back(store: Store) -> None:
    enqueue(store, *urls(1), rules=THREE)

    def fill_and_fail() -> None:
        with store.db.write():
            pages.insert(store.db, found(*urls(2, 3)), THREE, NOW, 1)
            assert capacity.fit(store.db, found(*urls(4)), 3)[0] == []
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fill_and_fail()
    assert enqueue(store, *urls(4, 5, 6), rules=THREE) == 2
    assert count(store) == 3


def test_another_life_of_the_store_is_counted_anew(store: Store) -> None:
    enqueue(store, *urls(1, 2, 3), rules=THREE)
    enqueue(store, *urls(4), rules=THREE)
    with store.db.write():
        store.db.run("UPDATE meta SET store_id = 'other'")
        store.db.run("DELETE FROM pages WHERE key = ?", urls(1))
    store.source = store.identity()
    assert enqueue(store, *urls(5, 6), rules=THREE) == 1


def test_many_workers_together_keep_the_bound(store: Store, tmp_path: Path) -> None:
    """Each with its own connection, at the same time, with links that overlap."""
    most = HostRules(delay=0, robots=False, max_pages=150)
    failed: list[BaseException] = []

    def work(number: int) -> None:
        try:
            own = Store.open(store.db.path, store.crawl)
            for first in range(0, 60, 3):
                at = first * 2 + number
                own.enqueue(found(*urls(*range(at, at + 6))), most, now=NOW, why="x")
            own.close()
        except BaseException as error:
            failed.append(error)

    workers = [threading.Thread(target=work, args=(number,)) for number in range(0, 400, 100)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert not failed
    assert count(store) == 150


# -- what is excluded later


def test_a_page_that_is_excluded_by_now_is_not_asked_for(store: Store) -> None:
    enqueue(store, *urls(1, 2))
    deciding = Rules(
        now=NOW, busy=False, max_lost=10, allowed=lambda *_: True, excluded=lambda url: url.endswith("/1")
    )
    leases = [Lease(page_id(store, url), 1, "n") for url in urls(1, 2)]
    result = store.turn([], leases, deciding=deciding, limits=Limits(), hosting=NO_ROBOTS)
    assert [each.page.key for each in result.attempts] == urls(2)
    assert store.db.one("SELECT state, reason FROM pages WHERE key = ?", urls(1)) == ("dead", "excluded")


def test_a_changed_rule_has_pages_read_in_full_that_left_links_out(store: Store) -> None:
    enqueue(store, *urls(1, 2))
    store.take_code("one", now=NOW)
    visit(store, urls(1)[0], etag='"a"', modified="x", dropped={"excluded": 1})
    visit(store, urls(2)[0], etag='"a"', modified="x")

    def validators() -> list[tuple[object, ...]]:
        return store.db.rows("SELECT etag, modified FROM pages ORDER BY id")

    store.take_code("one", now=NOW)
    assert validators() == [('"a"', "x"), ('"a"', "x")]
    store.take_code("two", now=NOW)
    assert validators() == [(None, None), ('"a"', "x")]


def test_a_scope_admits_by_the_sites_rule(store: Store) -> None:
    scope = Scope(store.db, bounds=Bounds(drop=Dropping(["a"])))
    assert scope.admit(f"{HOME}?a=1").canonical == HOME
    assert Scope(store.db, bounds=Bounds(drop=None)).admit(f"{HOME}?a=1") == admit(f"{HOME}?a=1")
