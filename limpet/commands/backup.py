"""`limpet backup`: a copy of the crawl's database."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

from limpet.cli import flags_of, place_options, site_argument
from limpet.engine import Engine
from limpet.exits import Exit, say
from limpet_store import backup
from limpet_store.database import is_store
from limpet_store.errors import UsageError


@click.command()
@site_argument
@click.argument("file")
@click.option("--force", is_flag=True, help="Replace FILE if it is there.")
@place_options
def command(site_file: Path, file: str, force: bool, **options: Any) -> int:
    """Copy everything that is known of the crawl of SITE to FILE: pages, records, messages, as of one moment.

    Workers go on meanwhile. In a folder the copy is named after the crawl and the time. It is checked before it has
    its name; `limpet restore` puts it back.
    """
    with Engine(site_file, flags_of(options)) as engine:
        store = engine.existing_store()
        target = _target(file, engine.site.name, engine.settings.store_path, force=force)
        size = backup.take(store, target)
    say(f"{engine.site.name}: {size / 1e6:.1f} MB in {target}")
    return Exit.COMPLETE


def _target(file: str, crawl: str, store_path: Path, *, force: bool) -> Path:
    """Where the copy goes. Raises UsageError for what must not be replaced."""
    if not file:
        raise UsageError("FILE is empty")
    target = Path(file)
    if target.is_dir():
        target = target / f"{crawl}-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}.db"
    if not target.parent.is_dir():
        raise UsageError(f"{target.parent}: there is no such folder")
    if backup.belongs_to(target, store_path):
        raise UsageError(f"{target} belongs to the store itself")
    if target.exists() and not force:
        raise UsageError(f"{target} is there already: --force replaces it")
    if target.exists() and not (target.is_file() and is_store(target)):
        raise UsageError(f"{target} is no backup of limpet's, and is not replaced: name another file")
    return target
