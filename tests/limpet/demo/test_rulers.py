"""The yardsticks of the benchmark measure what they say."""

import importlib.util
import json
import sqlite3
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest

from limpet.demo.shop import Shop, ShopServer

BENCH = Path(__file__).parents[3] / "bench"
LOOP = [sys.executable, str(BENCH / "article_loop.py")]


@pytest.fixture(scope="module")
def cpu() -> ModuleType:
    if sys.platform != "linux":
        pytest.skip("adopting orphans is Linux only")
    spec = importlib.util.spec_from_file_location("cpu", BENCH / "cpu.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def stored(database: Path) -> list[dict[str, str]]:
    with sqlite3.connect(database) as db:
        return [json.loads(data) for (data,) in db.execute("SELECT data FROM records")]


def by_url(records: list[dict[str, str]]) -> list[dict[str, str]]:
    return sorted(records, key=lambda record: record["url"])


def test_the_articles_loop_stores_every_product_once_with_one_request_a_page(
    shop: ShopServer, tmp_path: Path
) -> None:
    subprocess.run([*LOOP, shop.first_page, tmp_path / "db"], check=True, timeout=60)
    assert by_url(stored(tmp_path / "db")) == by_url(list(shop.expected().values()))
    assert set(Counter(seen.path for seen in shop.log()).values()) == {1}
    assert len(shop.log()) == shop.shop.pages


def test_the_articles_loop_asks_for_nothing_when_everything_is_finished(
    shop: ShopServer, tmp_path: Path
) -> None:
    subprocess.run([*LOOP, shop.first_page, tmp_path / "db"], check=True, timeout=60)
    mark = shop.mark()
    subprocess.run([*LOOP, shop.first_page, tmp_path / "db"], check=True, timeout=60)
    assert shop.requests_since(mark) == []


def test_the_articles_loop_survives_a_kill_as_the_article_says(tmp_path: Path) -> None:
    with ShopServer(Shop(2, 40), log_path=tmp_path / "log") as shop:
        shop.delay_answers(0.002)
        killed = subprocess.Popen([*LOOP, shop.first_page, str(tmp_path / "db")])
        shop.wait_for_request(0)
        killed.kill()
        killed.wait()
        expire_leases(tmp_path / "db")
        subprocess.run([*LOOP, shop.first_page, tmp_path / "db"], check=True, timeout=60)
        assert by_url(stored(tmp_path / "db")) == by_url(list(shop.expected().values()))
        assert len(shop.log()) <= shop.shop.pages + 1


def expire_leases(database: Path) -> None:
    db = sqlite3.connect(database)
    db.execute("UPDATE frontier SET leased_until = 0")
    db.commit()
    db.close()


BURN = "import time\nwhile time.process_time() < 0.3: pass\n"
DETACHED = f"""
import os, sys
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execv(sys.executable, [sys.executable, "-c", {BURN!r}])
    os._exit(0)
os.wait()
"""


@pytest.mark.parametrize("program", [BURN, DETACHED], ids=["itself", "a detached grandchild"])
def test_the_time_of_whatever_a_command_starts_is_counted(
    cpu: ModuleType, tmp_path: Path, program: str
) -> None:
    assert cpu.cpu_of([sys.executable, "-c", program], tmp_path / "talk") >= 0.3


def test_a_command_that_fails_is_not_measured(
    cpu: ModuleType, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        cpu.cpu_of([sys.executable, "-c", "1 / 0"], tmp_path / "talk")
    assert "ZeroDivisionError" in capfd.readouterr().err


def test_a_command_that_leaves_a_process_running_is_not_measured(
    cpu: ModuleType, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cpu, "PATIENCE", 0.05)
    staying = DETACHED.replace(repr(BURN), repr("import time; time.sleep(600)"))
    with pytest.raises(SystemExit):
        cpu.cpu_of([sys.executable, "-c", staying], tmp_path / "talk")
    assert "still running" in capfd.readouterr().err


def test_the_slope_leaves_start_up_out(cpu: ModuleType) -> None:
    slope, start = cpu.line_through((525, 1.025), (10_500, 11.0))
    assert slope == pytest.approx(0.001)
    assert start == pytest.approx(0.5)


def test_a_crawl_that_repeats_or_leaves_out_a_page_is_refused(cpu: ModuleType) -> None:
    def requests(*paths: str) -> list[object]:
        return [cpu.Request(0.0, 1, 200, path) for path in paths]

    cpu.check(requests("/robots.txt", "/list/0", "/product/0"), 2, "limpet")
    for wrong in (requests("/list/0"), requests("/list/0", "/list/0"), requests("/list/0", "/a", "/a")):
        with pytest.raises(SystemExit, match="expected 2"):
            cpu.check(wrong, 2, "limpet")
