"""Which site file is meant when none is named."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from limpet.home import FOLDER, database_path
from limpet_store.errors import UsageError

MOST = 200  # files of a kind that are looked into


def site_here(folder: Path) -> Path:
    """The one site file in `folder`, or the one of several that was crawled; the files are read, not run.

    Raises UsageError, listing them, when it is not clear which is meant.
    """
    found = sites_in(folder)
    crawled = [path for path, name in found if name and database_path(folder / FOLDER, name).exists()]
    chosen = crawled or [path for path, _ in found]
    if not chosen:
        raise UsageError(f"no site file in {folder}: name one")
    if len(chosen) > 1:
        raise UsageError(f"several site files here, name one: {', '.join(path.name for path in chosen)}")
    return chosen[0]


def sites_in(folder: Path) -> list[tuple[Path, str | None]]:
    """The Python files in `folder` that set `site = Site(...)` and the TOML files that declare a site, with the site's
    name where it is a literal."""
    return list(chain(_in_python(folder), _in_toml(folder)))


def _in_toml(folder: Path) -> Iterator[tuple[Path, str | None]]:
    for path in sorted(folder.glob("*.toml"))[:MOST]:
        try:
            site = tomllib.loads(path.read_text("utf-8-sig")).get("site")
        except (OSError, ValueError, RecursionError):
            continue
        if isinstance(site, dict) and {"name", "seeds", "hosts"} & set(site):
            yield path, site["name"] if isinstance(site.get("name"), str) else None


def _in_python(folder: Path) -> Iterator[tuple[Path, str | None]]:
    for path in sorted(folder.glob("*.py"))[:MOST]:
        call = _site_call(path)
        if call is not None:
            first = call.args[0] if call.args else None
            literal = isinstance(first, ast.Constant) and isinstance(first.value, str)
            yield path, str(first.value) if literal else None  # type: ignore[union-attr]


def _site_call(path: Path) -> ast.Call | None:
    try:
        source = path.read_bytes()
        if b"Site(" not in source:
            return None
        body = ast.parse(source).body
    except (OSError, SyntaxError, ValueError, RecursionError):
        return None
    for statement in body:
        if (
            isinstance(statement, ast.Assign)
            and _names_site(statement)
            and isinstance(statement.value, ast.Call)
        ):
            called = statement.value.func
            if (called.id if isinstance(called, ast.Name) else getattr(called, "attr", "")) == "Site":
                return statement.value
    return None


def _names_site(statement: ast.Assign) -> bool:
    return any(isinstance(target, ast.Name) and target.id == "site" for target in statement.targets)
