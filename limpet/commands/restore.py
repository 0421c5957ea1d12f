"""`limpet restore`: a copy in the place of the crawl's database."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from limpet.alone import alone
from limpet.cli import flags_of, place_options, site_argument
from limpet.engine import Engine
from limpet.exits import Exit, say
from limpet_store import backup, summary
from limpet_store.errors import UsageError
from limpet_store.summary import counted


@click.command()
@site_argument
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Replace the store that is there; it is kept beside the new one.")
@place_options
def command(site_file: Path, file: Path, force: bool, **options: Any) -> int:
    """Put the copy FILE in the place of the database of SITE's crawl. Refused while a process works on it.

    It speaks as a new source from then on: subscribers are told of the gap, and skip nothing for a key that they have
    seen. The frontier is built from it by the next run.
    """
    with Engine(site_file, flags_of(options)) as engine:
        name, home, target = engine.site.name, engine.settings.home, engine.settings.store_path
        if target.exists() and not force:
            raise UsageError(
                f"{target} is there already: --force replaces it, and keeps it as {target.name}.before-restore"
            )
        target.parent.mkdir(parents=True, exist_ok=True)
        with alone(name, home, target):
            store = backup.put_back(file, target, name)
        try:
            facts = summary.summarise(store, engine.site.codes())
        finally:
            store.close()
    say(
        f"{name}: {counted(sum(facts.states.values()), 'page')} and {counted(facts.records, 'record')} from {file}"
    )
    say(f"subscribers are told of a new source; `limpet crawl {site_file}` goes on from here")
    return Exit.COMPLETE
