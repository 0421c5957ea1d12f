"""Pages that other pages lead to: by tokens that do not last, and with data that several hand down; and requests."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import fakeredis
import pytest
from consuming import BASE, Bench, html

from limpet import Page, Record, Site, graphql, request, secret
from limpet_consumers.http import Request, Response
from limpet_store import rounds, verify
from limpet_store.server import Server
from limpet_store.store import Store, wall_ms

Answer = Callable[[Request], Response]


@pytest.fixture
def bench(store: Store) -> Callable[..., Bench]:
    server = Server.from_client(fakeredis.FakeStrictRedis(server=fakeredis.FakeServer()))

    def make(answers: Mapping[str, Any], site: Site) -> Bench:
        return Bench(store, server, answers, site)

    return make


def ended(made: Bench) -> None:
    """The round is over, and what the crawl left is sound."""
    while rounds.rest(made.store, wall_ms()):
        made.crawl()
    assert rounds.finish(made.store, wall_ms())
    assert all(found.ok for found in verify.verify(made.store, quiet=True))


def again(made: Bench) -> None:
    made.again()
    made.worker().relay()
    made.web.log.clear()
    made.crawl()


def later(made: Bench, path: str, ms: int) -> None:
    """The page is due so much later than it was."""
    with made.store.db.write():
        made.store.db.run("UPDATE pages SET due_at = due_at + ? WHERE canonical = ?", (ms, BASE + path))


# -- tokens


@dataclass
class Tokens:
    """A listing of `length` places: each gives the token of the next; the site takes no token but those it knows."""

    length: int = 4
    valid: set[str] = field(default_factory=set)
    given: int = 0
    refusal: int = 410
    after: dict[str, Callable[[], None]] = field(
        default_factory=dict
    )  # at a place: what happens after its answer
    links_back: bool = False

    def answers(self) -> dict[str, Any]:
        return {"/list/0": lambda _: self._place(0)} | {
            f"/list/{n}?t={t}": self._checked(n, str(t)) for n in range(1, 9) for t in range(60)
        }

    def _checked(self, n: int, token: str) -> Answer:
        return lambda _: self._place(n) if token in self.valid else html("", self.refusal)

    def _place(self, n: int) -> Response:
        self.given += 1
        self.valid.add(str(self.given))
        following = f'<a class="next" href="/list/{n + 1}?t={self.given}">' if n + 1 < self.length else ""
        back = f'<a class="back" href="/list/{n - 1}?t=999">' if self.links_back and n > 1 else ""
        answer = html(f'<b class="n">{n}</b>{following}{back}')
        self.after.pop(str(n), lambda: None)()
        return answer


def listing() -> Site:
    site = Site("shop", [f"{BASE}/list/0"], robots=False, allow_private=True)
    site.tune(threads=1, group=1, time_scale=0.0001)

    @site.page("/list/{n}")
    def listing(page: Page) -> Any:
        n = int(page.params["n"])
        yield Record("place", page.one(".n"), {"n": n})
        if page.css(".next"):
            yield page.follow(page.css(".next"), key=f"list/{n + 1}")
        if page.css(".back"):
            yield page.follow(page.css(".back"), key=f"list/{n - 1}")

    return site


def places(made: Bench) -> list[tuple[str, str]]:
    rows = made.store.db.rows("SELECT key, state FROM pages WHERE led = 1 ORDER BY id")
    return [(key, state) for key, state in rows]


def test_a_place_is_known_by_its_key_and_not_by_its_token(bench: Any) -> None:
    tokens = Tokens(length=3)
    made = bench(tokens.answers(), listing())
    made.crawl()
    assert places(made) == [("key list/1", "done"), ("key list/2", "done")]
    assert made.web.log == ["/list/0", "/list/1?t=1", "/list/2?t=2"]
    ended(made)


def test_in_a_new_round_a_place_is_visited_with_the_token_of_that_round(bench: Any) -> None:
    tokens = Tokens(length=3)
    made = bench(tokens.answers(), listing())
    made.crawl()
    ended(made)
    tokens.valid.clear()
    again(made)
    assert made.web.log == ["/list/0", "/list/1?t=4", "/list/2?t=5"]
    ended(made)


@pytest.mark.parametrize("refusal", [400, 403, 410])
def test_a_refused_token_sends_the_crawl_back_to_the_last_url_that_lasts(bench: Any, refusal: int) -> None:
    tokens = Tokens(length=4, refusal=refusal)
    tokens.after["2"] = tokens.valid.clear  # the session ends on the way
    made = bench(tokens.answers(), listing())
    made.crawl()
    # A 403 may mean all of us: the host is left alone for a while, and the page asked for once more.
    refused = ["/list/3?t=3"] * (2 if refusal == 403 else 1)
    assert made.web.log == [
        "/list/0", "/list/1?t=1", "/list/2?t=2", *refused, "/list/0", "/list/1?t=4", "/list/2?t=5", "/list/3?t=6",
    ]  # fmt: skip
    assert {state for _, state in places(made)} == {"done"}
    assert made.store.db.value("SELECT count(*) FROM records") == 4
    assert made.store.db.value("SELECT max(blocks) FROM hosts") == 0
    ended(made)


def test_a_token_that_is_always_refused_dies_with_its_reason_and_the_crawl_ends(bench: Any) -> None:
    tokens = Tokens(length=2)
    answers = tokens.answers() | {f"/list/1?t={t}": html("", 410) for t in range(60)}
    site = listing()
    site.tune(max_attempts=3)
    made = bench(answers, site)
    made.crawl()
    assert places(made) == [("key list/1", "dead")]
    assert made.page("/list/0", "state") == ("done",)
    assert 3 <= len(made.web.log) <= 6
    ended(made)


def test_a_place_that_nothing_leads_to_any_more_is_dead_when_the_round_ends(bench: Any) -> None:
    tokens = Tokens(length=4)

    def shrink() -> None:
        tokens.valid.clear()
        tokens.length = 2

    tokens.after["2"] = shrink
    made = bench(tokens.answers(), listing())
    made.crawl()
    ended(made)
    assert places(made) == [("key list/1", "done"), ("key list/2", "dead"), ("key list/3", "dead")]


def test_a_link_back_does_not_put_its_token_in_place_of_the_way_there(bench: Any) -> None:
    tokens = Tokens(length=4, links_back=True)
    made = bench(tokens.answers(), listing())
    made.crawl()
    again_ = made.web.log
    assert not [path for path in again_ if path.endswith("t=999")]
    ended(made)


def test_a_page_that_leads_on_is_read_each_time_though_it_is_unchanged(bench: Any) -> None:
    tokens = Tokens(length=2)
    answers = tokens.answers()
    first = answers["/list/0"]
    answers["/list/0"] = lambda asked: html(first(asked).body.decode(), etag='"1"')
    made = bench(answers, listing())
    made.crawl()
    assert made.page("/list/0", "etag") == (None,)


def test_a_cursor_in_the_body_of_a_post_is_a_place_too(bench: Any) -> None:
    asked: list[Any] = []

    def search(sent: Request) -> Response:
        assert sent.body is not None
        asked.append(json.loads(sent.body))
        cursor = asked[-1].get("cursor", 0)
        following = cursor + 1 if cursor < 2 else None
        return Response(
            "",
            200,
            {"content-type": "application/json"},
            json.dumps({"n": cursor, "next": following}).encode(),
        )

    site = Site(
        "shop", [request(f"{BASE}/search", json={"q": "tea"}, safe=True)], robots=False, allow_private=True
    )
    site.tune(threads=1)

    @site.page("/search")
    def found(page: Page) -> Any:
        answer = page.json()
        yield Record("hit", answer["n"], {"n": answer["n"]})
        if answer["next"] is not None:
            body = {"q": "tea", "cursor": answer["next"]}
            yield page.follow("", key=f"search/tea/{answer['next']}", json=body, safe=True)

    made = bench({"/search": search}, site)
    made.crawl()
    assert asked == [{"q": "tea"}, {"q": "tea", "cursor": 1}, {"q": "tea", "cursor": 2}]
    assert sorted(made.records()) == ["0", "1", "2"]
    ended(made)


def test_a_newer_url_that_comes_while_a_place_is_in_flight_is_tried_when_the_old_one_is_refused(
    bench: Any,
) -> None:
    tokens = Tokens(length=2)
    answers = tokens.answers()
    site = listing()
    made = bench(answers, site)
    first = answers["/list/1?t=1"]

    def meanwhile(asked: Request) -> Response:
        """Another worker reads the page before again and gets a newer token; then the old one is refused."""
        made.web.answers["/list/1?t=1"] = first
        tokens.valid.clear()
        with made.store.db.write():
            made.store.db.run("UPDATE pages SET state = 'pending', due_at = 0 WHERE key LIKE '%/list/0'")
        other = made.worker("other")
        other.rebuild(made.worker().frontier.cursor())
        for _ in range(20):
            other.turn()
        return first(asked)

    made.web.answers["/list/1?t=1"] = meanwhile
    made.crawl()
    assert made.web.log == ["/list/0", "/list/1?t=1", "/list/0", "/list/1?t=2"]
    assert places(made) == [("key list/1", "done")]
    ended(made)


def test_a_place_is_visited_in_a_new_round_though_the_way_to_it_has_become_longer(bench: Any) -> None:
    site = Site("shop", [f"{BASE}/list/1"], robots=False, allow_private=True)
    site.tune(threads=1, group=1)

    @site.page("/list/{n}")
    def pager(page: Page) -> Any:
        yield Record("place", page.params["n"], {"text": page.one("b")})
        for link in page.css("a"):
            yield page.follow(link, key=f"list/{page.one('::text', of=link)}")

    def shown(n: int, *others: int) -> Response:
        return html(f"<b>{n}</b>" + "".join(f'<a href="/list/{m}">{m}</a>' for m in others))

    made = bench(
        {"/list/1": shown(1, 2, 4), "/list/2": shown(2, 3), "/list/3": shown(3, 4), "/list/4": shown(4)}, site
    )
    made.crawl()
    ended(made)
    made.web.answers |= {"/list/1": shown(1, 2), "/list/4": html("<b>new</b>")}
    again(made)
    assert made.web.log == ["/list/1", "/list/2", "/list/3", "/list/4"]
    assert made.records()["4"] == '{"text":"new"}'


def test_a_night_that_ends_with_a_leftover_loses_no_place_that_was_held(bench: Any) -> None:
    tokens = Tokens(length=3)

    def fail() -> None:
        tokens.valid.clear()
        made.web.answers["/list/0"] = html("", 500)

    tokens.after["1"] = fail
    made = bench(tokens.answers(), listing())
    first = made.web.answers["/list/0"]
    made.site.tune(time_scale=1.0)
    made.crawl()
    assert places(made) == [("key list/1", "held"), ("key list/2", "held")]
    assert rounds.supersede(made.store, wall_ms())
    rounds.start(made.store, "test", wall_ms())
    rounds.refresh(made.store, wall_ms())
    made.web.answers["/list/0"] = first
    with made.store.db.write():
        made.store.db.run("UPDATE pages SET due_at = 0")
        made.store.db.run("UPDATE hosts SET blocked_until = 0, rests = 0, streak = 0")
    worker = made.worker("next")
    worker.rebuild(made.worker().frontier.cursor())
    made.crawl(worker)
    assert {state for _, state in places(made)} == {"done"}
    ended(made)


def test_places_that_lead_to_each_other_make_no_circle(bench: Any) -> None:
    """A leftover of the last round is read before the page that leads to it, and links back to that one."""
    site = Site("shop", [f"{BASE}/list/1"], robots=False, allow_private=True)
    site.tune(threads=1, group=1)

    @site.page("/list/{n}")
    def pager(page: Page) -> Any:
        for link in page.css("a"):
            yield page.follow(link, key=f"list/{page.one('::text', of=link)}")

    def shown(*others: int) -> Response:
        return html("".join(f'<a href="/list/{m}">{m}</a>' for m in others))

    made = bench({"/list/1": shown(2), "/list/2": shown(3), "/list/3": html("", 500)}, site)
    made.crawl()
    assert rounds.supersede(made.store, wall_ms())
    rounds.start(made.store, "test", wall_ms())
    rounds.refresh(made.store, wall_ms())
    made.web.answers["/list/3"] = shown(2)
    later(made, "/list/1", 2**40)
    later(made, "/list/3", -(2**40))
    made.worker().rebuild(made.worker().frontier.cursor())
    made.crawl()
    assert made.web.log[-1] == "/list/3"
    parents = dict(made.store.db.rows("SELECT id, parent FROM pages"))
    for page in parents:
        way = [page]
        while (above := parents[way[-1]]) is not None:
            assert above not in way
            way.append(above)


def test_a_site_that_refuses_now_and_then_is_not_asked_without_end(bench: Any) -> None:
    tokens = Tokens(length=8)
    answers = tokens.answers()
    asked = {"all": 0}

    def flaky(answer: Answer) -> Answer:
        def answered(sent: Request) -> Response:
            asked["all"] += 1
            return html("", 410) if asked["all"] % 3 == 0 else answer(sent)

        return answered

    made = bench(
        {path: answer if path == "/list/0" else flaky(answer) for path, answer in answers.items()}, listing()
    )
    made.crawl()
    assert made.web.log.count("/list/0") <= 1 + 20
    ended(made)


# -- data handed down


def categories(merge: str | None = "list") -> Site:
    site = Site("shop", [f"{BASE}/a", f"{BASE}/b"], robots=False, allow_private=True)
    site.tune(threads=1, group=1)

    @site.page("/{name}")
    def category(page: Page) -> Any:
        for link in page.css("a"):
            yield page.link(link, to=product, data={"in": page.params["name"]}, merge=merge)

    @site.page("/p/{n}")
    def product(page: Page) -> Any:
        data = page.data if merge else [page.data]
        yield Record("product", page.params["n"], {"in": [each["in"] for each in data]})

    return site


A = '<a href="/p/1"></a><a href="/p/2"></a>'
B = '<a href="/p/2"></a><a href="/p/3"></a>'
PRODUCTS = {f"/p/{n}": html("") for n in (1, 2, 3)}


def test_a_product_of_several_categories_collects_what_they_hand_down(bench: Any) -> None:
    made = bench({"/a": html(A), "/b": html(B)} | PRODUCTS, categories())
    made.crawl()
    assert made.records() == {"1": '{"in":["a"]}', "2": '{"in":["a","b"]}', "3": '{"in":["b"]}'}
    ended(made)


def test_a_page_that_was_read_with_less_is_read_again(bench: Any) -> None:
    made = bench({"/a": html(A), "/b": html(B)} | PRODUCTS, categories())
    later(made, "/b", 1500)
    made.crawl(turns=2000)
    while rounds.pending(made.store):
        made.crawl()
    assert made.records()["2"] == '{"in":["a","b"]}'
    assert made.web.log.count("/p/2") == 2
    assert made.web.log.count("/p/1") == 1
    ended(made)


def test_what_a_parent_no_longer_hands_down_is_taken_away(bench: Any) -> None:
    made = bench({"/a": html(A), "/b": html(B)} | PRODUCTS, categories())
    made.crawl()
    ended(made)
    made.web.answers["/b"] = html('<a href="/p/3"></a>')
    again(made)
    assert made.records() == {"1": '{"in":["a"]}', "2": '{"in":["a"]}', "3": '{"in":["b"]}'}
    ended(made)


def test_a_parent_whose_handler_ended_early_takes_nothing_back(bench: Any) -> None:
    site = Site("shop", [f"{BASE}/a"], robots=False, allow_private=True)
    site.tune(threads=1)

    @site.page("/a")
    def category(page: Page) -> Any:
        float(page.one("b"))  # ends it, where nothing is
        yield page.link("/p/1", data="a", merge="list")

    @site.page("/p/{n}")
    def product(page: Page) -> Any:
        yield Record("product", page.params["n"], {"in": page.data})

    made = bench({"/a": html("<b>1</b>"), "/p/1": html("")}, site)
    made.crawl()
    ended(made)
    made.web.answers["/a"] = html("")
    again(made)
    assert made.records() == {"1": '{"in":["a"]}'}
    assert made.store.db.value("SELECT version FROM records") == 1
    ended(made)


def test_a_parent_that_is_gone_hands_nothing_down(bench: Any) -> None:
    made = bench({"/a": html(A), "/b": html(B)} | PRODUCTS, categories())
    made.crawl()
    ended(made)
    made.web.answers["/b"] = html("", 410)
    again(made)
    assert made.records() == {"1": '{"in":["a"]}', "2": '{"in":["a"]}', "3": '{"in":[]}'}
    ended(made)


def test_what_is_collected_goes_along_with_a_redirect(bench: Any) -> None:
    moved = html("", 302, location="/p/9")
    made = bench({"/a": html(A), "/b": html(B)} | PRODUCTS | {"/p/2": moved, "/p/9": html("")}, categories())
    made.crawl()
    assert made.records()["9"] == '{"in":["a","b"]}'
    ended(made)


def test_a_page_that_hands_down_while_the_child_is_in_flight_is_not_lost(bench: Any) -> None:
    made = bench({"/a": html(A), "/b": html(B)} | PRODUCTS, categories())

    def meanwhile(_: Request) -> Response:
        made.web.answers["/p/1"] = html("")
        other = made.worker("other")
        for _ in range(30):
            other.turn()
        return html("")

    made.web.answers["/b"] = html('<a href="/p/1"></a>')
    made.web.answers["/p/1"] = meanwhile
    later(made, "/b", 100)
    made.crawl()
    while rounds.pending(made.store):
        made.crawl()
    assert made.records()["1"] == '{"in":["a","b"]}'
    ended(made)


def test_a_page_that_was_found_without_data_is_read_again_with_what_is_handed_down_meanwhile(
    bench: Any,
) -> None:
    """Both are in one turn: the child is read as a seed, and its parent is committed before it."""
    site = Site("shop", [f"{BASE}/a", f"{BASE}/p/1"], robots=False, allow_private=True)
    site.tune(threads=1, group=4)

    @site.page("/a")
    def category(page: Page) -> Any:
        yield page.link("/p/1", data="a", merge="list")

    @site.page("/p/{n}")
    def product(page: Page) -> Any:
        yield Record("product", page.params["n"], {"in": page.data})

    made = bench({"/a": html(""), "/p/1": html("")}, site)
    made.crawl()
    assert made.records() == {"1": '{"in":["a"]}'}
    ended(made)


def test_a_page_may_hand_data_down_to_itself(bench: Any) -> None:
    site = Site("shop", [f"{BASE}/p/1"], robots=False, allow_private=True)
    site.tune(threads=1, time_scale=0.0001)

    @site.page("/p/{n}")
    def variant(page: Page) -> Any:
        for n in (1, 2):
            yield page.link(f"/p/{n}", data=page.params["n"], merge="list")
        yield Record("variant", page.params["n"], {"linked from": page.data})

    made = bench({"/p/1": html(""), "/p/2": html("")}, site)
    made.crawl()
    assert set(made.records().values()) == {'{"linked from":["1","2"]}'}
    ended(made)


def test_data_that_grows_with_each_visit_ends_with_a_word(bench: Any) -> None:
    site = Site("shop", [f"{BASE}/p/1"], robots=False, allow_private=True)
    site.tune(threads=1, time_scale=0.00001)

    @site.page("/p/{n}")
    def endless(page: Page) -> Any:
        yield page.link("/p/1", data=(page.data or [0])[-1] + 1, merge="list")

    made = bench({"/p/1": html("")}, site)
    made.crawl()
    ended(made)
    assert 20 < len(made.web.log) <= 1 + 25
    ((reason,),) = made.store.db.rows("SELECT reason FROM rejections")
    assert "still changes" in reason


def test_a_page_collects_from_any_number_of_parents_that_come_one_after_the_other(bench: Any) -> None:
    site = Site("shop", [f"{BASE}/c/{n}" for n in range(60)], robots=False, allow_private=True)
    site.tune(threads=1, group=1, time_scale=0.00001)

    @site.page("/c/{n:int}")
    def category(page: Page) -> Any:
        yield page.link("/p/1", data=int(page.params["n"]), merge="list")

    @site.page("/p/{n}")
    def product(page: Page) -> Any:
        yield Record("product", page.params["n"], {"in": sorted(page.data)})

    made = bench({f"/c/{n}": html("") for n in range(60)} | {"/p/1": html("")}, site)
    for n in range(60):
        later(made, f"/c/{n}", 2**40)
    for n in range(60):
        later(made, f"/c/{n}", -(2**40))
        made.worker().rebuild(made.worker().frontier.cursor())
        made.crawl()
    ended(made)
    assert json.loads(made.records()["1"])["in"] == list(range(60))
    assert made.web.log.count("/p/1") <= 26


def test_what_is_collected_has_a_bound_that_is_told(bench: Any) -> None:
    site = Site("shop", [f"{BASE}/c/{n}" for n in range(40)], robots=False, allow_private=True)
    site.tune(threads=1, time_scale=0.00001)

    @site.page("/c/{n}")
    def category(page: Page) -> Any:
        yield page.link("/p/1", data=page.params["n"] + "x" * 10_000, merge="list")

    @site.page("/p/{n}")
    def product(page: Page) -> Any:
        yield Record("product", page.params["n"], {"in": len(page.data)})

    made = bench({f"/c/{n}": html("") for n in range(40)} | {"/p/1": html("")}, site)
    made.crawl()
    ended(made)
    assert json.loads(made.records()["1"])["in"] == 26
    ((reason,),) = made.store.db.rows("SELECT reason FROM rejections")
    assert "more than 262144 characters" in reason


def test_a_record_that_requires_less_by_now_is_shown_when_its_page_is_read_again(bench: Any) -> None:
    needs = ["detail", "stokc"]
    site = Site("shop", [f"{BASE}/p/1"], robots=False, allow_private=True)

    @site.page("/p/{n}")
    def product(page: Page) -> Any:
        yield Record("product", page.params["n"], {"a": 1}, part="detail", requires=needs)

    made = bench({"/p/1": html("")}, site)
    made.crawl()
    assert made.records() == {}
    ended(made)
    needs.remove("stokc")
    again(made)
    assert made.records() == {"1": '{"a":1}'}
    ended(made)


def test_without_merge_the_first_discovery_wins(bench: Any) -> None:
    made = bench({"/a": html(A), "/b": html(B)} | PRODUCTS, categories(merge=None))
    made.crawl()
    again(made)
    assert made.records()["2"] == '{"in":["a"]}'


# -- requests


def asking(link: Callable[[Page], Any]) -> Site:
    site = Site("shop", [f"{BASE}/"], robots=False, allow_private=True, headers={"X-Site": "1"})
    site.tune(threads=1)

    @site.page("/")
    def home(page: Page) -> Iterator[Any]:
        yield from link(page)

    @site.page("/api")
    def api(page: Page) -> None:
        return None

    return site


def sent(made: Bench) -> list[Request]:
    """The requests besides that of the seed, in order."""
    seen: list[Request] = []
    fetch = made.web.fetch

    def note(asked: Request, deadline: float) -> Response:
        seen.append(asked)
        return fetch(asked, deadline)

    made.web.fetch = note  # type: ignore[method-assign]
    made.crawl()
    return [asked for asked in seen if asked.url != f"{BASE}/"]


def test_a_post_is_sent_with_its_body_and_type(bench: Any) -> None:
    def link(page: Page) -> Any:
        yield page.request("/api", json={"q": "té"}, safe=True)
        yield page.request("/api", form={"q": "a b"}, safe=True)
        yield page.request("/api", body=b"\x00raw", method="POST", headers={"X-A": "1"}, safe=True)

    found = sent(bench({"/": html("")}, asking(link)))
    assert [(each.method, each.body, each.headers.get("Content-Type")) for each in found] == [
        ("POST", '{"q":"té"}'.encode(), "application/json"),
        ("POST", b"q=a+b", "application/x-www-form-urlencoded"),
        ("POST", b"\x00raw", None),
    ]
    assert [each.headers.get("X-A") for each in found] == [None, None, "1"]
    assert {each.headers["X-Site"] for each in found} == {"1"}


def test_two_requests_with_the_same_canonical_body_are_one_page(bench: Any) -> None:
    def link(page: Page) -> Any:
        yield page.request("/api", json={"a": 1, "b": 2}, safe=True)
        yield page.request("/api", json={"b": 2, "a": 1}, safe=True)
        yield page.request("/api", json={"b": 2, "a": 2}, safe=True)
        yield page.link("/api")

    made = bench({"/": html("")}, asking(link))
    assert len(sent(made)) == 3
    keys = [key for (key,) in made.store.db.rows("SELECT key FROM pages ORDER BY id")]
    assert keys[-1] == f"{BASE}/api"
    assert keys[1].startswith(f"POST {BASE}/api ")


def test_a_header_makes_another_page_only_when_it_varies(bench: Any) -> None:
    def link(page: Page) -> Any:
        for language in ("de", "fr"):
            headers = {"Accept-Language": language}
            yield page.request("/api", headers=headers, vary=["accept-language"])
            yield page.request("/other", headers=headers)

    made = bench({"/": html("")}, asking(link))
    found = [(each.url.removeprefix(BASE), each.headers["Accept-Language"]) for each in sent(made)]
    assert found == [("/api", "de"), ("/other", "de"), ("/api", "fr")]


def test_a_key_of_ones_own_is_the_page(bench: Any) -> None:
    def link(page: Page) -> Any:
        yield page.request("/api?session=1", key="offers")
        yield page.request("/api?session=2", key="offers")

    made = bench({"/": html("")}, asking(link))
    assert [each.url for each in sent(made)] == [f"{BASE}/api?session=1"]


def test_secrets_are_sent_and_never_stored(bench: Any, monkeypatch: Any, tmp_path: Any) -> None:
    monkeypatch.setenv("API_TOKEN", "s3cr3t-token")
    (tmp_path / "key").write_text("s3cr3t-key\n")
    monkeypatch.setenv("API_KEY_FILE", str(tmp_path / "key"))

    def link(page: Page) -> Any:
        token = "Bearer " + secret("API_TOKEN")
        yield page.request("/api?a=1", headers={"Authorization": token}, params={"key": secret("API_KEY")})

    def echo(asked: Request) -> Response:
        return html("", 302, location="/back?key=s3cr3t-key&a=1")

    made = bench(
        {"/": html(""), "/api?a=1&key=s3cr3t-key": echo, "/back?a=1&key=s3cr3t-key": html("")}, asking(link)
    )
    first, back = sent(made)
    assert (first.url, first.headers["Authorization"]) == (
        f"{BASE}/api?a=1&key=s3cr3t-key",
        "Bearer s3cr3t-token",
    )
    assert (back.url, back.headers["Authorization"]) == (
        f"{BASE}/back?a=1&key=s3cr3t-key",
        "Bearer s3cr3t-token",
    )
    assert not told(made)


def told(made: Bench) -> bool:
    """Whether a secret of these tests is anywhere in the store's files."""
    return any(b"s3cr3t" in file.read_bytes() for file in made.store.db.path.parent.glob("shop.db*"))


