"""`limpet demo`: the main job on real HTTP, while it is killed."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import NoReturn

import click

from limpet.demo.run import Wish, demo
from limpet.demo.shop import ShopServer
from limpet.exits import Exit, say
from limpet.stopping import wished
from limpet_store.errors import UsageError

FOLDER = click.Path(path_type=Path, file_okay=False)


@click.command()
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
@click.option("--serve", is_flag=True, help="Only serve the shop, for sites of your own, until Ctrl-C.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="Where --serve listens."
)
@click.option("--address", default="127.0.0.1", show_default=True, help="The address on which it does.")
def command(
    runs: int, workers: int, seed: int | None, folder: Path, serve: bool, port: int, address: str
) -> int:
    """Crawl the built-in shop of 525 pages with a naive scraper and with limpet, kill both with SIGKILL ten times,
    and check every row against the site, whose own log counts the requests.

    A demo that was itself killed is finished when it is run again. Exit code 1 if one row of limpet's is missing,
    doubled or wrong, or a request was repeated that no kill had caught in flight.
    """
    for number in wished():
        if number != signal.SIGINT:
            signal.signal(number, _terminated)
    try:
        if serve:
            _serve(port, address)
        return demo(Wish(folder=folder, runs=runs, workers=workers, seed=seed))
    except KeyboardInterrupt:
        say("no longer served" if serve else "interrupted; run it again to finish it")
        return Exit.INTERRUPTED


def _serve(port: int, address: str) -> NoReturn:
    """Serve the shop until a signal comes. Raises UsageError when the port cannot be had."""
    with TemporaryDirectory() as folder:
        try:
            with ShopServer(log_path=Path(folder) / "site.log", port=port, address=address) as shop:
                say(f"the shop is at {shop.first_page}; Ctrl-C ends it")
                while True:
                    signal.pause()
        except OSError as error:
            raise UsageError(f"{error}: choose another --port or --address") from None


def _terminated(number: int, frame: FrameType | None) -> None:
    sys.exit(Exit.TERMINATED)
