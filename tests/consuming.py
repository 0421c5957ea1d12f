"""A small site in memory and a worker on it, for tests that drive turns by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from limpet import Page, Record, Site
from limpet_consumers.http import FetchFailed, Request, Response
from limpet_consumers.turn import Worker
from limpet_producer import enqueue
from limpet_store import rounds
from limpet_store.frontier import Frontier
from limpet_store.items import Link
from limpet_store.server import Server
from limpet_store.store import Store, wall_ms
from limpet_store.witness import Witness

BASE = "http://127.0.0.1"
Answer = Response | FetchFailed | Callable[[Request], Response]


def html(body: str, status: int = 200, **headers: str) -> Response:
    named = {"content-type": "text/html; charset=utf-8"} | {
        k.replace("_", "-"): v for k, v in headers.items()
    }
    return Response("", status, named, body.encode())


def moved(to: str, status: int = 302) -> Response:
    return html("", status, location=to)


@dataclass
class Web:
    """The Http port over a dict; `log` is the site's own."""

    answers: dict[str, Answer]
    log: list[str] = field(default_factory=list)

    def fetch(self, request: Request, deadline: float) -> Response:
        path = request.url.removeprefix(BASE)
        self.log.append(path)
        answer = self.answers.get(path, html("", 404))
        if isinstance(answer, FetchFailed):
            raise answer
        return answer if isinstance(answer, Response) else answer(request)


def shop(**options: Any) -> Site:
    """Listings of products, links out of scope, and a handler that fails on demand."""
    settings: dict[str, Any] = {"robots": False, "allow_private": True} | options
    site = Site("shop", [f"{BASE}/"], **settings)

    @site.page("/")
    def listing(page: Page) -> Any:
        yield from page.links()

    @site.page("/p/{n}")
    def product(page: Page) -> Any:
        yield Record("product", page.params["n"], {"price": page.one(".price::text")})

    @site.page("/bad")
    def bad(page: Page) -> Any:
        raise RuntimeError("a handler's bug")

    return site


class Bench:
    """One store, one server, one site; workers as many as wanted."""

    def __init__(
        self, store: Store, server: Server, answers: Mapping[str, Answer], site: Site | None = None
    ) -> None:
        self.store, self.server = store, server
        self.web = Web(dict(answers))
        self.site = site or shop()
        self.witness = Witness(store.db.path)
        worker = self.worker("seeder")
        enqueue.seeds(store, self.site.entries, worker.hosts, now=wall_ms())
        worker.relay()

    def worker(self, token: str = "w", **options: Any) -> Worker:
        frontier = Frontier(self.server, self.store.crawl, self.store.source.store_id)
        return Worker(self.store, frontier, self.web, self.site, token=token, witness=self.witness, **options)

    def crawl(self, worker: Worker | None = None, turns: int = 500) -> Worker:
        """Turns until nothing is pending that is due now."""
        worker = worker or self.worker()
        for _ in range(turns):
            if not worker.turn() and (worker.progress.next_at or 2**60) > worker.clock.now() + 50:
                break
        return worker

    def page(self, path: str, *columns: str) -> tuple[Any, ...]:
        return self.page_of(BASE + path, *columns)

    def page_of(self, key: str, *columns: str) -> tuple[Any, ...]:
        found = self.store.db.one(f"SELECT {', '.join(columns)} FROM pages WHERE key = ?", (key,))
        assert found is not None, f"{key} is no page"
        return found

    def records(self) -> dict[str, str]:
        return dict(self.store.db.rows("SELECT key, data FROM records WHERE gone = 0"))

    def answers_to(self, path: str, priority: int = 0) -> None:
        """One more page, enqueued, that has nothing in it."""
        self.web.answers[path] = html("<p>")
        worker = self.worker("enqueuer")
        enqueue.seeds(self.store, [Link(BASE + path, priority=priority)], worker.hosts, now=wall_ms())
        worker.relay()

    def path_of(self, page: int) -> str:
        return str(self.store.db.value("SELECT canonical FROM pages WHERE id = ?", (page,))).removeprefix(
            BASE
        )

    def again(self) -> None:
        """A new round over everything."""
        rounds.finish(self.store, wall_ms())
        rounds.start(self.store, "test", wall_ms())
        rounds.refresh(self.store, wall_ms())
