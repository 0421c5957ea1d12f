"""`limpet verify`: the invariants, checked on the crawl's own data."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from limpet.cli import flags_of, place_options, site_argument
from limpet.engine import Engine
from limpet.exits import Exit
from limpet.looking import glimpse
from limpet.shown import one_line
from limpet_store import verify, verify_frontier
from limpet_store.errors import FrontierError
from limpet_store.findings import Finding
from limpet_store.presence import anyone_working

WORDS = {True: "ok", False: "FAILED", None: "skipped"}


@click.command()
@site_argument
@place_options
def command(site_file: Path, **options: Any) -> int:
    """Check what limpet promises on the data of SITE: one line for each invariant, and exit code 1 if one fails.

    It may run while workers do, and changes nothing. What concerns Redis is skipped when none answers.
    """
    failed = False
    with Engine(site_file, flags_of(options)) as engine:
        for finding in _findings(engine):
            failed = failed or finding.ok is False
            text = f": {one_line(finding.text)}" if finding.text else ""
            click.echo(f"{WORDS[finding.ok]:8}{finding.name}{text}")
    return Exit.FAILED if failed else Exit.COMPLETE


def _findings(engine: Engine) -> Iterator[Finding]:
    store = engine.existing_store()
    yield from verify.verify(store, quiet=not anyone_working(engine.settings.home))
    with glimpse(engine) as seen:
        if seen.live is None:
            yield from verify_frontier.skipped(seen.trouble or "the embedded server is not running")
            return
        try:
            yield from verify_frontier.verify(store, seen.live.frontier, seen.live.server)
        except FrontierError as error:
            yield from verify_frontier.skipped(str(error))
