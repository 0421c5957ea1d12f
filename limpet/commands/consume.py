"""`limpet consume`: a pool of workers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from limpet.cli import drain_option, flags_of, metrics_options, place_options, robots_option, site_argument
from limpet.consuming import Consume
from limpet.engine import Engine


@click.command()
@site_argument
@click.option(
    "--workers",
    type=click.IntRange(1, 256),
    help="Worker processes; default: one per CPU, at most 4.  [env: LIMPET_WORKERS]",
)
@click.option(
    "--until-done", is_flag=True, help="End when nothing is left to do, with the exit codes of crawl."
)
@metrics_options
@drain_option
@robots_option
@place_options
def command(site_file: Path, workers: int | None, until_done: bool, drain: bool, **options: Any) -> int:
    """Work on the crawl of SITE with a pool of workers, beside others that reach the same Redis and store.

    The store is a file, so these are on one machine, in one container or several.

    Seeds are not added and rounds not started: `limpet enqueue` and `limpet crawl` do that. Runs until it is
    stopped (Ctrl-C or SIGTERM: pages in hand are finished or put back).
    """
    with Engine(site_file, flags_of(options) | {"workers": workers}) as engine:
        return Consume(engine, until_done=until_done, drain=drain).run()
