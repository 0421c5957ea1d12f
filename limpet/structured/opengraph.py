"""OpenGraph and its relatives: `<meta property="og:...">`, `product:`, `article:`, `twitter:` and so on."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from limpet.structured.urls import Absolute
from limpet_store.items import JSON

_FAMILIES = frozenset({"og", "product", "article", "book", "profile", "music", "video", "twitter"})
_MOST = 1_000  # metas of a page
_MEDIA = ("og:image", "og:video", "og:audio")
_URLS = frozenset({"og:url", "twitter:image", "twitter:image:src", "twitter:player", "twitter:url"})


def read(root: Any, absolute: Absolute) -> dict[str, JSON]:
    """The properties below the element `root`, by their names in lower case. See `Page.opengraph`."""
    plain: dict[str, list[str]] = {}
    media: dict[str, list[dict[str, str]]] = {}
    for name, value in islice(_metas(root), _MOST):
        kind = next((kind for kind in _MEDIA if name == kind or name.startswith(kind + ":")), None)
        if kind is not None:
            _add_medium(media.setdefault(kind, []), name[len(kind) + 1 :], value, absolute)
        else:
            value = absolute(value) or value if name in _URLS else value
            known = plain.setdefault(name, [])
            known += [value] * (value not in known)
    found: dict[str, JSON] = {name: known[0] if len(known) == 1 else known for name, known in plain.items()}
    for kind, entries in media.items():
        found |= _columns(kind, entries)
    return found


def _metas(root: Any) -> Iterator[tuple[str, str]]:
    for meta in root.iter("meta"):
        names = meta.get("property") or meta.get("name")
        if not names or ":" not in names:
            continue
        value = (meta.get("content") or meta.get("value") or "").strip()
        for name in names.lower().split():
            if value and name.partition(":")[0] in _FAMILIES:
                yield name, value


def _add_medium(entries: list[dict[str, str]], detail: str, value: str, absolute: Absolute) -> None:
    """`detail` is "" for the medium itself, else what is said about the newest one."""
    if detail in ("", "url", "secure_url"):
        value = absolute(value) or value
    if detail in ("", "url"):
        if entries and "" not in entries[-1]:  # details that came before their medium
            entries[-1][""] = value
        elif not entries or entries[-1][""] != value:
            entries.append({"": value})
    else:
        if not entries:
            entries.append({})
        entries[-1].setdefault(detail, value)


def _columns(kind: str, entries: list[dict[str, str]]) -> dict[str, JSON]:
    for entry in entries:
        if "secure_url" in entry:
            entry.setdefault("", entry["secure_url"])
    details = dict.fromkeys(detail for entry in entries for detail in entry)
    rows = {detail: [entry.get(detail) for entry in entries] for detail in details}
    return {
        f"{kind}:{detail}" if detail else kind: row[0] if len(row) == 1 else row
        for detail, row in rows.items()
    }
