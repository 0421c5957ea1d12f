"""Slices over real SQL, a real server and threads: how they begin, end and hand over."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from consuming import BASE, Bench, html, shop

from limpet_consumers.http import Request, Response
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
