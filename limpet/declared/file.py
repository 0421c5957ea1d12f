"""The file as a whole, and the Site made of it."""

from __future__ import annotations

import hashlib
import inspect
import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from limpet.declared.blocks import listed
from limpet.declared.fields import spelled_out
from limpet.declared.pages import Plan, patterns, plan
from limpet.declared.tables import Table, near
from limpet.page import Page
from limpet.site import Site
from limpet_store.dropping import SESSION_IDS, TRACKING
from limpet_store.errors import SiteError, UsageError
from limpet_store.secret import Secret

_FUNCTIONS = frozenset({"session", "transport"})
_SITE = frozenset(inspect.signature(Site).parameters)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


class DeclaredSite(Site):
    """A Site whose handlers are tables: their code is what the tables say, and nothing of ours."""

    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._tables: dict[str, str] = {}  # page -> code
        self._leading: set[str] = set()  # pages that follow links

    def declare(self, name: str, fitting: list[str], plan: Plan, code: str) -> None:
        """Register a page."""

        def handler(page: Page) -> Any:
            return plan.items(page)

        handler.__name__ = name
        for pattern in fitting:
            self.page(pattern, complete=plan.complete, refresh=plan.refresh)(handler)
        self._tables[name] = code
        if plan.leads:
            self._leading.add(name)

    def code(self, handler: str | None) -> str:
        """A hash of the page's table, in whatever order and layout; "" for None or a name that is not there."""
        return self._tables.get(handler or "", "")

    def leads(self, handler: str | None) -> bool:
        """Whether the page follows links."""
        return handler in self._leading


def site_of(source: bytes, path: Path) -> Site:
    """The site that the file says. Raises SiteError: a line for each mistake."""
    mistakes: list[str] = []
    top = Table(_parsed(source, path), "", mistakes)
    top.only(("site", "tune", "page"))
    names = frozenset(name for page in _tables(top) if isinstance(name := page.get("name"), str))
    site = _site(top)
    _tune(site or Site("unknown", (), hosts=["localhost"]), top.below("tune"))
    codes = {str(page.get("name")): code_of(page) for page in _tables(top)}
    seen: set[str] = set()
    for table in top.each("page"):
        name = _name(table, seen)
        found = patterns(table)
        done = plan(table, found, names)
        if site is not None and not mistakes:
            site.declare(name, found, done, codes[name])
    if mistakes or site is None:
        raise SiteError(";\n".join(f"{path}: {mistake}" for mistake in mistakes))
    return site


def _parsed(source: bytes, path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(source.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise SiteError(f"{path}: not TOML: not UTF-8") from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        found = re.fullmatch(r"(.*) \(at line (\d+), column \d+\)", str(error), re.S)
        words, line = (found[1], f":{found[2]}") if found else (str(error), "")
        if "immutable namespace" in words:
            words = (
                "a table that was given before, in the short form ([...]) or by dots: write it in one form"
            )
        raise SiteError(f"{path}{line}: not TOML: {words}") from None


def _tables(top: Table) -> list[dict[str, Any]]:
    return [page for page in listed(top.given.get("page", [])) if isinstance(page, dict)]


def _name(table: Table, seen: set[str]) -> str:
    name = table.word("name", needed=True)
    if name:
        table.where = f"page {name!r}"
    if name and not _NAME.fullmatch(name):
        table.wrong("name: letters, digits, _ and -, and no digit first")
    if name in seen:
        table.wrong("a second page of this name")
    seen.add(name)
    return name


def _site(top: Table) -> DeclaredSite | None:
    if "site" not in top:
        top.wrong("no [site] in it; add [site] with a name and seeds")
        return None
    table = top.below("site")
    table.only(_SITE)
    for name in _FUNCTIONS & set(table.given):
        table.wrong(f"{name} is made by a function: that takes a site file in Python")
    if not table.word("name", needed=True) or _FUNCTIONS & set(table.given):
        return None
    try:
        given = {name: _with_secrets(value) for name, value in table.given.items() if name in _SITE}
        given |= {"drop_params": _spelled_out(given["drop_params"])} if "drop_params" in given else {}
        return DeclaredSite(**given)
    except UsageError as error:
        table.wrong(str(error).removeprefix("Site: "))
        return None


def _spelled_out(names: Any) -> Any:
    """The names of parameters, with those that `limpet` has a word for."""
    if not isinstance(names, list):
        return names
    lists = {"TRACKING": TRACKING, "SESSION_IDS": SESSION_IDS}
    return [
        each for name in names for each in (lists.get(name, (name,)) if isinstance(name, str) else (name,))
    ]


def _tune(site: Site, table: Table) -> None:
    for name, value in table.given.items():
        try:
            site.tune(**{name: value})
        except SiteError as error:
            table.wrong(str(error))


def _with_secrets(value: Any) -> Any:
    """A table with `secret` in it as the reference that it is, wherever it stands."""
    if isinstance(value, list):
        return [_with_secrets(each) for each in value]
    if not isinstance(value, dict):
        return value
    if "secret" not in value:
        return {name: _with_secrets(each) for name, each in value.items()}
    keys = ("secret", "before", "after")
    for key, text in value.items():
        if key not in keys:
            raise UsageError(f"a secret has no {key!r}{near(key, keys)}")
        if not isinstance(text, str):
            raise UsageError(f"a secret's {key} is {text!r}; a text is needed")
    return Secret(value["secret"], value.get("before", ""), value.get("after", ""))


def code_of(page: Mapping[str, Any]) -> str:
    """16 hex digits that change when what is done with the page does; not with its name, patterns or layout."""
    said = {
        "html": page.get("html", False),
        **({"complete": True} if page.get("complete") is True else {}),
        "follow": [_block(spelled_out(each, "css"), "data") for each in listed(page.get("follow", []))],
        "record": [_block(each, "fields") for each in listed(page.get("record", []))],
    }
    text = json.dumps(said, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _block(given: Any, fields: str) -> Any:
    """A record or link with everything spelled out."""
    if not isinstance(given, dict):
        return given
    each = spelled_out(given.get("each"), "css")
    alone = "css" if not isinstance(each, dict) or "css" in each else "path"
    said = {**given, "each": each, "when": spelled_out(given.get("when"), alone)}
    if isinstance(given.get(fields), dict):
        said[fields] = {name: spelled_out(value, alone) for name, value in given[fields].items()}
    return {name: value for name, value in said.items() if value is not None}
