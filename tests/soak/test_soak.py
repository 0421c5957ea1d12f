"""A crawl of two pools under random kills, stops and wipes: `make prove` for minutes, `make test` for seconds."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from e2e.conftest import OpenShop
from soak.chaos import Chaos, survives

pytest_plugins = ["e2e.conftest"]

SECONDS = float(os.environ.get("LIMPET_SOAK_SECONDS", "600"))


@pytest.mark.prove
def test_ten_minutes_of_kills_stops_and_wipes_leave_nothing_wrong(
    open_shop: OpenShop, tmp_path: Path
) -> None:
    shop, seed = open_shop(20, 1000, 0.002), int(time.time())
    print(f"\nseed {seed}")
    violations, line = survives(tmp_path, shop, SECONDS, seed)
    print(line)
    assert violations == []


def test_ten_seconds_of_kills_stops_and_wipes_leave_nothing_wrong(
    open_shop: OpenShop, tmp_path: Path
) -> None:
    violations, line = survives(tmp_path, open_shop(10, 200, 0.005), 10.0, seed=1)
    print(line)
    assert violations == []


def test_the_soak_sees_what_is_wrong(open_shop: OpenShop, tmp_path: Path) -> None:
    shop = open_shop(2, 20)
    with Chaos(tmp_path, shop, seed=1) as chaos:
        chaos.run(0.1)
        chaos.settle()
        assert chaos.violations() == []
        shop.change_prices([3])
        with chaos.crawl.store() as store, store.db.write():
            store.db.run("UPDATE pages SET state = 'dead' WHERE id = 5")
        shop.log_path.write_bytes(shop.log_path.read_bytes() * 2)
        wrong = " / ".join(chaos.violations())
    for sign in ("repeats", "1 pages dead", "rows wrong"):
        assert sign in wrong, wrong
