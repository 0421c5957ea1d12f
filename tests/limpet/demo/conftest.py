"""A small shop for each test, on real HTTP."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from limpet.demo.shop import Shop, ShopServer


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[ShopServer]:
    with ShopServer(Shop(listings=3, products=10), log_path=tmp_path / "site.log") as server:
        yield server
