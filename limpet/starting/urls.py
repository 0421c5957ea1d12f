"""From a few URLs of one kind to a pattern that fits them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import parse_qsl

from limpet.patterns import Pattern
from limpet_store.errors import SiteError

_NAMES = re.compile(r"[a-z][a-z0-9_]*")
_VAGUE = {
    "api", "catalog", "catalogue", "html", "index", "item", "name", "online", "page", "path", "rest", "shop", "store",
}  # fmt: skip
_SPECIAL = re.compile(r"[{}]")


def pattern(urls: Sequence[str]) -> str:
    """A pattern that fits all of these URLs of one host, as narrow as their differences let it be.

    Of a single URL the last piece is taken to differ from page to page, if it looks like a name or a number.
    """
    paths = [_path(url).split("/")[1:] for url in urls]
    if len(paths) == 1:
        text = _of_one(paths[0])
    elif len({len(path) for path in paths}) == 1:
        text = _of_equal(paths)
    else:
        text = _of_unequal(paths)
    return _fitting(text + _query(urls), urls)


def _path(url: str) -> str:
    return "/" + url.split("/", 3)[3].partition("?")[0]


def _of_one(path: list[str]) -> str:
    last = path[-1]
    if not re.search(r"\d", last) and last.count("-") < 2:
        return "/" + "/".join(path)
    if number := re.fullmatch(r"([^\d]*[-_.])?(\d+)(\.\w+)?", last):
        return "/" + "/".join([*path[:-1], f"{number[1] or ''}{{n}}{number[3] or ''}"])
    return "/" + "/".join([*path[:-1], "{name}"])


def _of_equal(paths: list[list[str]]) -> str:
    pieces = []
    for column in zip(*paths, strict=True):
        if len(set(column)) == 1:
            pieces.append(column[0])
        else:
            pieces.append(_varying(column, "".join(pieces)))
    return "/" + "/".join(pieces)


def _varying(column: Sequence[str], before: str) -> str:
    """One piece of the path: what stands around a number that differs stays, and so does a suffix."""
    start = re.sub(r"[^-_.]*$", "", _common(column))
    end = _common([piece[::-1] for piece in column])[::-1]
    end = end[found.start() :] if (found := re.search(r"\.[a-z]+$", end)) else ""
    if any(len(piece) <= len(start) + len(end) for piece in column):
        start, end = "", ""
    numbers = all(piece[len(start) : len(piece) - len(end)].isdecimal() for piece in column)
    if not numbers:  # two names may begin alike by chance
        start = ""
    names = (
        ("n", *(f"n{at}" for at in range(2, 99)))
        if numbers
        else ("name", *(f"name{at}" for at in range(2, 99)))
    )
    name = next(name for name in names if f"{{{name}}}" not in before)
    return f"{start}{{{name}}}{end}"


def _common(texts: Sequence[str]) -> str:
    first, last = min(texts), max(texts)
    for at, char in enumerate(first):
        if at >= len(last) or last[at] != char:
            return first[:at]
    return first


def _of_unequal(paths: list[list[str]]) -> str:
    shared: list[str] = []
    for column in zip(*paths, strict=False):
        if len(set(column)) > 1:
            break
        shared.append(column[0])
    if any(len(path) == len(shared) for path in paths):
        shared = shared[:-1]
    return "/" + "/".join([*shared, "{rest:path}"])


def _query(urls: Sequence[str]) -> str:
    """Parameters that all of them have; those that differ get a name. Nothing where the path differs already."""
    if len({_path(url) for url in urls}) > 1 or len(urls) == 1:
        return ""
    queries = [dict(parse_qsl(url.partition("?")[2], keep_blank_values=True)) for url in urls]
    names = [name for name in queries[0] if all(name in query for query in queries)]
    varying = [name for name in names if len({query[name] for query in queries}) > 1]
    fields = [f"{name}={{{name if _NAMES.fullmatch(name) else f'q{at}'}}}" for at, name in enumerate(varying)]
    return "?" + "&".join(fields) if fields else ""


def _fitting(text: str, urls: Sequence[str]) -> str:
    """The pattern, if it fits indeed; else one that fits every page."""
    try:
        compiled = Pattern(text)
    except SiteError:
        return "/{rest:path}"
    return text if all(compiled.params(url) is not None for url in urls) else "/{rest:path}"


def noun(text: str) -> str:
    """What the pages of a pattern are, by the last word that it spells out: `product` of `/products/{n}`; or ""."""
    words = [
        word
        for word in re.split(r"[/?&=]", _SPECIAL.sub("/", text))
        if re.fullmatch(r"[a-z][a-z_-]{2,20}", word)
    ]
    words = [word for word in words if word not in _VAGUE]
    if not words:
        return ""
    word = words[-1].replace("-", "_")
    if word.endswith("ies"):
        return word[:-3] + "y"
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def common_kind(urls: list[str]) -> list[str]:
    """Of the URLs those that are of the most common kind, by their first piece and number of pieces."""
    kinds: dict[tuple[str, int], list[str]] = {}
    for url in urls:
        path = url.split("/", 3)[3].partition("?")[0].split("/")
        first = path[0] if len(path) > 1 else re.sub(r"\d+", "0", path[0]) if "." in path[0] else ""
        kinds.setdefault((first, len(path)), []).append(url)
    best = max(kinds.values(), key=len)
    return best if 2 * len(best) > len(urls) else urls
