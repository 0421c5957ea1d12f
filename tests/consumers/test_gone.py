"""What is not there any more, and when that is believed: pages that are missed, that redirect, that give less."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from consuming import BASE, Bench, html, moved, shop

from limpet import Page, Record, Site
from limpet_consumers.http import Request, Response
from limpet_store.retry import DAY
from limpet_store.server import Server
from limpet_store.store import Store

PRODUCT = html('<b class="price">5</b>')
SHOP = {"/": html('<a href="/p/1">1</a><a href="/p/2">2</a>'), "/p/1": PRODUCT, "/p/2": PRODUCT}


@pytest.fixture
def bench(store: Store, real_server: Server) -> Callable[..., Bench]:
    return lambda answers=SHOP, site=None: Bench(store, real_server, answers, site or shop())


def round_of(made: Bench, **answers: Response) -> None:
    """One more round; `p1` is the answer of /p/1 from now on."""
    made.web.answers |= {f"/p/{name[1:]}": answer for name, answer in answers.items()}
    made.again()
    made.crawl()


def versions(made: Bench) -> list[tuple[str, int, int]]:
    return made.store.db.rows("SELECT key, version, gone FROM records ORDER BY key")


def look_again(made: Bench) -> None:
    """Another look at /p/1 within the same round."""
    with made.store.db.write():
        made.store.db.run("UPDATE pages SET state = 'pending', due_at = 0 WHERE key = ?", (f"{BASE}/p/1",))
    made.worker("rebuilder").rebuild(made.worker("x").frontier.cursor())
    made.crawl()


def test_a_second_404_in_the_same_round_takes_nothing_away(bench: Any) -> None:
    made = bench()
    made.crawl()
    round_of(made, p1=html("", 404))
    look_again(made)
    assert made.web.log.count("/p/1") == 3
    assert made.page("/p/1", "state") == ("done",)
    assert versions(made) == [("1", 1, 0), ("2", 1, 0)]


def test_a_404_a_day_after_the_first_takes_the_page_away_in_the_same_round_too(bench: Any) -> None:
    made = bench()
    made.crawl()
    round_of(made, p1=html("", 404))
    with made.store.db.write():
        made.store.db.run("UPDATE pages SET missed_at = missed_at - ?", (DAY,))
    look_again(made)
    assert made.page("/p/1", "state") == ("gone",)
    assert versions(made) == [("1", 2, 1), ("2", 1, 0)]


def test_a_page_that_is_found_again_begins_anew_with_the_looks(bench: Any) -> None:
    made = bench()
    made.crawl()
    for answer in (html("", 404), PRODUCT, html("", 404)):
        round_of(made, p1=answer)
    assert versions(made) == [("1", 1, 0), ("2", 1, 0)]
    round_of(made, p1=html("", 500))
    assert made.page("/p/1", "missed") == (4,)


def test_what_was_gone_comes_back_as_the_next_version(bench: Any) -> None:
    made = bench()
    made.crawl()
    round_of(made, p1=html("", 410))
    assert versions(made)[0] == ("1", 2, 1)
    round_of(made, p1=PRODUCT)
    assert versions(made)[0] == ("1", 3, 0)
    assert made.page("/p/1", "missed") == (None,)


def test_it_stays_gone_at_once_after_the_second_look(bench: Any) -> None:
    made = bench()
    made.crawl()
    for state in ("done", "gone", "gone"):
        round_of(made, p1=html("", 404))
        assert made.page("/p/1", "state") == (state,)


@pytest.mark.parametrize("target", ["/", "/p/", "/p"], ids=["home", "folder", "folder without slash"])
def test_a_product_that_redirects_to_home_or_category_is_unseen_and_not_an_alias(
    bench: Any, target: str
) -> None:
    made = bench({**SHOP, "/p/": html(""), "/p": html("")})
    made.crawl()
    round_of(made, p1=moved(target))
    assert made.page("/p/1", "state") == ("done",)
    assert versions(made)[0] == ("1", 1, 0)
    round_of(made)
    assert made.page("/p/1", "state") == ("gone",)
    assert versions(made) == [("1", 2, 1), ("2", 1, 0)]


def test_the_page_that_led_to_it_is_no_alias_of_a_product(bench: Any) -> None:
    site = shop()
    site.page("/sale")(site._handlers.get("listing"))
    made = bench({**SHOP, "/": html('<a href="/sale">s</a>'), "/sale": SHOP["/"]}, site)
    made.crawl()
    round_of(made, p1=moved("/sale"))
    round_of(made)
    assert made.page("/p/1", "state") == ("gone",)
    assert versions(made) == [("1", 2, 1), ("2", 1, 0)]


def test_a_redirect_to_a_page_of_another_kind_is_unseen_and_its_target_is_visited(bench: Any) -> None:
    site = shop()

    @site.page("/category/{name}")
    def category(page: Page) -> Any:
        yield Record("category", page.params["name"], {})

    made = bench({**SHOP, "/category/tea": html("")}, site)
    made.crawl()
    round_of(made, p1=moved("/category/tea"))
    assert made.page("/category/tea", "state", "handler") == ("done", None)
    round_of(made)
    assert versions(made) == [("1", 2, 1), ("2", 1, 0), ("tea", 1, 0)]


@pytest.mark.parametrize(
    ("before", "after"),
    [("/p/1/", "/p/1"), ("/p/1", "/p/1/"), ("/?p=1", "/?p=1-tea"), ("/p/1", "/tea/1"), ("/p/1", "/p/1/tea")],
)
def test_a_product_that_moved_near_by_is_read_there_by_the_handler_that_its_link_named(
    bench: Any, before: str, after: str
) -> None:
    site = Site("shop", [f"{BASE}/list"], robots=False)

    @site.page("/list")
    def listing(page: Page) -> Any:
        yield from page.links(to=product)

    @site.page("/{rest:path}")
    def anything(page: Page) -> Any:
        return None

    @site.page("/never")
    def product(page: Page) -> Any:
        yield Record("product", 1, {"price": page.one("b")})

    made = bench({"/list": html(f'<a href="{before}">1</a>'), before: PRODUCT, after: PRODUCT}, site)
    made.crawl()
    made.web.answers[before] = moved(after)
    for _ in range(3):
        made.again()
        made.crawl()
    assert made.page(after, "state") == ("done",)
    assert versions(made) == [("1", 1, 0)]


def test_a_page_without_records_that_redirects_home_is_an_alias_as_ever(bench: Any) -> None:
    made = bench({**SHOP, "/": html('<a href="/about/us">1</a>'), "/about/us": html("x")})
    made.crawl()
    made.web.answers["/about/us"] = moved("/")
    made.again()
    made.crawl()
    assert made.page("/about/us", "state") == ("alias",)


def test_a_product_that_moved_keeps_its_record_without_a_version(bench: Any) -> None:
    site = Site("shop", [f"{BASE}/"], robots=False)
    site.page("/")(shop()._handlers.get("listing"))

    @site.page("/p/{n}")
    def product(page: Page) -> Any:
        yield Record("product", page.one("i::text"), {"price": page.one("b::text")})

    there = html("<i>one</i><b>5</b>")
    made = bench({"/": SHOP["/"], "/p/1": there}, site)
    made.crawl()
    for _ in range(2):
        round_of(made, p1=moved("/p/1-one"), **{"p1-one": there})
    assert made.page("/p/1", "state", "missed") == ("alias", None)
    assert versions(made) == [("one", 1, 0)]


def test_a_product_that_redirects_to_another_one_is_gone_after_two_looks(bench: Any) -> None:
    made = bench()
    made.crawl()
    round_of(made, p1=moved("/p/2"))
    assert versions(made) == [("1", 1, 0), ("2", 1, 0)]
    round_of(made)
    assert made.page("/p/1", "state") == ("alias",)
    assert versions(made) == [("1", 2, 1), ("2", 1, 0)]


def test_a_redirect_to_what_gives_no_record_takes_nothing_away(bench: Any) -> None:
    made = bench({**SHOP, "/captcha": html("are you human?")})
    made.crawl()
    for _ in range(3):
        round_of(made, p1=moved("/captcha"), p2=moved("/captcha"))
    assert versions(made) == [("1", 1, 0), ("2", 1, 0)]


# Records on two pages


def listings(**options: Any) -> Site:
    """Two listings that give records, of products that they share."""
    site = Site("shop", [f"{BASE}/p/1", f"{BASE}/p/2"], robots=False)

    @site.page("/p/{n}", **options)
    def listing(page: Page) -> Any:
        for name in page.all("li::text"):
            yield Record("product", name, {"name": name})

    return site


def listing_of(*names: str, **headers: str) -> Response:
    return html("".join(f"<li>{name}</li>" for name in names), **headers)


def test_a_record_of_two_pages_stays_when_one_of_them_is_gone_and_the_other_unchanged(bench: Any) -> None:
    def tagged(request: Request) -> Response:
        return html("", 304) if "If-None-Match" in request.headers else listing_of("a", "b", etag='"1"')

    made = bench({"/p/1": tagged, "/p/2": listing_of("b")}, listings())
    made.crawl()
    owner = made.store.db.value("SELECT p.key FROM parts JOIN pages p ON p.id = page JOIN records r ON r.id = record"
                                " WHERE r.key = 'b'")  # fmt: skip
    assert owner == f"{BASE}/p/2", "the one that was read last"
    round_of(made, p2=html("", 410))
    assert versions(made) == [("a", 1, 0), ("b", 1, 0)]
    round_of(made, p1=html("", 410))
    assert versions(made) == [("a", 2, 1), ("b", 2, 1)]


def test_a_page_that_gave_a_record_once_and_no_more_does_not_keep_it(bench: Any) -> None:
    made = bench({"/p/1": listing_of("a"), "/p/2": listing_of("a")}, listings())
    made.crawl()
    round_of(made, p1=listing_of("other"))
    round_of(made, p2=html("", 410))
    assert versions(made) == [("a", 2, 1), ("other", 1, 0)]


def test_a_listing_whose_entries_move_on_takes_nothing_away(bench: Any) -> None:
    made = bench({"/p/1": listing_of("a", "b"), "/p/2": listing_of()}, listings())
    made.crawl()
    for _ in range(3):
        round_of(made, p1=listing_of("b"))
    assert versions(made) == [("a", 1, 0), ("b", 1, 0)]


def test_what_a_complete_page_does_not_give_in_two_rounds_is_gone(bench: Any) -> None:
    def tagged(request: Request) -> Response:
        return html("", 304) if request.headers.get("If-None-Match") == '"2"' else listing_of("b", etag='"2"')

    made = bench({"/p/1": listing_of("a", "b", etag='"1"'), "/p/2": listing_of()}, listings(complete=True))
    made.crawl()
    round_of(made, p1=tagged)
    assert versions(made) == [("a", 1, 0), ("b", 1, 0)]
    round_of(made)
    assert versions(made) == [("a", 2, 1), ("b", 1, 0)], "it was read in full, not asked for changes"
    round_of(made)
    assert made.page("/p/1", "status") == (304,)
    round_of(made, p1=listing_of("a", "b"))
    assert versions(made) == [("a", 3, 0), ("b", 1, 0)]


def test_what_one_complete_page_does_not_give_stays_if_another_gives_it(bench: Any) -> None:
    made = bench({"/p/1": listing_of("a"), "/p/2": listing_of("a")}, listings(complete=True))
    made.crawl()
    for _ in range(3):
        round_of(made, p2=listing_of())
    assert versions(made) == [("a", 1, 0)]


def test_a_page_with_a_rejected_record_is_not_complete(bench: Any) -> None:
    site = Site("shop", [f"{BASE}/p/1"], robots=False)

    @site.page("/p/{n}", complete=True)
    def listing(page: Page) -> Any:
        for item in page.css("li"):
            yield Record("product", page.one("::text", of=item), {"price": page.one("b::text", of=item)})

    made = bench({"/p/1": html("<li>a<b>1</b></li><li>b<b>2</b></li>")}, site)
    made.crawl()
    for _ in range(3):
        round_of(made, p1=html("<li>a<b>1</b></li><li>b</li>"))
    assert versions(made) == [("a", 1, 0), ("b", 1, 0)]


def test_a_304_in_the_same_transaction_does_not_put_back_the_etag_of_a_page_that_inherits(bench: Any) -> None:
    def tagged(request: Request) -> Response:
        return html("", 304) if "If-None-Match" in request.headers else listing_of("x", etag='"1"')

    made = bench({"/p/1": listing_of("x"), "/p/2": tagged}, listings())
    made.crawl()
    round_of(made, p1=listing_of("x", "y"))  # the last that gave it
    round_of(made, p1=html("", 410))
    assert made.page("/p/2", "etag", "status") == (None, 304)
    round_of(made)
    assert made.page("/p/2", "status") == (200,)


def test_what_a_target_gives_counts_though_a_listing_gave_it_last(bench: Any) -> None:
    site = shop()

    @site.page("/zlist")
    def zlist(page: Page) -> Any:
        yield Record("product", "2", {"price": "5"})

    made = bench(
        {
            **SHOP,
            "/": html('<a href="/p/1">1</a><a href="/p/2">2</a><a href="/zlist">z</a>'),
            "/zlist": html(""),
        },
        site,
    )
    made.crawl()
    for _ in range(3):
        round_of(made, p1=moved("/p/2"))
    assert versions(made)[0] == ("1", 2, 1)
