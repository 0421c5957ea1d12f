"""`limpet crawl`: finish what is unfinished, or start a new round when it is time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from limpet.cli import drain_option, flags_of, metrics_options, place_options, robots_option, site_argument
from limpet.crawling import Crawl, Wish
from limpet.durations import Duration, Share
from limpet.engine import Engine


@click.command()
@site_argument
@click.option(
    "--workers",
    type=click.IntRange(1, 256),
    help="Worker processes; default: one per CPU, at most 4.  [env: LIMPET_WORKERS]",
)
@click.option("--limit", type=click.IntRange(1), metavar="N", help="Stop after N pages.")
@click.option(
    "--sample",
    type=Share(),
    metavar="P%",
    help="Of new pages that lead no further visit P per cent, always the same ones; the others wait. "
    "Seeds, and pages of earlier rounds, are visited.",
)
@click.option("--max-time", type=Duration(), metavar="T", help="Stop after T (seconds, or 90s, 5m, 2h).")
@click.option(
    "--wait",
    type=Duration(),
    default="60",
    show_default=True,
    metavar="S",
    help="Wait for pages that are due within S (seconds, or 90s, 5m, 2h).",
)
@click.option(
    "--every",
    type=Duration(),
    metavar="T",
    help="Start a new round when the last one began T ago or longer; for cron.",
)
@click.option("--refresh", is_flag=True, help="Start a new round now.")
@metrics_options
@drain_option
@robots_option
@place_options
def command(
    site_file: Path,
    workers: int | None,
    limit: int | None,
    sample: float | None,
    max_time: float | None,
    wait: float,
    every: float | None,
    refresh: bool,
    drain: bool,
    **options: Any,
) -> int:
    """Crawl the site of SITE with a pool of workers.

    An unfinished round is finished; a finished one is left alone unless --refresh or --every asks for the next. A
    crawl that is already running is joined.
    """
    flags = flags_of(options) | {"workers": workers}
    with Engine(site_file, flags) as engine:
        wish = Wish(
            limit=limit, sample=sample, max_time=max_time, wait=wait, every=every, refresh=refresh, drain=drain
        )  # fmt: skip
        return Crawl(engine, wish).run()
