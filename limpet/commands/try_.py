"""`limpet try`: one page of a site, fetched and extracted, nothing stored."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import click

from limpet import shown
from limpet.cli import site_argument
from limpet.engine import Engine
from limpet.exits import say
from limpet.site import Site
from limpet.trying.lab import Lab, first_of, walk
from limpet.trying.machine import as_json
from limpet.trying.recorded import replay, save, source_of
from limpet.trying.trial import Trial
from limpet.trying.view import code, show
from limpet.wanted import listed
from limpet_store.errors import UsageError


@click.command()
@site_argument
@click.argument("place", required=False, metavar="[URL|FILE]")
@click.option("--url", metavar="URL", help="The URL that a FILE was fetched from.")
@click.option("--to", metavar="HANDLER", help="The handler to read it; default: by pattern.")
@click.option("--data", metavar="JSON", help="What a page that links it would hand down.")
@click.option("--follow", is_flag=True, help="Then the first link to each handler, as a crawl would go on.")
@click.option("--save", "folder", type=click.Path(path_type=Path, file_okay=False), metavar="FOLDER",
              help="Keep the page there, with what it gives, for `limpet check`.")  # fmt: skip
@click.option("--ignore-robots", is_flag=True, help="Fetch it though robots.txt forbids it.")
@click.option("--all", "whole", is_flag=True, help="Every link and record.")
@click.option("--json", "machine", is_flag=True, help="One JSON object for each page; its fields are stable.")
def command(
    site_file: Path, place: str | None, url: str | None, to: str | None, data: str | None, follow: bool,
    folder: Path | None, ignore_robots: bool, whole: bool, machine: bool,
) -> int:  # fmt: skip
    """Fetch one page and run its handler: what was answered, which pattern fitted, links kept and dropped, records,
    rejections, and what a selector that found nothing may have meant. Nothing is stored and nothing started.

    Without a URL the site's first seed is meant. A FILE is a saved page, or HTML or JSON with --url. Exit codes: 1 the
    page failed, or robots.txt forbids it; 3 a record was rejected; 5 neither record nor link.
    """
    site = Engine(site_file).site
    if to is not None and to not in site.codes():
        raise UsageError(f"--to: no handler {to!r}; there are: {listed(site.codes())}")
    place = place or first_of(site)
    tried: list[Trial] = []
    for trial in _trials(site, place, url, to, _json(data), follow=follow, ignore=ignore_robots):
        if machine:
            click.echo(shown.as_json(as_json(trial)))
        else:
            if tried:
                click.echo()
            show(trial, whole=whole)
        if folder is not None and (path := save(site, trial, folder)):
            say(f"saved: {path}")
        tried.append(trial)
    if follow and not machine:
        reached = {trial.handler for trial in tried}
        for name in site.codes():
            if name not in reached:
                say(f"no link led to {name}")
    return code(tried)


def _json(text: str | None) -> object:
    try:
        return None if text is None else json.loads(text)
    except ValueError as error:
        raise UsageError(f"--data: not JSON: {error}") from None


def _trials(
    site: Site, place: str, url: str | None, to: str | None, data: object, *, follow: bool, ignore: bool
) -> Iterator[Trial]:
    if place.startswith(("http://", "https://")):
        with Lab(site, obeying=not ignore) as lab:
            yield from walk(lab, place, to=to, data=data, follow=follow)
    else:
        yield replay(site, source_of(Path(place), url, to, data))
