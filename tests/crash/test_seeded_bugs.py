"""L8: a layer that cannot fail proves nothing. Each known mistake must be seen by the layer named for it."""

from __future__ import annotations

import pytest
from crash.authored import AUTHORED
from crash.explore import explore
from crash.meanwhile import cases
from crash.mutants import MUTANTS, Mutant
from crash.preempt import preempt
from crash.scenarios import SCENARIOS, TWICE
from crash.world import Broken


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda each: each.name)
def test_a_known_mistake_is_seen_by_its_layer(mutant: Mutant) -> None:
    with mutant.broken():
        failures = _failures(mutant)
    assert failures, f"{mutant.name}: not seen"


def _failures(mutant: Mutant) -> list[tuple[str, str]]:
    if mutant.layer == "preempt":
        case = next(each for each in cases() if each.name == mutant.where)
        return preempt(case, enough=1).failures
    scenario = next(each for each in (*SCENARIOS, *TWICE, *AUTHORED) if each.name == mutant.where)
    try:
        return explore(scenario, enough=1).failures
    except (AssertionError, Broken) as error:  # it fails even when nobody is killed
        return [("", str(error))]
