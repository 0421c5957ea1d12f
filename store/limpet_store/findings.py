"""What a check of an invariant finds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


class Skipped(Exception):
    """A check that could not be made now, and why."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check found: `ok` is None when it could not be made; `text` is an example, or why not."""

    name: str
    ok: bool | None
    text: str = ""


Check = Callable[[], str | None]


def run(name: str, check: Check) -> Finding:
    """One check: it gives an example of what is wrong, or None."""
    try:
        example = check()
    except Skipped as skipped:
        return Finding(name, None, str(skipped))
    return Finding(name, example is None, example or "")
