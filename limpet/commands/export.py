"""`limpet export`: the records, as JSON lines or CSV."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from limpet.cli import flags_of, place_options, site_argument
from limpet.engine import Engine
from limpet.exits import Exit
from limpet.exporting import jsonl, output, table
from limpet_store import export
from limpet_store.errors import UsageError

FORMATS = {"jsonl": jsonl, "csv": table}


@click.command()
@site_argument
@click.option("--type", "type_", metavar="T", help="Only the records of this type.")
@click.option(
    "-f",
    "--format",
    "form",
    type=click.Choice(list(FORMATS)),
    default="jsonl",
    show_default=True,
    help="JSON lines or CSV.",
)
@click.option(
    "-o",
    "--output",
    "path",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write to FILE, which is replaced only when the export is whole. Default: stdout.",
)
@place_options
def command(site_file: Path, type_: str | None, form: str, path: Path | None, **options: Any) -> int:
    """The records as they are now, in order of type and key; gone ones are left out.

    The output is the same, byte for byte, when no record has changed. In CSV nested values are JSON, and text that
    a spreadsheet would run as a formula has ' in front.
    """
    with Engine(site_file, flags_of(options)) as engine:
        store = engine.existing_store()
        if type_ is not None and type_ not in (there := export.types(store)):
            raise UsageError(f"no records of type {type_}; there are: {', '.join(there) or 'none at all'}")
        with output(path) as write:
            for line in FORMATS[form](lambda: export.records(store, type_)):
                write(line)
    return Exit.COMPLETE
