"""A shop of a size of the test's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from limpet.demo.shop import Shop, ShopServer

OpenShop = Callable[..., ShopServer]


@pytest.fixture
def open_shop(tmp_path: Path) -> Iterator[OpenShop]:
    """`open_shop(listings, products, latency=0)` serves until the test's end."""
    with ExitStack() as stack:

        def opened(listings: int, products: int, latency: float = 0.0) -> ShopServer:
            server = ShopServer(Shop(listings, products), log_path=tmp_path / "site.log")
            shop = stack.enter_context(server)
            shop.delay_answers(latency)
            return shop

        yield opened
