"""`limpet shell`: Python with a page of the site in it."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import click

from limpet.cli import site_argument
from limpet.engine import Engine
from limpet.trying.desk import Desk, interact
from limpet.trying.lab import first_of


@click.command()
@site_argument
@click.argument("place", required=False, metavar="[URL|FILE]")
@click.option("--url", metavar="URL", help="The URL that a FILE was fetched from.")
@click.option("--ignore-robots", is_flag=True, help="Fetch though robots.txt forbids it.")
def command(site_file: Path, place: str | None, url: str | None, ignore_robots: bool) -> int:
    """Python with `page`, `site`, `Record` and `Link` in it; `fetch(url)` goes on to another page, `run()` shows what
    the handler makes of this one. IPython is used where it is installed. Nothing is stored.

    Without a URL the site's first seed is meant. Lines may come from a pipe: the exit code is 1 if one of them fails.
    """
    site = Engine(site_file).site
    with closing(Desk(site, ignore_robots=ignore_robots)) as desk:
        return interact(desk, place or first_of(site), url)
