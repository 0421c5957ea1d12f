"""What site authors use besides plain links: data that is collected, tokens, parts that wait, rejections, a POST."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from crash.explore import Scenario
from crash.invariants import Truth
from crash.scenarios import crawl
from crash.world import HOME, Process, Website, World, work

from limpet import Page, Record, Site, request
from limpet_producer import enqueue
from limpet_store import dead, forgetting, pausing, refreshing, rounds

DONE = "done"


def _site(*seeds: Any) -> Site:
    found = Site("shop", seeds, robots=False, allow_private=True)
    found.tune(threads=1, group=2)
    return found


def _world(pages: dict[str, Any], site: Site) -> World:
    site.codes()  # here, once, and not in each forked child
    return World(Website(dict(pages)), site)


def _second_round(world: World, token: str) -> None:
    crawl(world, token, round_=2)


def _after_a_round(world: World, **changed: Any) -> World:
    """The first round is over, and the site has changed."""
    with world.clock.running():
        crawl(world, "setup")
        world.website.log.clear()
        world.clock.ms += 60_000
        world.website.pages |= {path.replace("_", "/"): body for path, body in changed.items()}
    return world


# -- data handed down


def _collecting() -> Site:
    site = _site(f"{HOME}/c/a", f"{HOME}/c/b", f"{HOME}/c/d")

    @site.page("/c/{name}")
    def category(page: Page) -> Any:
        for link in page.css("a"):
            yield page.link(link, to=product, data=page.params["name"], merge="list")

    @site.page("/p/{n}")
    def product(page: Page) -> Any:
        yield Record("product", page.params["n"], {"in": page.data})

    return site


COLLECTED = {
    "/c/a": '<a href="/p/1">',
    "/c/b": '<a href="/p/1"><a href="/p/2">',
    "/c/d": '<a href="/p/1">',
    "/p/1": "<p>",
    "/p/2": "<p>",
}


def _new_collection() -> World:
    world = _world(COLLECTED, _collecting())
    world.allowed["/p/1"] += 2  # read once more for each parent that comes after it
    return world


HANDED = Scenario(
    "data of several parents", _new_collection, crawl,
    lambda world: Truth(
        {("product", "1"): (None, {"in": ["a", "b", "d"]}), ("product", "2"): (1, {"in": ["b"]})},
        dict.fromkeys(COLLECTED, DONE),
    ),
)  # fmt: skip


def _smaller_collection() -> World:
    world = _after_a_round(_new_collection(), _c_b='<a href="/p/2">')
    world.allowed.clear()
    world.allowed["/p/1"] += 1
    return world


TAKEN_AWAY = Scenario(
    "data that a parent takes back", _smaller_collection, _second_round,
    lambda world: Truth(
        {("product", "1"): (None, {"in": ["a", "d"]}), ("product", "2"): (1, {"in": ["b"]})},
        dict.fromkeys(COLLECTED, DONE),
    ),
)  # fmt: skip


# -- tokens


def _place(website: Website, path: str) -> Any:
    """One page of a listing of three. The site's session ends once, after it has given the token of the last."""
    place, _, token = path.partition("?t=")
    n = int(place.rpartition("/")[2])
    valid = website.memory.setdefault("valid", set())
    if n and token not in valid:
        return 410
    given = website.memory["given"] = website.memory.get("given", 0) + 1
    valid.add(str(given))
    if n == 1 and not website.memory.get("ended"):
        website.memory["ended"] = True
        valid.clear()
    return f'<b>{n}</b><a href="/list/{n + 1}?t={given}">' if n < 2 else f"<b>{n}</b>"


def _listing() -> Site:
    site = _site(f"{HOME}/list/0")

    @site.page("/list/{n}")
    def listing(page: Page) -> Any:
        yield Record("place", page.one("b"))
        for link in page.css("a"):
            yield page.follow(link, key=f"list/{int(page.params['n']) + 1}")

    return site


