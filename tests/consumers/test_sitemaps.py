"""Sitemaps as pages of a crawl: who is asked, what becomes a page, what a round looks at again."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from consuming import BASE, Bench, html, moved

from limpet import Link, Page, Record, Site
from limpet_consumers import sitemap_reader
from limpet_consumers.http import Request, Response
from limpet_producer import enqueue
from limpet_store import rounds, summary
from limpet_store.server import Server
from limpet_store.store import Store, wall_ms

CDN = "http://127.0.0.2"
PRODUCT = html('<b class="price">5</b>')


def xml(body: str) -> Response:
    return Response("", 200, {"content-type": "application/xml"}, body.encode())


def pages(*paths: str, lastmod: str = "") -> Response:
    said = lastmod and f"<lastmod>{lastmod}</lastmod>"
    return xml(f"<urlset>{''.join(f'<url><loc>{_at(p)}</loc>{said}</url>' for p in paths)}</urlset>")


def index(*paths: str) -> Response:
    inside = "".join(f"<sitemap><loc>{_at(path)}</loc></sitemap>" for path in paths)
    return xml(f"<sitemapindex>{inside}</sitemapindex>")


def _at(path: str) -> str:
    return path if "://" in path else BASE + path


def rules(text: str = "") -> Response:
    return html(f"User-agent: *\n{text}\n")


def site(**options: Any) -> Site:
    settings: dict[str, Any] = {
        "sitemaps": [f"{BASE}/s.xml"],
        "robots": False,
        "allow_private": True,
    } | options
    made = Site("shop", **settings)

    @made.page("/p/{n}")
    def product(page: Page) -> Any:
        yield Record("product", page.params["n"], {"price": page.one(".price::text")})

    return made


Make = Callable[..., Bench]


@pytest.fixture
def crawled(store: Store, real_server: Server) -> Make:
    """A bench whose first round is over."""

    def run(answers: dict[str, Any], **options: Any) -> Bench:
        bench = Bench(store, real_server, answers, site(**options))
        bench.crawl()
        return bench

    return run


def kinds(bench: Bench) -> dict[str, str]:
    """Key of each sitemap, without the word before it, and its state."""
    rows = bench.store.db.rows("SELECT substr(key, 9), state FROM pages WHERE kind = 'sitemap'")
    return {key.removeprefix(BASE): state for key, state in rows}


def dropped(bench: Bench, path: str = "/s.xml") -> dict[str, int]:
    (text,) = bench.page_of(f"sitemap {BASE}{path}", "dropped")
    return json.loads(text) if text else {}


def test_pages_of_nested_sitemaps_are_visited_once_and_counted_apart(crawled: Make) -> None:
    bench = crawled({
        "/s.xml": index("/1.xml", "/2.xml", "/s.xml"),
        "/1.xml": pages("/p/1", "/p/2", "/p/1"),
        "/2.xml": index("/1.xml", "/3.xml"),
        "/3.xml": pages("/p/2", "/p/3"),
        "/p/1": PRODUCT, "/p/2": PRODUCT, "/p/3": PRODUCT,
    })  # fmt: skip
    assert sorted(bench.web.log) == sorted(["/s.xml", "/1.xml", "/2.xml", "/3.xml", "/p/1", "/p/2", "/p/3"])
    assert bench.records().keys() == {"1", "2", "3"}
    facts = summary.summarise(bench.store, bench.site.codes())
    assert (facts.states, facts.sitemaps) == ({"done": 3}, {"done": 4})
    assert "sitemaps: 4 done" in list(summary.sentences(facts))


def test_what_is_left_out_is_counted_by_reason(crawled: Make) -> None:
    listed = pages(
        "/p/1", "/about", "/terms", "http://elsewhere.example/p/2", "ftp://127.0.0.1/p/3", "http://"
    )
    bench = crawled({"/s.xml": listed, "/p/1": PRODUCT})
    assert sorted(bench.web.log) == ["/p/1", "/s.xml"]
    assert dropped(bench) == {"no handler": 2, "out of scope": 1, "not http": 1, "not a URL": 1}


def test_relative_urls_start_from_the_sitemap(crawled: Make) -> None:
    bench = crawled({"/a/s.xml": xml("<urlset><url><loc>../p/1</loc></url></urlset>"), "/p/1": PRODUCT},
                    sitemaps=[f"{BASE}/a/s.xml"])  # fmt: skip
    assert bench.records().keys() == {"1"}


def test_pages_elsewhere_are_left_out_and_so_are_their_sitemaps(crawled: Make) -> None:
    bench = crawled({"/s.xml": index(f"{CDN}/t.xml", "/u.xml"), "/u.xml": pages(f"{CDN}/p/1")})
    assert bench.web.log == ["/s.xml", "/u.xml"]
    assert dropped(bench) == dropped(bench, "/u.xml") == {"out of scope": 1}


def test_sitemaps_are_nested_five_deep_at_most(crawled: Make) -> None:
    def deeper(request: Request) -> Response:
        n = int(request.url.rpartition("/")[2] or 0)
        return index(f"/{n + 1}")

    bench = crawled({f"/{n or ''}": deeper for n in range(20)}, sitemaps=[f"{BASE}/"])
    assert bench.web.log == ["/", "/1", "/2", "/3", "/4", "/5"]
    assert dropped(bench, "/5") == {"sitemaps too deep": 1}


def test_a_page_instead_of_a_sitemap_is_a_failure_that_is_tried_again(crawled: Make) -> None:
    bench = crawled({"/s.xml": html("<html><p>Not found</p></html>")})
    row = bench.page_of(f"sitemap {BASE}/s.xml", "state", "failures", "error")
    assert row == ("pending", 1, "an HTML page, not a sitemap")


def test_a_sitemap_that_is_too_long_spoils_the_crawl(crawled: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    made = site()
    made.tune(max_sitemap=1)
    monkeypatch.setitem(globals(), "site", lambda **options: made)
    bench = crawled({"/s.xml": pages("/p/1", "/p/2")})
    assert kinds(bench) == {"/s.xml": "dead"}
    facts = summary.summarise(bench.store, {})
    assert facts.imperfect
    assert facts.dead == {
        "unreadable": (1, f"{BASE}/s.xml", "a sitemap of more than 1 URLs; see tune(max_sitemap=)")
    }


def test_what_is_larger_than_a_sitemap_may_be_is_never_cut(
    crawled: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = f"{BASE}/p/1\n".encode() * 10
    monkeypatch.setattr(sitemap_reader, "MOST_BYTES", len(body) - 1)
    bench = crawled({"/s.xml": lambda request: Response("", 200, {}, body[: request.most])})
    assert kinds(bench) == {"/s.xml": "dead"}


def test_of_a_long_sitemap_every_page_is_kept_also_beside_known_ones(crawled: Make) -> None:
    bench = crawled({"/s.xml": pages("/p/1", "/p/1200"), "/p/1": PRODUCT, "/p/1200": PRODUCT})
    bench.web.answers["/s.xml"] = pages(*(f"/p/{n}" for n in range(1_500)))
    bench.again()
    bench.crawl()
    assert bench.store.db.value("SELECT count(*) FROM pages WHERE kind = 'page'") == 1_500
    assert max(len(json.loads(ops)) for (ops,) in bench.store.db.rows("SELECT ops FROM outbox")) < 5_000
    assert len(bench.web.log) == 3 + 1 + 1_500


def test_a_redirect_leads_to_one_sitemap_however_it_is_named(crawled: Make) -> None:
    bench = crawled({"/s.xml": moved("/index.xml"), "/index.xml": index("/s.xml", "/index.xml")})
    assert bench.web.log == ["/s.xml", "/index.xml"]
    assert kinds(bench) == {"/s.xml": "alias", "/index.xml": "done"}


# -- robots.txt


def test_the_sitemaps_that_robots_txt_names_are_read_on_whatever_host(crawled: Make) -> None:
    bench = crawled({
        "/robots.txt": rules(f"Sitemap: {BASE}/s.xml\nsitemap:{CDN}/t.xml\nSitemap: /u.xml\nSitemap:\nSitemap: ftp://x/"),
        "/": PRODUCT, "/s.xml": pages("/p/1"), "/u.xml": pages(),
        f"{CDN}/robots.txt": rules(f"Sitemap: {CDN}/more.xml"),
        f"{CDN}/t.xml": index(f"{CDN}/t2.xml", "http://third.example/t.xml"),
        f"{CDN}/t2.xml": pages("/p/2", f"{CDN}/p/3"),
        "/p/1": PRODUCT, "/p/2": PRODUCT,
    }, seeds=[f"{BASE}/"], sitemaps=True, robots=True)  # fmt: skip
    assert bench.records().keys() == {"1", "2"}
    assert kinds(bench) == dict.fromkeys(["/s.xml", "/u.xml", f"{CDN}/t.xml", f"{CDN}/t2.xml"], "done")
    assert f"{CDN}/more.xml" not in bench.web.log, "the robots.txt of another host names none of ours"
    assert f"{CDN}/p/3" not in bench.web.log, "its sitemaps are read, its pages are not ours"


@pytest.mark.parametrize(
    "robots", [rules("Disallow: /sitemap.xml"), html("", 404)], ids=["names none", "404"]
)
def test_without_a_name_sitemap_xml_is_looked_for(crawled: Make, robots: Response) -> None:
    bench = crawled({"/robots.txt": robots, "/": PRODUCT, "/sitemap.xml": pages("/p/1"), "/p/1": PRODUCT},
                    seeds=[f"{BASE}/"], sitemaps=True, robots=True)  # fmt: skip
    assert bench.records().keys() == {"1"}


def test_robots_txt_names_nothing_unless_it_is_asked(crawled: Make) -> None:
    bench = crawled({"/robots.txt": rules(f"Sitemap: {BASE}/t.xml"), "/s.xml": pages()}, robots=True)
    assert kinds(bench) == {"/s.xml": "done"}


def test_the_robots_txt_of_where_a_seed_leads_counts_too(crawled: Make) -> None:
    bench = crawled({
        "/": moved(f"{CDN}/"), f"{CDN}/": PRODUCT, "/robots.txt": rules(), "/sitemap.xml": html("", 404),
        f"{CDN}/robots.txt": rules("Sitemap: /s.xml"), f"{CDN}/s.xml": pages(f"{CDN}/p/1"), f"{CDN}/p/1": PRODUCT,
    }, seeds=[f"{BASE}/"], sitemaps=True, robots=True)  # fmt: skip
    assert bench.records().keys() == {"1"}


def test_what_robots_txt_names_may_be_redirected_anywhere_and_widens_nothing(crawled: Make) -> None:
    bench = crawled({
        "/": PRODUCT, "/robots.txt": rules("Sitemap: /s.xml"), "/s.xml": moved(f"{CDN}/s.xml"),
        f"{CDN}/s.xml": pages("/p/1", f"{CDN}/p/2"), "/p/1": PRODUCT,
    }, seeds=[f"{BASE}/"], sitemaps=True, robots=True)  # fmt: skip
    assert bench.records().keys() == {"1"}
    assert f"{CDN}/p/2" not in bench.web.log


def test_another_worker_may_have_widened_the_scope(crawled: Make) -> None:
    bench = crawled({"/s.xml": pages()}, seeds=[], sitemaps=[f"{BASE}/s.xml"])
    bench.web.answers |= {"/": moved(f"{CDN}/"), f"{CDN}/": PRODUCT, f"{CDN}/s.xml": pages(f"{CDN}/p/1"),
                          f"{CDN}/p/1": PRODUCT}  # fmt: skip
    idle = bench.worker("idle")
    idle.turn()
    enqueue.seeds(bench.store, [f"{BASE}/"], idle.hosts, now=wall_ms())
    busy = bench.worker("busy")
    while not bench.store.db.rows("SELECT 1 FROM pages WHERE state = 'alias'"):
        busy.turn()
    enqueue.seeds(bench.store, [Link(f"{BASE}/t.xml", kind="sitemap")], idle.hosts, now=wall_ms())
    bench.web.answers["/t.xml"] = pages(f"{CDN}/p/1")
    bench.crawl(idle)
    assert bench.records().keys() == {"1"}
    assert bench.web.log.count("/t.xml") == 1


@pytest.mark.parametrize("when", ["before", "meanwhile"])
def test_a_sitemap_that_was_read_with_a_smaller_scope_is_read_again(crawled: Make, when: str) -> None:
    listed, bench = pages(f"{CDN}/p/1"), crawled({"/s.xml": pages()})

    def seed(*_: object) -> Response:
        """It redirects to where the sitemap's pages are; another worker finds out."""
        bench.web.answers |= {
            "/t.xml": listed,
            "/": moved(f"{CDN}/"),
            f"{CDN}/": PRODUCT,
            f"{CDN}/p/1": PRODUCT,
        }
        enqueue.seeds(bench.store, [f"{BASE}/"], worker.hosts, now=wall_ms())
        bench.crawl(bench.worker("other"))
        return listed

    worker = bench.worker()
    enqueue.seeds(bench.store, [Link(f"{BASE}/t.xml", kind="sitemap")], worker.hosts, now=wall_ms())
    bench.web.answers["/t.xml"] = listed if when == "before" else seed
    bench.crawl(worker)
    if when == "before":
        assert dropped(bench, "/t.xml") == {"out of scope": 1}
        seed()
    assert bench.records().keys() == {"1"}
    assert dropped(bench, "/t.xml") == {}
    assert bench.web.log.count("/t.xml") == 2


