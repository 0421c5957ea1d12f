"""`limpet path`: where the database is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from limpet import settings
from limpet.cli import flags_of, place_options, site_argument
from limpet.exits import Exit
from limpet.load import load_site


@click.command()
@site_argument
@place_options
def command(site_file: Path, **options: Any) -> int:
    """Print the path of the database, whether it exists yet or not: sqlite3 "$(limpet path shop.py)"."""
    site = load_site(site_file)
    click.echo(settings.load(site.name, site_file, flags=flags_of(options)).store_path)
    return Exit.COMPLETE
