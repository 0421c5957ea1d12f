"""Which URLs a site means, checked: patterns, parameters, depth, pages of a host."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from limpet.patterns import Pattern
from limpet.politeness import check_flags
from limpet_store.dropping import SESSION_IDS, Dropping
from limpet_store.errors import SiteError
from limpet_store.scope import Bounds

ORDERS = ("breadth", "depth")
_NAME = re.compile(r"[^&=?;#/\s]+")


def bounds_of(
    hosts: Iterable[str],
    include: Any,
    exclude: Any,
    drop_params: Any,
    max_depth: Any,
    max_pages: Any,
    traps: Any,
    order: Any,
    problems: list[str],
) -> Bounds:
    """What was given, checked; what is wrong joins `problems`."""
    check_flags(problems, traps=traps)
    _check_number("max_depth", max_depth, 0, problems)
    _check_number("max_pages", max_pages, 1, problems)
    if order not in ORDERS:
        problems.append(f"order {order!r}: one of {', '.join(map(repr, ORDERS))}")
    names = (*(SESSION_IDS if traps else ()), *_names(drop_params, problems))
    included, excluded = (
        _patterns(name, given, problems) for name, given in (("include", include), ("exclude", exclude))
    )
    texts = [sorted(pattern.text for pattern in patterns) for patterns in (included, excluded)]
    return Bounds(
        drop=Dropping(names) if names else None,
        included=_fits(included),
        excluded=_fits(excluded),
        max_depth=max_depth,
        traps=traps,
        depth_first=order == "depth",
        said=repr((sorted(hosts), texts, names, max_depth, max_pages, traps)),
    )


def _fits(patterns: list[Pattern]) -> Callable[[str], bool] | None:
    """Whether a URL fits one of the patterns; None where there are none."""
    if not patterns:
        return None
    return lambda url: any(pattern.params(url) is not None for pattern in patterns)


def _patterns(name: str, given: Any, problems: list[str]) -> list[Pattern]:
    if given is None:
        return []
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        problems.append(f"{name}: a list of patterns, not {given!r}")
        return []
    patterns = []
    for text in given:
        try:
            patterns.append(Pattern(text))
        except SiteError as error:
            problems.append(f"{name}: {error}")
    if not patterns:
        problems.append(f"{name}: no pattern in it; leave it out")
    return patterns


def _names(given: Any, problems: list[str]) -> list[str]:
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        problems.append(f"drop_params: a list of names, not {given!r}")
        return []
    names = list(given)
    wrong = [name for name in names if not isinstance(name, str) or not _NAME.fullmatch(name)]
    problems += [f"drop_params {name!r}: the name of a parameter; * stands for anything" for name in wrong]
    return [] if wrong else names


def _check_number(name: str, value: Any, least: int, problems: list[str]) -> None:
    if value is not None and (type(value) is not int or value < least):
        problems.append(f"{name} {value!r}: a whole number, at least {least}")
