"""What `site.tune` says, over what a site of its kind usually has."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Mapping
from typing import Any

from limpet.politeness import is_number
from limpet_consumers.runtime import Knobs
from limpet_store.errors import SiteError

_KNOBS = {field.name: field.default for field in dataclasses.fields(Knobs)}


class Tuning:
    """The engine's settings of one site. What was said holds, whatever is registered before or after it."""

    def __init__(self, **usual: float) -> None:
        self._usual = usual
        self._said: dict[str, float] = {}
        self.knobs = self._all()

    def _all(self) -> Knobs:
        return Knobs(**{**self._usual, **self._said})  # type: ignore[arg-type]

    def say(self, knobs: Mapping[str, float]) -> None:
        """Change some. Raises SiteError, and changes nothing then."""
        for name, value in knobs.items():
            if name not in _KNOBS:
                near = difflib.get_close_matches(name, _KNOBS, n=1, cutoff=0)
                raise SiteError(f"no knob {name!r}; did you mean {near[0]!r}?")
            _check(name, value)
        self._said.update(knobs)
        self.knobs = self._all()

    def expect(self, **usual: float) -> None:
        """Change what holds where nothing is said."""
        self._usual.update(usual)
        self.knobs = self._all()


def _check(name: str, value: Any) -> None:
    if isinstance(_KNOBS[name], bool):
        if not isinstance(value, bool):
            raise SiteError(f"{name}={value!r}: True or False")
        return
    whole = isinstance(_KNOBS[name], int)
    if not is_number(value) or (whole and not isinstance(value, int)):
        raise SiteError(f"{name}={value!r}: a {'whole ' if whole else ''}number")
    if value < 0 or (value == 0 and name not in ("threads", "slice_pages")):
        raise SiteError(f"{name}={value!r}: must be above 0")