# -- lastmod

OLD, NEW = "2020-01-01", "2020-02-01T10:00:00Z"


def again(bench: Bench, *, lastmod: bool = True) -> list[str]:
    """Another round as a crawl does it; what was asked in it."""
    store, mark = bench.store, len(bench.web.log)
    assert rounds.finish(store, wall_ms())
    rounds.start(store, "test", wall_ms())
    rounds.refresh(store, wall_ms(), listed=not lastmod)
    worker = bench.crawl()
    while lastmod and rounds.rest(store, wall_ms()):
        bench.crawl(worker)
    return sorted(bench.web.log[mark:])


@pytest.fixture
def two(crawled: Make) -> Bench:
    """/p/1 and /p/2, listed with a lastmod and read."""
    return crawled(
        {"/s.xml": pages("/p/1", "/p/2", lastmod=OLD), "/p/1": PRODUCT, "/p/2": PRODUCT}, lastmod=True
    )


def test_a_page_whose_lastmod_is_the_same_is_not_asked_for_again(two: Bench) -> None:
    assert again(two) == ["/s.xml"]
    assert again(two) == ["/s.xml"]
    assert two.page("/p/1", "state", "round", "lastmod") == ("done", 3, OLD)


def test_a_page_whose_lastmod_differs_is_asked_for_once(two: Bench) -> None:
    two.web.answers["/s.xml"] = pages("/p/1", "/p/2", lastmod=NEW)
    assert again(two) == ["/p/1", "/p/2", "/s.xml"]
    assert again(two) == ["/s.xml"]


