"""`limpet check`: the saved pages of a site, extracted again and compared."""

from __future__ import annotations

from pathlib import Path

import click

from limpet.cli import site_argument
from limpet.exits import Exit, say
from limpet.load import load_site
from limpet.shown import one_line
from limpet.site import Site
from limpet.trying.differing import differences
from limpet.trying.recorded import Saved, accept, given, replay, saved_in
from limpet_store.errors import UsageError
from limpet_store.summary import counted

PAGES = Path("tests/pages")  # beside the site file


@click.command()
@site_argument
@click.argument("folder", required=False, type=click.Path(path_type=Path), metavar="[FOLDER]")
@click.option("--update", is_flag=True, help="What the pages give now is what is expected from now on.")
def command(site_file: Path, folder: Path | None, update: bool) -> int:
    """Run the handlers on the pages that `limpet try --save` kept in FOLDER (default: tests/pages beside SITE), and
    compare with what they gave then. No network is used. Exit code 1 if one differs.
    """
    site = load_site(site_file)
    folder = folder or site_file.parent / PAGES
    pages = list(saved_in(folder, site.name))
    if not pages:
        raise UsageError(
            f"no saved page of {site.name} in {folder}: `limpet try {site_file} --follow --save {folder}` makes some"
        )
    read: set[str] = set()
    failed = sum(not _check(site, saved, read, update) for saved in pages)
    for name in sorted(site.codes().keys() - read):
        say(f"no saved page is read by {name}")
    what = "updated" if update else "differing"
    click.echo(f"{counted(len(pages), 'page')}, {failed or 'none'} {what}")
    return Exit.FAILED if failed and not update else Exit.COMPLETE


def _check(site: Site, saved: Saved, read: set[str], update: bool) -> bool:
    """Whether the page gives what it gave; prints a line, and one for each difference."""
    trial = replay(site, saved)
    found = given(trial)
    read.add(found.get("handler", ""))
    different = differences(saved.expected or {}, found)
    words = "ok" if not different else "updated" if update else "FAILED"
    click.echo(one_line(f"{words:8}{saved.name}: {_facts(found)}"))
    for line in different:
        click.echo(f"        {line}")
    if different and update:
        accept(saved, trial)
    return not different


def _facts(found: dict[str, list[object]]) -> str:
    numbers = {"record": "records", "link": "links", "rejection": "rejections"}
    counts = [counted(len(found[name]), noun) for noun, name in numbers.items() if name in found]
    read_by = found.get("handler") or f"{found['outcome']} ({found.get('error', 'no handler')})"
    return ", ".join([str(read_by), *(counts or (["nothing"] if "handler" in found else []))])
