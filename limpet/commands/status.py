"""`limpet status`: how a crawl stands."""

from __future__ import annotations

import math
from itertools import chain
from pathlib import Path
from typing import Any

import click

from limpet import shown
from limpet.cli import flags_of, optional_site_argument, place_options
from limpet.engine import Engine
from limpet.exits import Exit, say, verdict
from limpet.finding import site_here
from limpet.standing import as_json, gather
from limpet.status_view import show
from limpet_store import trouble
from limpet_store.errors import UsageError
from limpet_store.store import Store

WATCH = "--watch"
EVERY = 2.0  # seconds


class Watchable(click.Command):
    """Takes `--watch SITE` for `--watch` and SITE: only a number is its value."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        joined = [
            f"{WATCH}={EVERY:g}" if word == WATCH and not _is_number(follower) else word
            for word, follower in zip(args, [*args, ""][1:], strict=True)
        ]
        return super().parse_args(ctx, joined)


def _is_number(word: str) -> bool:
    try:
        return not math.isnan(float(word))
    except ValueError:
        return False


@click.command(cls=Watchable)
@optional_site_argument
@click.option("--json", "machine", is_flag=True, help="One JSON object; its fields are stable.")
@click.option(
    "--check", is_flag=True, help="End with the exit code that crawl would end with now (0, 3, 4 or 5)."
)
@click.option(
    "--problems",
    is_flag=True,
    help="Every dead or failing page and rejected record instead, as JSON lines.",
)
@click.option(
    WATCH,
    "every",
    type=click.FloatRange(0.1, 3600),
    metavar="[SECONDS]",
    help=f"Go on showing how it stands, every {EVERY:g} seconds or so many, until Ctrl-C.",
)
@place_options
def command(
    site_file: Path | None, machine: bool, check: bool, problems: bool, every: float | None, **options: Any
) -> int:
    """Problems first, then pages by state, records, hosts, and how far Redis lags behind the store.

    Without SITE the one in this folder is meant. Nothing is started and nothing changed.
    """
    if site_file is None:
        site_file = site_here(Path.cwd())
        say(f"status of {site_file.name}")
    if every is not None and math.isnan(every):
        raise UsageError("--watch nan: a number of seconds")
    if every is not None and (machine or check or problems):
        raise UsageError("--watch shows a screen: it does not go with --json, --check or --problems")
    with Engine(site_file, flags_of(options)) as engine:
        if every is not None:
            from limpet.watching import watch  # what others need not pay for

            return watch(engine, every)
        status = gather(engine)
        if problems:
            _list_problems(engine.existing_store())
        elif machine:
            click.echo(shown.as_json(as_json(status), indent=2))
        else:
            show(status)
    return verdict(status.counts, pending=status.pending) if check else Exit.COMPLETE


def _list_problems(store: Store) -> None:
    for found in chain(
        trouble.dead(store), trouble.failing(store), trouble.missed(store), trouble.rejected(store)
    ):
        click.echo(shown.as_json(found))
