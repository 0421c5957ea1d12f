"""L6: whatever happened in whatever order, one quiet round later everything is as the site says."""

from __future__ import annotations

import os
from functools import partial

from crash.children import Children
from crash.histories import play

SEED = os.environ.get("CRASH_SEED")
HISTORIES = int(os.environ.get("CRASH_HISTORIES", "40"))


def test_random_histories_end_right() -> None:
    numbers = [int(SEED)] if SEED else range(HISTORIES)
    answers = list(Children().each((str(n), partial(play, n)) for n in numbers))
    failures = [f"{answer}\n    CRASH_SEED={n} pytest '{__file__}'" for n, answer in answers if answer]
    assert not failures, f"{len(failures)} of {len(answers)} histories\n" + "\n".join(failures[:5])
    assert answers
