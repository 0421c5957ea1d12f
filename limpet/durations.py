"""Durations on the command line: seconds, or a number with s, m, h or d."""

from __future__ import annotations

import math
from typing import Any

import click

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


class Duration(click.ParamType):  # type: ignore[type-arg]  # generic only in newer clicks
    """Reads `90`, `90s`, `5m`, `24h` or `7d` as seconds."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, (int, float)):
            return float(value)
        text = str(value).strip()
        number, unit = (text[:-1], text[-1]) if text[-1:] in UNITS else (text, "s")
        try:
            found = float(number) * UNITS[unit]
        except ValueError:
            found = math.nan
        if not (0 <= found < math.inf):
            self.fail(
                f"{value!r} is no duration: seconds, or a number with s, m, h or d (90s, 5m, 24h)", param, ctx
            )
        return found
