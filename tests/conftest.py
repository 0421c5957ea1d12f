"""What tests of several folders share: servers, stores, and short ways to make pages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import fakeredis
import pytest

from limpet_store.server import Server
from limpet_store.store import Store
from limpet_store.valkey import ensure_server, stop_server


@pytest.fixture(scope="session")
def valkey_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real server for the whole run, the embedded one."""
    home = tmp_path_factory.mktemp("valkey")
    yield ensure_server(home).url
    stop_server(home)


@pytest.fixture
def real_server(valkey_url: str) -> Iterator[Server]:
    """A connection to the real server, emptied."""
    server = Server(valkey_url)
    server.command("FLUSHALL")
    yield server
    server.close()


@pytest.fixture(params=["twin", "real"])
def any_server(request: pytest.FixtureRequest) -> Server:
    """The same expected replies from fakeredis and from the real server."""
    if request.param == "real":
        found: Server = request.getfixturevalue("real_server")
        return found
    return Server.from_client(fakeredis.FakeStrictRedis(server=fakeredis.FakeServer()))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A new store of the crawl "shop"."""
    found = Store.open(tmp_path / "shop.db", "shop")
    yield found
    found.close()
