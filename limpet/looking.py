"""Look at a crawl's server without starting it: what `status`, `verify`, `doctor` and `enqueue` do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from limpet.engine import Engine
from limpet_store.errors import ServerRefused
from limpet_store.frontier import Frontier
from limpet_store.server import Server, ServerFacts, check_server, connect

PATIENCE = 2.0  # seconds to connect and per answer: people wait for it


@dataclass(frozen=True, slots=True)
class Live:
    """A server that answers, and the crawl's frontier on it."""

    url: str
    facts: ServerFacts
    server: Server
    frontier: Frontier


@dataclass(frozen=True, slots=True)
class Glimpse:
    """What was seen: `live`, or None and why. An embedded server that does not run is no trouble."""

    live: Live | None
    trouble: str | None = None


def embedded_url(home: Path) -> str | None:
    """Where the embedded server of `home` listens if it runs; its lock file says it."""
    try:
        path = (home / "valkey.lock").read_text(errors="replace").strip()
    except OSError:
        return None
    return f"unix://{path}" if path else None


def embedded_runs(home: Path) -> bool:
    """Whether the embedded server of `home` answers."""
    url = embedded_url(home)
    try:
        return url is not None and bool(server_facts(url))
    except ServerRefused:
        return False


def server_facts(url: str) -> ServerFacts:
    """What the server at `url` is. Raises ServerRefused."""
    with connect(url, timeout=PATIENCE) as client:
        return check_server(client)


@contextmanager
def glimpse(engine: Engine) -> Iterator[Glimpse]:
    """The crawl's server, if it answers now."""
    url = engine.settings.redis_url or embedded_url(engine.settings.home)
    if url is None:
        yield Glimpse(None)
        return
    try:
        facts = server_facts(url)
    except ServerRefused as error:
        yield Glimpse(None, None if engine.embedded else str(error))
        return
    server = Server(url, timeout=PATIENCE)
    try:
        store_id = engine.store.source.store_id
        yield Glimpse(Live(url, facts, server, Frontier(server, engine.site.name, store_id)))
    finally:
        server.close()
