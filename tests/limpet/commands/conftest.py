"""A shop, and a crawl of it in which two prices changed: made once, copied for each test that wants it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from front_helpers import limpet, write_site

from limpet.demo.shop import Shop, ShopServer

CHANGED = (1, 3)  # the products whose price changes between the two rounds


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ShopServer]:
    """Two listings, six products."""
    log = tmp_path_factory.mktemp("shop") / "log"
    with ShopServer(Shop(listings=2, products=6), log_path=log) as server:
        yield server


@pytest.fixture
def site(shop: ShopServer, tmp_path: Path) -> Path:
    """A site file that was never crawled."""
    return write_site(tmp_path / "site", shop.first_page)


@pytest.fixture(scope="session")
def _two_rounds(shop: ShopServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    site = write_site(tmp_path_factory.mktemp("crawled") / "site", shop.first_page)
    assert limpet("crawl", site, "--workers", 1).code == 0
    shop.change_prices(CHANGED)
    assert limpet("crawl", site, "--workers", 1, "--refresh").code == 0
    return site


@pytest.fixture
def crawled(_two_rounds: Path, tmp_path: Path) -> Path:
    """A site file beside two finished rounds: six records, two of them in version 2."""
    shutil.copytree(_two_rounds.parent, tmp_path / "crawled")
    return tmp_path / "crawled" / "shop.py"