PLACES = {f"/list/{n}": _place for n in range(3)}
PLACE_RECORDS = {("place", str(n)): (1, {}) for n in range(3)}
TOKENS = Scenario(
    "a token that is refused", lambda: _world(PLACES, _listing()), crawl,
    lambda world: Truth(PLACE_RECORDS, dict.fromkeys(PLACES, DONE)),
)  # fmt: skip
TOKENS_AGAIN = Scenario(
    "places in a new round", lambda: _after_a_round(_world(PLACES, _listing())), _second_round,
    lambda world: Truth(PLACE_RECORDS, dict.fromkeys(PLACES, DONE)),
)  # fmt: skip


# -- parts that wait, and what is rejected


def _shaped() -> Site:
    site = _site(f"{HOME}/list")

    @site.record("item", key="sku", requires=["list", "detail"], volatile=["seen"], schema=2)
    @dataclass
    class Item:
        sku: str
        price: int | None = None
        stock: int | None = None
        seen: str | None = None

    @site.page("/list")
    def listing(page: Page) -> Any:
        for card in page.css("li"):
            sku = page.one("a", of=card)
            yield Record("item", data={"sku": sku, "price": page.number("b", of=card)}, part="list")
            yield page.link(card.css("a"))

    @site.page("/item/{sku}")
    def item(page: Page) -> Any:
        data = {"sku": page.params["sku"], "stock": page.number("i"), "seen": page.one("u")}
        yield Record("item", data=data, part="detail")

    return site


def _list(**prices: str) -> str:
    return "".join(f'<li><a href="/item/{sku}">{sku}</a><b>{price}</b></li>' for sku, price in prices.items())


def _item(stock: str, seen: str = "mon") -> str:
    return f"<i>{stock}</i><u>{seen}</u>"


ITEMS = {"/list": _list(a="1", b="2"), "/item/a": _item("5"), "/item/b": _item("6")}


def _is(sku: str, price: int, stock: int, seen: str = "mon") -> dict[str, Any]:
    return {"sku": sku, "price": price, "stock": stock, "seen": seen}


REQUIRED = Scenario(
    "parts that wait for each other", lambda: _world(ITEMS, _shaped()), crawl,
    lambda world: Truth(
        {("item", "a"): (1, _is("a", 1, 5)), ("item", "b"): (1, _is("b", 2, 6))}, dict.fromkeys(ITEMS, DONE)
    ),
)  # fmt: skip
REJECTED = Scenario(
    "a rejection in a later round",
    lambda: _after_a_round(_world(ITEMS, _shaped()), _item_a=_item("many"), _item_b=_item("6", "tue")),
    _second_round,
    lambda world: Truth(
        {("item", "a"): (1, _is("a", 1, 5)), ("item", "b"): (1, _is("b", 2, 6))}, dict.fromkeys(ITEMS, DONE),
        rejected=[("/item/a", "stock")],
    ),
)  # fmt: skip
HEALED = Scenario(
    "a rejection that is healed",
    lambda: _after_a_round(
        _after_a_round(_world(ITEMS, _shaped()), _item_a=_item("many")), _item_a=_item("7")
    ),
    lambda world, token: crawl(world, token, round_=2),
    lambda world: Truth(
        {("item", "a"): (2, _is("a", 1, 7)), ("item", "b"): (1, _is("b", 2, 6))}, dict.fromkeys(ITEMS, DONE)
    ),
)  # fmt: skip


# -- a request with a body


def _searching() -> Site:
    site = _site(request(f"{HOME}/search", json={"from": 0}, safe=True))

    @site.page("/search")
    def found(page: Page) -> Any:
        answer = page.json()
        yield Record("hit", answer["n"], {"n": answer["n"]})
        if answer["n"] < 2:
            yield page.request("", json={"from": answer["n"] + 1}, safe=True)

    return site


def _hits(website: Website, path: str) -> Any:
    return f'{{"n": {website.body["from"]}}}' if website.body else 405


POSTED = Scenario(
    "pages that are posted for", lambda: _world({"/search": _hits}, _searching()), crawl,
    lambda world: Truth({("hit", str(n)): (1, {"n": n}) for n in range(3)}, {"/search": DONE}),
)  # fmt: skip

