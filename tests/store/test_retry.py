"""When to try again: pure functions, and what a page's tries come to."""

from __future__ import annotations

import random

import pytest

from limpet_store import retry
from limpet_store.outcome import Limits
from limpet_store.retry import DAY, HOUR, MINUTE, SECOND

JITTERS = (0.0, 0.3, 1.0)


@pytest.mark.parametrize("asked", [None, 0, -5, 7_000])
def test_no_retry_after_makes_a_block_shorter_than_ours(asked: int | None) -> None:
    assert retry.block(1, asked, 0.0, 1) == 30 * SECOND


@pytest.mark.parametrize("jitter", JITTERS)
def test_a_block_is_as_long_as_the_host_says_and_a_day_at_most(jitter: float) -> None:
    assert retry.block(1, 2 * HOUR, jitter, 1) == 2 * HOUR
    assert retry.block(1, 99_999_999_000, jitter, 1) == DAY
    assert retry.block(1, 99_999_999_000, jitter, 1) < retry.LONGEST


@pytest.mark.parametrize("jitter", JITTERS)
def test_rests_and_blocks_double_up_to_half_an_hour(jitter: float) -> None:
    rests = [retry.rest(n, jitter, 1) for n in range(1, 12)]
    blocks = [retry.block(n, None, jitter, 1) for n in range(1, 12)]
    for waits, first in ((rests, MINUTE), (blocks, 30 * SECOND)):
        assert waits == sorted(waits)
        assert first <= waits[0] <= 1.25 * first
        assert waits[1] == 2 * waits[0]
        assert waits[-1] == 30 * MINUTE
    assert retry.rest(10**6, jitter, 1) == 30 * MINUTE


def test_jitter_spreads_what_failed_at_the_same_time() -> None:
    drawn = random.Random(1)
    waits = {retry.page_delay(1, drawn.random(), 1) for _ in range(100)}
    assert len(waits) > 50
    assert min(waits) >= 10 * SECOND


@pytest.mark.parametrize("jitter", JITTERS)
def test_five_tries_are_spread_over_an_hour_at_least(jitter: float) -> None:
    waits = [retry.page_delay(failures, jitter, 1) for failures in range(1, Limits().max_attempts)]
    assert len(waits) == 4
    assert HOUR < sum(waits) < 2 * HOUR


@pytest.mark.parametrize("began", [0, 1, 9, 60, 600])
def test_no_outage_of_ten_minutes_takes_all_five_tries_of_a_page(began: int) -> None:
    """Were the page to pay for each of its failures, whenever in its own life the outage begins."""
    outage = (began * SECOND, began * SECOND + 10 * MINUTE)
    at, failures = 0, 0
    while failures < Limits().max_attempts:
        if not outage[0] <= at < outage[1]:
            return
        failures += 1
        at += retry.page_delay(failures, 0.0, 1)
    pytest.fail("dead")


def test_all_times_shrink_with_the_scale() -> None:
    assert retry.page_delay(1, 0.0, 0.001) == 10
    assert retry.rest(1, 0.0, 0.001) == 60
    assert retry.block(1, DAY, 0.0, 0.001) == DAY // 1000