def test_without_trust_every_round_asks_for_all(two: Bench) -> None:
    assert again(two, lastmod=False) == ["/p/1", "/p/2", "/s.xml"]


@pytest.mark.parametrize("lastmod", ["", "nonsense", "9000-01-01"])
def test_a_lastmod_that_says_nothing_is_as_good_as_none(two: Bench, lastmod: str) -> None:
    two.web.answers["/s.xml"] = pages("/p/1", "/p/2", lastmod=lastmod)
    assert again(two) == again(two) == ["/p/1", "/p/2", "/s.xml"]


def test_a_date_says_nothing_of_the_rest_of_its_day(crawled: Make) -> None:
    today = f"{wall_ms() // 31_557_600_000 + 1970}"  # this year, which is not over
    bench = crawled({"/s.xml": pages("/p/1", lastmod=today), "/p/1": PRODUCT}, lastmod=True)
    assert again(bench) == ["/p/1", "/s.xml"]


def test_a_page_that_is_not_listed_any_more_is_asked_for_at_last(two: Bench) -> None:
    two.web.answers["/s.xml"] = pages("/p/1", lastmod=OLD)
    two.web.answers["/p/2"] = html("", 410)
    assert again(two) == ["/p/2", "/s.xml"]
    assert two.page("/p/2", "state") == ("gone",)


