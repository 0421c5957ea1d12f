"""Slices over real SQL, a real server and threads: how they begin, end and hand over."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from consuming import BASE, Bench, html, shop

from limpet_consumers import slices
from limpet_consumers.http import Request, Response
from limpet_consumers.process import resident
from limpet_consumers.slices import Place, Slice
from limpet_store.server import Server
from limpet_store.store import Store

PAGES = {f"/p/{n}": html(f'<b class="price">{n}</b>') for n in range(12)}
SHOP: dict[str, Any] = {"/": html("".join(f'<a href="{path}">x</a>' for path in PAGES)), **PAGES}


@pytest.fixture
def bench(store: Store, real_server: Server) -> Bench:
    return Bench(store, real_server, SHOP)


def slice_of(bench: Bench, url: str, **options: Any) -> Slice:
    place = Place(crawl="shop", store=Path(bench.store.db.path), server_url=url)
    return Slice(place, bench.site, token="w", http=bench.web, **options)


def test_a_slice_ends_when_nothing_is_left(bench: Bench, valkey_url: str) -> None:
    done = slice_of(bench, valkey_url).run(60)
    assert done["outcomes"] == 13
    assert len(bench.records()) == 12


def test_the_end_of_a_slice_repeats_no_request(bench: Bench, valkey_url: str) -> None:
    """Slices much shorter than a page: what is in flight at the end of one is finished, not asked again."""
    bench.site = shop()
    bench.site.tune(threads=4)
    gate = threading.Event()
    answers = dict(SHOP)

    def slow(request: Request) -> Response:
        gate.wait(0.05)
        found = answers[request.url.removeprefix(BASE)]
        assert isinstance(found, Response)
        return found

    bench.web.answers = dict.fromkeys(answers, slow)
    for _ in range(200):
        slice_of(bench, valkey_url).run(0.01)
        if len(bench.records()) == 12:
            break
    assert sorted(bench.web.log) == sorted(SHOP)


def test_a_slice_that_is_told_to_stop_puts_back_what_is_in_flight(bench: Bench, valkey_url: str) -> None:
    bench.site = shop()
    bench.site.tune(threads=4)
    stop, hang = threading.Event(), threading.Event()

    def hanging(request: Request) -> Response:
        stop.set()
        hang.wait(30)
        return html("")

    bench.web.answers["/"] = hanging
    slice_of(bench, valkey_url, should_stop=stop.is_set).run(60)
    hang.set()
    assert bench.page("/", "state", "open", "failures", "lost") == ("pending", 0, 0, 0)


def test_the_number_in_flight_is_handed_to_the_next_slice(bench: Bench, valkey_url: str) -> None:
    from dataclasses import replace

    slow = {path: replace(answer, wait=0.5) for path, answer in SHOP.items()}
    bench.web.answers = dict(slow)
    slice_of(bench, valkey_url).run(60)
    assert bench.worker().frontier.pace() > 1


def test_a_slice_ends_after_so_many_pages_and_the_next_goes_on(bench: Bench, valkey_url: str) -> None:
    bench.site.tune(slice_pages=5, group=1)
    done = [slice_of(bench, valkey_url).run(60)["outcomes"] for _ in range(3)]
    assert done[0] in (5, 6), "what is leased already is finished"
    assert sum(done) == 13
    assert sorted(bench.web.log) == sorted(SHOP), "nothing is asked for twice"


def test_a_slice_that_holds_too_much_memory_gives_way_and_no_page_is_lost(
    bench: Bench, valkey_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit is what the process holds when the third page has been read, and it is looked at after each turn."""
    monkeypatch.setattr(slices, "WEIGH_EVERY", 0.0)
    bench.site.tune(max_memory=resident() // 1_000_000 + 100, group=1)
    kept: list[bytes] = []

    def large(request: Request) -> Response:
        kept.append(b"x" * 40_000_000)
        return html('<b class="price">1</b>')

    bench.web.answers |= dict.fromkeys(PAGES, large)
    first = slice_of(bench, valkey_url).run(60)["outcomes"]
    assert 3 <= first <= 6, first
    kept.clear()
    bench.site.tune(max_memory=100_000)
    assert slice_of(bench, valkey_url).run(60)["outcomes"] == 13 - first
    assert sorted(bench.web.log) == sorted(SHOP)
