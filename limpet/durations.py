"""Durations and shares, as people write them."""

from __future__ import annotations

import math
from typing import Any

import click

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


def seconds_of(text: str) -> float:
    """Reads `90`, `90s`, `5m`, `24h` or `7d`, at least 0. Raises ValueError."""
    number, unit = (text[:-1], text[-1]) if text[-1:] in UNITS else (text, "s")
    found = float(number) * UNITS[unit]
    if not 0 <= found < math.inf:
        raise ValueError(text)
    return found


class Duration(click.ParamType):  # type: ignore[type-arg]  # generic only in newer clicks
    """Reads `90`, `90s`, `5m`, `24h` or `7d` as seconds."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, (int, float)):
            return float(value)
        try:
            return seconds_of(str(value).strip())
        except ValueError:
            self.fail(
                f"{value!r} is no duration: seconds, or a number with s, m, h or d (90s, 5m, 24h)", param, ctx
            )


class Share(click.ParamType):  # type: ignore[type-arg]  # generic only in newer clicks
    """Reads `1%` or `0.5%` as a number above 0 and up to 1."""

    name = "share"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, float):
            return value
        text = str(value).strip()
        try:
            found = float(text.removesuffix("%")) / 100 if text.endswith("%") else math.nan
        except ValueError:
            found = math.nan
        if not 0 < found <= 1:
            self.fail(f"{value!r} is no share: above 0% and up to 100%, as 1%", param, ctx)
        return found