# -- a login

INSIDE = 3  # pages that one session may see


def _members(website: Website, path: str) -> Any:
    """A page for members. Strangers are sent to the login, and do not count as visitors of the page."""
    seen = website.memory.setdefault("seen", {})
    if not website.cookie or seen.get(website.cookie, 0) >= INSIDE:
        website.log[path] -= 1
        return "/login"
    seen[website.cookie] = seen.get(website.cookie, 0) + 1
    if path == "/members":
        return '<a href="/m/1"></a><a href="/m/2"></a><a href="/m/3"></a>'
    return f"<b>{path[-1]}</b>"


def _club() -> Site:
    site = _site(f"{HOME}/members")

    @site.login
    def login(session: Any) -> None:
        session.enter()

    @site.logged_out
    def logged_out(page: Page) -> bool:
        return page.headers.get("location") == "/login"

    @site.page("/members")
    def members(page: Page) -> Any:
        yield from page.links()

    @site.page("/m/{n}")
    def member(page: Page) -> Any:
        yield Record("member", page.params["n"], {"n": page.one("b")})

    return site


CLUB = {"/members": _members} | {f"/m/{n}": _members for n in (1, 2, 3)}
LOGIN = Scenario(
    "a login whose session ends", lambda: _world(CLUB, _club()), crawl,
    lambda world: Truth({("member", str(n)): (1, {"n": str(n)}) for n in (1, 2, 3)}, dict.fromkeys(CLUB, DONE)),
)  # fmt: skip

# -- a redirect within a lease and what is not there any more


def _bounces(website: Website, path: str) -> Any:
    """Sends each visitor back once."""
    website.memory["bounced"] = not website.memory.get("bounced")
    return "/b" if website.memory["bounced"] else '<a href="/p/1">'


def _bouncing() -> Site:
    site = _site(f"{HOME}/b")

    @site.page("/b")
    def bouncing(page: Page) -> Any:
        yield Record("page", "b", {})
        yield from page.links()

    return site


def _new_bounces() -> World:
    world = _world({"/b": _bounces, "/p/1": "<p>"}, _bouncing())
    world.allowed["/b"] += 2  # each of the two kills that are tried repeats both requests
    return world


BOUNCED = Scenario(
    "a redirect to the same page", _new_bounces, crawl,
    lambda world: Truth({("page", "b"): (1, {})}, {"/b": DONE, "/p/1": DONE}),
)  # fmt: skip


def _listings() -> Site:
    site = _site(f"{HOME}/", f"{HOME}/l/1", f"{HOME}/l/2", f"{HOME}/x")

    @site.page("/l/{n}", complete=True)
    def listing(page: Page) -> Any:
        for name in page.all("li"):
            yield Record("thing", name, {})

    @site.page("/x")
    def thing(page: Page) -> Any:
        yield Record("thing", "x", {})

    return site


SHARED = {"/": "<p>", "/l/1": "<li>a</li><li>b</li>", "/l/2": "<li>b</li><li>c</li>", "/x": "<p>"}


def _two_rounds(world: World, token: str) -> None:
    for round_ in (2, 3):
        crawl(world, token, round_=round_)


VANISHED = Scenario(
    "what is not there any more",
    lambda: _after_a_round(_world(SHARED, _listings()), _l_1="<li>b</li>", _l_2=410, _x="/"),
    _two_rounds,
    lambda world: Truth(
        {("thing", "a"): (2, None), ("thing", "b"): (1, {}), ("thing", "c"): (2, None), ("thing", "x"): (2, None)},
        {"/": DONE, "/l/1": DONE, "/l/2": "gone", "/x": "gone"},
    ),
)  # fmt: skip


# -- due again by themselves


DAY = 86_400_000


def _refreshing() -> Site:
    site = _site(f"{HOME}/", f"{HOME}/p/1", f"{HOME}/p/2")

    @site.page("/p/{n}", refresh="1d")
    def product(page: Page) -> Any:
        yield Record("product", page.params["n"], {"price": page.one("p")})

    return site


