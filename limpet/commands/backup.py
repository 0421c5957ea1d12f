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
from limpet_store.errors import UsageError


@click.command()
@site_argument
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Replace FILE if it is there.")
@place_options
def command(site_file: Path, file: Path, force: bool, **options: Any) -> int:
    """Copy everything that is known of the crawl of SITE to FILE: pages, records, messages, as of one moment.

    Workers go on meanwhile. In a folder the copy is named after the crawl and the time. It is checked before it has
    its name; `limpet restore` puts it back.
    """
    with Engine(site_file, flags_of(options)) as engine:
        store = engine.existing_store()
        if file.is_dir():
            file = file / f"{engine.site.name}-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}.db"
        if not file.parent.is_dir():
            raise UsageError(f"{file.parent}: there is no such folder")
        if file.exists() and file.samefile(engine.settings.store_path):
            raise UsageError(f"{file} is the store itself")
        if file.exists() and not force:
            raise UsageError(f"{file} is there already: --force replaces it")
        size = backup.take(store, file)
    say(f"{engine.site.name}: {size / 1e6:.1f} MB in {file}")
    return Exit.COMPLETE
