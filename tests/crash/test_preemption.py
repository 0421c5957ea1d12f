"""L3: worker A stands still between two calls, at each place in turn; others act from start to end; A goes on."""

from __future__ import annotations

import os

import pytest
from crash.meanwhile import cases
from crash.preempt import Preemption, preempt

ONLY = os.environ.get("CRASH_AT", "")  # "#n", from the failure
EVERY = 1 if os.environ.get("CRASH_DEEP") else 5
ALL = ("a page that comes back, meanwhile late worker",)  # where the quick run leaves no point out either


@pytest.mark.parametrize(
    ("nth", "case"), [pytest.param(*each, id=each[1].name) for each in enumerate(cases())]
)
def test_whoever_acts_meanwhile_the_crawl_ends_right(
    nth: int, case: Preemption, request: pytest.FixtureRequest
) -> None:
    """A quick run tries other points of one scenario with each of those who act: together they leave few out."""
    every = 1 if case.name in ALL else EVERY
    report = preempt(case, only=ONLY, every=every, first=1 + nth % every)
    assert not report.failures, report.text(request.node.nodeid)
    assert report.points >= 15 or ONLY, "the layer looked at nothing"
