"""`limpet demo`: the main job on real HTTP, while it is killed."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from types import FrameType

import click

from limpet.demo.run import Wish, demo
from limpet.exits import Exit, say

FOLDER = click.Path(path_type=Path, file_okay=False)


@click.command(short_help="Crawl the built-in shop while it is killed, and check every value.")
@click.option(
    "--runs",
    type=click.IntRange(1, 100),
    default=1,
    show_default=True,
    help="How often; above 1 the published table comes beside ours.",
)
@click.option(
    "--workers", type=click.IntRange(1, 16), default=2, show_default=True, help="limpet's worker processes."
)
@click.option("--seed", type=int, help="Repeat the pauses between the kills of an earlier demo.")
@click.option("--folder", type=FOLDER, default=Path("limpet-demo"), show_default=True, help="Where it works.")
def command(runs: int, workers: int, seed: int | None, folder: Path) -> int:
    """Crawl the built-in shop of 525 pages with a naive scraper and with limpet, kill both with SIGKILL ten times,
    and check every row against the site, whose own log counts the requests.

    A demo that was itself killed is finished when it is run again. Exit code 1 if one row of limpet's is missing,
    doubled or wrong, or a request was repeated that no kill had caught in flight.
    """
    signal.signal(signal.SIGTERM, _terminated)
    try:
        return demo(Wish(folder=folder, runs=runs, workers=workers, seed=seed))
    except KeyboardInterrupt:
        say("interrupted; run it again to finish it")
        return Exit.INTERRUPTED


def _terminated(number: int, frame: FrameType | None) -> None:
    sys.exit(Exit.TERMINATED)