def _a_day_later() -> World:
    world = _after_a_round(_world({"/": "<p>", "/p/1": "<p>1", "/p/2": "<p>2"}, _refreshing()), _p_1="<p>3")
    world.clock.ms += DAY
    return world


def _let_refresh(world: World, token: str) -> None:
    with Process(world, token) as process:
        periods = process.site.periods
        assert periods is not None
        process.recover()
        refreshing.reschedule(process.store, periods, process.now())
        refreshing.make_due(process.store, process.now(), periods.longest)
        process.relay()
        work(process, process.worker())


REFRESHED = Scenario(
    "pages that are due again by themselves", _a_day_later, _let_refresh,
    lambda world: Truth(
        {("product", "1"): (2, {"price": "3"}), ("product", "2"): (1, {"price": "2"})},
        {"/": DONE, "/p/1": DONE, "/p/2": DONE},
    ),
)  # fmt: skip

# -- paused and resumed


def _pause_and_resume(world: World, token: str) -> None:
    """Two commands beside a worker, in one process: killed anywhere, the crawl is paused or it is not."""
    with Process(world, token) as process:
        process.recover()
        enqueue.seeds(process.store, process.site.entries, process.rules, now=process.now())
        worker = process.worker()
        worker.turn()
        for paused in (True, False):
            pausing.crawl(process.store, paused, now=process.now())
            (host,) = pausing.named(process.store, "127.0.0.1")
            pausing.host(process.store, [host], paused, now=process.now())
            process.relay()
            worker.turn()
        work(process, worker)
        rounds.finish(process.store, process.now())
        process.relay()


PAUSED = Scenario(
    "a pause", lambda: _world({"/": "<p>", "/p/1": "<p>1", "/p/2": "<p>2"}, _refreshing()), _pause_and_resume,
    lambda world: Truth(
        {("product", "1"): (1, {"price": "1"}), ("product", "2"): (1, {"price": "2"})},
        {"/": DONE, "/p/1": DONE, "/p/2": DONE},
    ),
)  # fmt: skip

# -- given up, retried; forgotten


def _retry(world: World, token: str) -> None:
    with Process(world, token) as process:
        process.recover()
        dead.retry(process.store, dead.Which(), now=process.now())
        process.relay()
        work(process, process.worker())
        rounds.finish(process.store, process.now())
        process.relay()


RETRIED = Scenario(
    "dead pages that are retried",
    lambda: _after_a_round(_world({"/": "<p>", "/p/1": 401, "/p/2": "<p>2"}, _refreshing()), _p_1="<p>1"),
    _retry,
    lambda world: Truth(
        {("product", "1"): (1, {"price": "1"}), ("product", "2"): (1, {"price": "2"})},
        {"/": DONE, "/p/1": DONE, "/p/2": DONE},
    ),
)  # fmt: skip


def _forget(world: World, token: str) -> None:
    """Forget a page, and crawl another round, in which it is found again."""
    with Process(world, token) as process:
        process.recover()
        forgetting.forget(process.store, forgetting.named(process.store, f"{HOME}/p/1"), now=process.now())
        process.relay()
    crawl(world, token, round_=2)


FORGOTTEN = Scenario(
    "a page that is forgotten",
    lambda: _after_a_round(_world({"/": "<p>", "/p/1": "<p>1", "/p/2": "<p>2"}, _refreshing())),
    _forget,
    lambda world: Truth(
        {("product", "1"): (2, None), ("product", "2"): (1, {"price": "2"})},
        {"/": DONE, "/p/1": "dead", "/p/2": DONE},
    ),
)  # fmt: skip

AUTHORED = [
    REFRESHED,
    RETRIED,
    FORGOTTEN,
    PAUSED,
    BOUNCED,
    VANISHED,
    HANDED,
    TAKEN_AWAY,
    TOKENS,
    TOKENS_AGAIN,
    REQUIRED,
    REJECTED,
    HEALED,
    POSTED,
    LOGIN,
]