@pytest.mark.parametrize("answer", [html("<html/>"), html("", 404), html("", 410), xml("<urlset><url>")])
def test_the_pages_of_a_sitemap_that_failed_are_asked_for_as_ever(two: Bench, answer: Response) -> None:
    two.web.answers["/s.xml"] = answer
    assert again(two) == ["/p/1", "/p/2", "/s.xml"]


def test_a_page_that_was_not_there_is_looked_for_again_whatever_its_lastmod(two: Bench) -> None:
    two.web.answers["/s.xml"] = pages("/p/1", lastmod=NEW)
    two.web.answers["/p/1"] = html("", 404)
    again(two)
    assert two.page("/p/1", "state", "status") == ("done", 404)
    again(two)
    assert two.page("/p/1", "state") == ("gone",)
    assert "/p/1" in again(two)


def test_a_page_that_was_read_by_other_code_is_read_again(two: Bench) -> None:
    two.site = site(lastmod=True)
    two.site._handlers._codes["product"] = "changed"
    assert again(two) == ["/p/1", "/p/2", "/s.xml"]
    assert again(two) == ["/s.xml"]


def test_of_two_sitemaps_that_differ_the_changed_one_is_believed(two: Bench) -> None:
    two.web.answers["/s.xml"] = index("/t.xml", "/u.xml")
    for changed in ("/t.xml", "/u.xml"):
        two.web.answers |= {"/t.xml": pages("/p/1", lastmod=OLD), "/u.xml": pages("/p/1", lastmod=OLD)}
        two.web.answers[changed] = pages("/p/1", lastmod=NEW)
        assert again(two).count("/p/1") == 1


