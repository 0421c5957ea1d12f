"""`limpet show`: the story of one page or record."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from limpet.addressed import canonicals
from limpet.cli import Utf8, flags_of, place_options, site_argument
from limpet.engine import Engine
from limpet.exits import Exit
from limpet.looking import glimpse
from limpet.shown import as_json
from limpet.telling import Line, of_page, of_record, of_stranger, shown
from limpet_store import story
from limpet_store.errors import UsageError
from limpet_store.store import wall_ms


@click.command()
@site_argument
@click.argument("name", metavar="URL|KEY", type=Utf8())
@click.option("--json", "machine", is_flag=True, help='A JSON line for each, of {"what": ..., "text": ...}.')
@place_options
def command(site_file: Path, name: str, machine: bool, **options: Any) -> int:
    """A page by its URL: where it was found, back to a seed, what became of it, what it gave, why it waits, or why it
    was never fetched. A record by its key (or "TYPE KEY"): its parts, their pages, and its versions.

    Nothing is started and nothing changed. Exit codes: 1 for a URL that the crawl does not have, 2 for a key that is
    neither page nor record.
    """
    with Engine(site_file, flags_of(options)) as engine:
        stories = list(_known(engine, name))
        known = bool(stories)
        if not known:
            if "://" not in name:
                raise UsageError(f"{engine.site.name} has no page and no record {name!r}")
            stories = [list(of_stranger(engine, name))]
    for number, lines in enumerate(stories):
        _print(lines, machine, first=number == 0)
    return Exit.COMPLETE if known else Exit.FAILED


def _known(engine: Engine, name: str) -> Iterator[list[Line]]:
    """The stories of all pages and records of this name."""
    store = engine.existing_store()
    with glimpse(engine) as seen:
        now = seen.live.frontier.status().now if seen.live else wall_ms()
        for canonical in canonicals(engine, name):
            for page in story.pages(store, canonical):
                yield list(of_page(engine, page, seen, now))
    for record in story.records(store, name):
        yield list(of_record(store, record))


def _print(lines: list[Line], machine: bool, *, first: bool) -> None:
    if machine:
        click.echo(as_json([{"what": what, "text": text} for what, text in lines]))
        return
    if not first:
        click.echo()
    if not sys.stdout.isatty():
        for what, text in shown(lines):
            click.echo(f"{what:9}{text}")
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, soft_wrap=True)  # heeds NO_COLOR
    for what, text in shown(lines):
        style = STYLES.get(what, "")
        console.print(Text(f"{what:9}", style="bold") + Text(text, style=style))


STYLES = {
    "waits": "yellow",
    "error": "red",
    "rejected": "red",
    "never": "red",
    "why": "yellow",
    "page": "bold",
}
