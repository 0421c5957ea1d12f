"""Metrics: what a scrape says is what the store says, over kills, and whatever is away."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from front_helpers import CLEAN, ask, command, eventually, limpet
from prometheus_client.exposition import generate_latest
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import CollectorRegistry

from limpet import gauges, metrics, settings
from limpet.gauges import Counted, Gauges
from limpet.metrics import Exposition, Totals
from limpet_store.census import Census
from limpet_store.errors import StoreUnavailable
from limpet_store.frontier import InFrontier
from limpet_store.store import Store

ROOT = Path(__file__).parents[2]
SITE = """\
from limpet import Page, Record, Site

site = Site("shop", seeds=["{url}/"], allow_private=True, robots=False)
site.tune(lease=3)


@site.page("/")
def index(page: Page):
    yield from page.links()


@site.page("/p/{{n}}")
def product(page: Page):
    yield Record("product", page.params["n"], {{"price": "1"}})
"""
Samples = dict[tuple[str, ...], float]


def samples(text: str) -> Samples:
    """(name, label values but for the crawl's, in the order of their names) -> value."""
    found: Samples = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels = [value for name, value in sorted(sample.labels.items()) if name != "crawl"]
            assert sample.labels.get("crawl") == "shop"
            key = (sample.name.removeprefix("limpet_"), *labels)
            assert key not in found
            found[key] = sample.value
    return found


def scrape(url: str) -> Samples:
    with urllib.request.urlopen(url, timeout=10) as answer:
        return samples(answer.read().decode())


# -- the exposition


def exposed(totals: Totals, *seen: gauges.Sample) -> Samples:
    registry = CollectorRegistry()
    registry.register(Exposition("shop", totals, lambda: seen))
    return samples(generate_latest(registry).decode())


def test_what_workers_report_is_added_up() -> None:
    totals = Totals()
    totals.take('[["pages", "done", "", 2], ["pages", "dead", "HTTP status", 1], ["leases", 4]]')
    totals.take('[["pages", "done", "", 3], ["nobody_knows", 1]]')
    totals.take("no report")
    found = exposed(totals)
    assert found["pages_total", "done", ""] == 5
    assert found["pages_total", "dead", "HTTP status"] == 1
    assert found["leases_total",] == 4
    assert found["repeats_total",] == 0, "a counter without labels is there from the beginning"


def test_a_histogram_has_cumulative_buckets_a_sum_and_a_count() -> None:
    totals = Totals()
    totals.take(
        '[["group_pages", "0", 2], ["group_pages", "2", 1], ["group_pages", "7", 1], ["group_pages", "sum", 105]]'
    )
    found = exposed(totals)
    at = [found["group_pages_bucket", bound] for bound in ("1.0", "2.0", "4.0", "64.0", "+Inf")]
    assert at == [2, 2, 3, 3, 4]
    assert (found["group_pages_count",], found["group_pages_sum",]) == (4, 105)


def test_every_family_has_its_help_and_is_in_the_operating_guide_and_no_other_is() -> None:
    registry = CollectorRegistry()
    registry.register(Exposition("shop", Totals(), lambda: ()))
    shown = {
        family.name: family for family in text_string_to_metric_families(generate_latest(registry).decode())
    }
    assert all(family.documentation for family in shown.values())
    guide = (ROOT / "docs/operating.md").read_text("utf-8")
    told = dict(re.findall(r"^\| `(limpet_\w+)`[^|]*\| (\w+) \|", guide, re.M))
    kinds = {name + "_total" * (family.type == "counter"): family.type for name, family in shown.items()}
    assert told == kinds
    for names, table in ((metrics.COUNTERS, "_total"), (metrics.GAUGES, "")):
        for name, (_, labels) in names.items():
            for label in labels:
                row = re.search(rf"^\| `limpet_{name}{table}`.*$", guide, re.M)
                assert row is not None
                assert f"`{label}`" in row[0], f"{name}: {label}"


# -- the gauges


def chosen(tmp_path: Path, **flags: Any) -> settings.Settings:
    return settings.load("shop", tmp_path / "shop.py", flags={"store_path": tmp_path / "shop.db", **flags})


def looked(found: Gauges) -> Samples:
    return {(name, *labels): value for name, labels, value in found.look()}


def test_without_redis_the_store_is_shown_all_the_same(tmp_path: Path, store: Store) -> None:
    found = looked(Gauges(chosen(tmp_path, redis_url="unix:///nowhere/at/all.sock"), "shop"))
    assert (found["store_up",], found["redis_up",]) == (1, 0)
    assert found["stored_pages", "pending"] == 0
    assert found["round_open",] == 0
    assert ("workers",) not in found
    assert ("frontier_pages", "ready") not in found


def test_without_a_store_the_scrape_is_answered(tmp_path: Path) -> None:
    assert looked(Gauges(chosen(tmp_path), "shop")) == {("store_up",): 0}


def test_a_count_that_takes_long_is_not_waited_for_and_not_repeated_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    go, began = threading.Event(), []
    done = Census(1.0, {}, {}, InFrontier())

    def count() -> Census:
        began.append(1)
        go.wait(10)
        return done

    counted = Counted(count)
    assert counted.latest(0.01) is None
    assert counted.latest(0.01) is None
    go.set()
    assert counted.latest(10) is done
    assert len(began) == 1, "one at a time"
    monkeypatch.setattr(Counted, "RARELY", 10**9)
    assert Counted(count).latest(10) is done
    again = Counted(count)
    assert again.latest(10) is again.latest(10) is done
    assert len(began) == 3, "and not again before ten times as long has passed"


def test_a_count_that_fails_leaves_the_last_one() -> None:
    found = [Census(1.0, {}, {}, None)]

    def count() -> Census:
        if not found:
            raise StoreUnavailable("away")
        return found.pop()

    counted = Counted(count)
    first = counted.latest(10)
    assert first is not None
    eventually(lambda: counted.latest(10) is first and not found)
    counted._due = 0.0
    assert counted.latest(10) is first


# -- a pool


class Shop(ThreadingHTTPServer):
    """An index with `pages` products; `/p/slow` is answered once `released` is set, `/missing` never found."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answers)
        self.released = threading.Event()
        self.asked: list[str] = []
        paths = [*(f"/p/{n}" for n in range(20)), "/missing"]
        self.index = "".join(f'<a href="{path}">x</a>' for path in paths)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, *_: object) -> None:
        pass  # who asked was killed


class Answers(BaseHTTPRequestHandler):
    server: Shop

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        if self.path == "/p/slow":
            self.server.released.wait(30)
        body = f"<html>{self.server.index if self.path == '/' else ''}</html>".encode()
        self.send_response(404 if self.path == "/missing" else 200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def shop() -> Iterator[Shop]:
    with Shop() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.released.set()
        server.shutdown()
        thread.join()


@contextmanager
def consuming(site: Path) -> Iterator[str]:
    """A pool that waits for more, and where its metrics are."""
    words = command("consume", site, "--workers", "1", "--metrics-port", "0")
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True, env=CLEAN) as process:
        assert process.stderr is not None
        try:
            for line in process.stderr:
                if found := re.search(r"metrics at (http://127\.0\.0\.1:\d+/metrics)", line):
                    break
            assert found is not None
            threading.Thread(target=process.stderr.read, daemon=True).start()
            yield found[1]
            process.send_signal(signal.SIGINT)
            process.wait(10)
        finally:
            process.kill()


def horses(site: Path) -> list[int]:
    return [int(path.name.removeprefix("horse-")) for path in (site.parent / ".limpet/run").glob("horse-*")]


def test_over_a_kill_the_counters_are_what_the_store_says(tmp_path: Path, shop: Shop) -> None:
    site = tmp_path / "shop.py"
    site.write_text(SITE.format(url=shop.url))
    assert limpet("enqueue", site, f"{shop.url}/").code == 0
    with consuming(site) as url:
        # All but the slow one is reported before the kill, so nothing of it may be lost.
        eventually(lambda: scrape(url).get(("pages_total", "done", "")) == 21)
        assert limpet("enqueue", site, f"{shop.url}/p/slow").code == 0
        eventually(lambda: "/p/slow" in shop.asked)
        eventually(lambda: scrape(url)["leases_total",] == 23)
        during = scrape(url)
        (horse,) = horses(site)
        os.kill(horse, signal.SIGKILL)
        eventually(lambda: shop.asked.count("/p/slow") == 2)
        shop.released.set()
        eventually(lambda: scrape(url).get(("pages_total", "done", "")) == 22)
        eventually(lambda: scrape(url)["slices",] == 0)
        after = scrape(url)
    assert (during["workers",], during["slices",], during["redis_up",], during["store_up",]) == (1, 1, 1, 1)
    assert (during["round_open",], during["crawl_paused",]) == (1, 0)
    stored = dict(ask(site, "SELECT state, count(*) FROM pages GROUP BY state"))
    assert stored == {"done": 22, "dead": 1}
    assert {key[1]: value for key, value in after.items() if key[0] == "stored_pages" and value} == stored
    assert after["pages_total", "dead", "broken link"] == 1
    ((fence,),) = ask(site, "SELECT fence FROM meta")
    requests = sum(value for key, value in after.items() if key[0] == "requests_total")
    # The killed one's request had no answer yet; its attempt is the one that is repeated.
    assert requests == fence - 1 == len(shop.asked) - 1
    assert after["requests_total", "4xx"] == 1
    assert (after["repeats_total",], after["lease_losses_total",], after["refused_total",]) == (1, 0, 0)
    ((messages, rows),) = ask(site, "SELECT sum(n), count(*) FROM outbox")
    assert after["messages_total",] == 21
    assert messages - 21 in (1, 2), (
        "one for each time that the round was over: before the slow page came, and after"
    )
    assert after["relayed_rows_total",] <= rows
    assert after["outbox_lag_rows",] == 0
    assert after["fetch_seconds_count",] == requests
    assert after["group_pages_sum",] == 23
    assert after["commit_seconds_count",] > 1
    assert after["body_bytes_total",] == len(f"<html>{shop.index}</html>") + 22 * len("<html></html>")
    assert after["rebuilds_total",] == 1
    assert after["worker_deaths_total",] == 0
    assert (after["round_open",], after["queued_tickets",]) == (0, 0)
    assert after["hosts", "free"] == 1
    assert sum(after["frontier_pages", state] for state in ("ready", "leased", "delayed")) == 0


def test_a_busy_port_is_one_line_and_nothing_is_begun(tmp_path: Path) -> None:
    site = tmp_path / "shop.py"
    site.write_text(SITE.format(url="http://127.0.0.1:9"))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ran = limpet("crawl", site, "--metrics-port", port)
        assert ran.code == 2
        assert ran.said == [
            f"limpet: --metrics-port {port}: 127.0.0.1 cannot be listened on: Address already in use"
        ]
    assert not (tmp_path / ".limpet").exists()
    assert limpet("crawl", site, env={"LIMPET_METRICS_PORT": "99999"}).code == 2
    ran = limpet("crawl", site, "--metrics-port", "0", "--metrics-address", "no.such.host.invalid")
    assert ran.code == 2