def test_a_page_that_was_known_before_it_was_listed_is_left_out_too(crawled: Make) -> None:
    bench = crawled({"/s.xml": pages("/p/1", lastmod=OLD), "/p/1": PRODUCT, "/p/2": PRODUCT},
                    lastmod=True, seeds=[f"{BASE}/p/2"])  # fmt: skip
    bench.web.answers["/s.xml"] = pages("/p/1", "/p/2", lastmod=OLD)
    assert again(bench) == ["/p/2", "/s.xml"]
    assert again(bench) == ["/s.xml"]


def test_a_page_that_was_asked_for_in_this_round_is_not_again_for_another_listing(two: Bench) -> None:
    two.site.tune(time_scale=0.001)  # what failed is tried again after 10 ms
    late = iter([html("", 500), pages("/p/1", lastmod="2020-03-03")])
    two.web.answers |= {"/s.xml": index("/t.xml", "/u.xml"), "/t.xml": pages("/p/1", lastmod=NEW)}
    two.web.answers["/u.xml"] = lambda request: next(late)
    asked = again(two)
    assert asked.count("/u.xml") == 2
    assert asked.count("/p/1") == 1


def test_what_an_older_round_left_over_is_asked_for_once_in_the_next(crawled: Make) -> None:
    bench = crawled({"/s.xml": pages("/p/1", lastmod=OLD), "/p/1": html("", 500)}, lastmod=True)
    store = bench.store
    assert rounds.supersede(store, wall_ms())
    rounds.start(store, "test", wall_ms())
    rounds.refresh(store, wall_ms(), listed=False)
    with store.db.write():
        store.db.run("UPDATE pages SET due_at = 0 WHERE state = 'pending'")
    bench.worker().rebuild(bench.worker().frontier.cursor())
    bench.web.answers |= {"/p/1": PRODUCT, "/s.xml": pages()}
    mark = len(bench.web.log)
    bench.crawl()
    assert rounds.rest(store, wall_ms()) == 0
    assert sorted(bench.web.log[mark:]) == ["/p/1", "/s.xml"]


def test_the_time_of_a_page_that_leads_to_places_is_not_its_sitemaps_to_say(crawled: Make) -> None:
    made = site(lastmod=True)

    @made.page("/list")
    def listing(page: Page) -> Any:
        yield page.follow("/p/1?token=x", key="list/2", to="product")

    bench = crawled({"/s.xml": pages("/list", lastmod=OLD), "/list": html(""), "/p/1?token=x": PRODUCT})
    bench.site = made
    again(bench)
    assert again(bench) == again(bench) == ["/list", "/p/1?token=x", "/s.xml"]
