"""L1: kill -9 before every line of ours at which the world is new; then the same command again, and every invariant."""

from __future__ import annotations

import os

import pytest
from crash.authored import AUTHORED
from crash.explore import Scenario, explore
from crash.scenarios import SCENARIOS, TWICE

ONLY = os.environ.get("CRASH_AT", "")  # a point that a failure named: only what leads there is tried
ALL = [*SCENARIOS, *AUTHORED]


@pytest.mark.parametrize("scenario", ALL, ids=lambda each: each.name)
def test_a_kill_at_any_line_changes_nothing_in_the_end(
    scenario: Scenario, request: pytest.FixtureRequest
) -> None:
    report = explore(scenario, only=ONLY)
    assert not report.failures, report.text(request.node.nodeid)
    assert report.points >= 3 or ONLY, "the layer looked at nothing"


@pytest.mark.parametrize(
    "scenario", ALL if os.environ.get("CRASH_DEEP") else TWICE, ids=lambda each: each.name
)
def test_a_second_kill_while_recovering_changes_nothing_either(
    scenario: Scenario, request: pytest.FixtureRequest
) -> None:
    report = explore(scenario, deaths=2, only=ONLY)
    assert not report.failures, report.text(request.node.nodeid)
    assert report.points > 2 or ONLY, "the layer looked at nothing"