def test_a_link_that_says_a_secret_back_goes_on_with_its_name(bench: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv("API_KEY", "s3cr3t-key")

    def link(page: Page) -> Any:
        yield page.request("/first", params={"key": secret("API_KEY")})

    site = asking(link)

    @site.page("/more")
    def more(page: Page) -> Any:
        yield Record("text", "a", {"self": page.text})
        yield Record("text", "b", {"self": "quiet"})
        yield page.link("/other/s3cr3t-key")

    @site.page("/first")
    def first(page: Page) -> Any:
        yield page.link(page.text)

    answers = {
        "/": html(""),
        "/first?key=s3cr3t-key": html("/more?page=2&key=s3cr3t-key"),
        "/more?page=2&key=s3cr3t-key": html("you sent s3cr3t-key"),
    }
    made = bench(answers, site)
    assert [each.url.removeprefix(BASE) for each in sent(made)] == [
        "/first?key=s3cr3t-key",
        "/more?page=2&key=s3cr3t-key",
    ]
    assert list(made.records()) == ["b"]
    assert made.page("/more?page=2", "dropped") == ('{"holds a secret": 1}',)
    ((reason,),) = made.store.db.rows("SELECT reason FROM rejections")
    assert reason == "data holds secret('API_KEY'), which the site has said back"
    assert not told(made)


def test_a_redirect_that_says_a_secret_back_elsewhere_leads_nowhere(bench: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv("API_KEY", "s3cr3t-key")

    def link(page: Page) -> Any:
        yield page.request("/api", params={"key": secret("API_KEY")})

    moved_to = html("", 302, location="/login?next=%2Fapi%3Fkey%3Ds3cr3t-key")
    made = bench({"/": html(""), "/api?key=s3cr3t-key": moved_to}, asking(link))
    assert len(sent(made)) == 1
    assert made.page("/api", "state", "error") == ("dead", "redirects to a URL: holds a secret")
    assert not told(made)


def test_parameters_that_are_no_secret_are_part_of_the_url(bench: Any) -> None:
    def link(page: Page) -> Any:
        for n in ("1", "2"):
            yield page.request("/api?a=b#c", params={"page": n, "q": "a b"})

    made = bench({"/": html("")}, asking(link))
    assert [each.url.removeprefix(BASE) for each in sent(made)] == [
        "/api?a=b&page=1&q=a+b",
        "/api?a=b&page=2&q=a+b",
    ]


def test_a_secret_that_is_not_there_is_a_failure_that_names_it(bench: Any) -> None:
    def link(page: Page) -> Any:
        yield page.request("/api", headers={"X": secret("NOWHERE_TO_BE_FOUND")})

    made = bench({"/": html("")}, asking(link))
    assert sent(made) == []
    (error,) = made.page("/api", "error")
    assert (
        error == "the secret NOWHERE_TO_BE_FOUND is not there: set NOWHERE_TO_BE_FOUND, or "
        "NOWHERE_TO_BE_FOUND_FILE to a file that holds it"
    )


def test_a_redirected_post_goes_on_as_the_status_says(bench: Any) -> None:
    def link(page: Page) -> Any:
        for status in (302, 303, 307, 308):
            yield page.request(f"/api/{status}", json={}, headers={"X-A": "1"}, safe=True)

    answers = {
        f"/api/{status}": html("", status, location=f"/to/{status}") for status in (302, 303, 307, 308)
    }
    found = sent(bench({"/": html("")} | answers, asking(link)))
    assert [(each.url.removeprefix(BASE), each.method, each.body) for each in found[4:]] == [
        ("/to/302", "GET", None), ("/to/303", "GET", None), ("/to/307", "POST", b"{}"), ("/to/308", "POST", b"{}"),
    ]  # fmt: skip


def test_a_redirect_to_another_origin_takes_no_header_along(bench: Any) -> None:
    def link(page: Page) -> Any:
        yield page.request("/api", headers={"Authorization": "secret"})

    site = asking(link)
    site.hosts |= {"127.0.0.2"}
    made = bench({"/": html(""), "/api": html("", 302, location="http://127.0.0.2/x")}, site)
    _, other = sent(made)
    assert other.url == "http://127.0.0.2/x"
    assert "Authorization" not in other.headers


def test_graphql_is_a_post_that_reads() -> None:
    link = graphql("http://h/graphql", "query Q($n: Int) { items(n: $n) { id } }", {"n": 5}, operation="Q")
    assert link.ask is not None
    assert link.ask.method == "POST"
    assert json.loads(link.ask.body or b"") == {
        "query": "query Q($n: Int) { items(n: $n) { id } }", "variables": {"n": 5}, "operationName": "Q",
    }  # fmt: skip
