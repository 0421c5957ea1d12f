"""`limpet doctor`: look at this machine and at the settings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from limpet.cli import flags_of, optional_site_argument, place_options
from limpet.doctoring import examine
from limpet.exits import Exit
from limpet.shown import one_line


@click.command()
@optional_site_argument
@place_options
def command(site_file: Path | None, **options: Any) -> int:
    """What keeps limpet from working here, if anything (exit code 1); then the machine, and every setting with its
    origin. Starts and creates nothing.
    """
    found = examine(site_file, flags_of(options))
    for problem in found.problems:
        click.echo(f"problem: {one_line(problem, 400)}")
    for name, value in found.facts:
        click.echo(f"{name}: {one_line(value, 400)}")
    return Exit.FAILED if found.problems else Exit.COMPLETE
