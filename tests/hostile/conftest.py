"""What the rows share: a connection to the frontier's server, and an empty store to copy."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from limpet_store.server import Server
from limpet_store.store import Store


@pytest.fixture(scope="session")
def one_server(valkey_url: str) -> Iterator[Server]:
    server = Server(valkey_url)
    yield server
    server.close()


@pytest.fixture(scope="session")
def empty_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("hostile") / "hostile.db"
    Store.open(path, "hostile").close()
    return path


@pytest.fixture
def server(one_server: Server) -> Server:
    """The server, emptied."""
    one_server.command("FLUSHALL")
    return one_server


@pytest.fixture
def new_store(empty_store: Path, tmp_path: Path) -> Path:
    """A store that nothing has happened in."""
    return Path(shutil.copy(empty_store, tmp_path))
