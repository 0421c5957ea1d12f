"""`limpet forget`: pages that are not to be visited any more."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from limpet.addressed import canonicals
from limpet.cli import Utf8, flags_of, place_options, site_argument
from limpet.engine import Engine
from limpet.exits import Exit, say
from limpet.looking import glimpse
from limpet.passing_on import pass_on
from limpet.shown import one_line
from limpet_store import forgetting
from limpet_store.errors import UsageError
from limpet_store.store import wall_ms
from limpet_store.summary import counted


@click.command()
@site_argument
@click.argument("urls", nargs=-1, metavar="[URL]...", type=Utf8())
@click.option(
    "--match",
    metavar="PATTERN",
    type=Utf8(),
    help="Also all pages whose whole URL fits; * stands for anything, ? for one character. Asks first.",
)
@click.option("--yes", is_flag=True, help="Do not ask.")
@place_options
def command(site_file: Path, urls: tuple[str, ...], match: str | None, yes: bool, **options: Any) -> int:
    """Visit these pages of SITE no more, whoever finds them again, and let the records that only they gave be gone.

    What is in flight meanwhile is refused. `limpet enqueue` takes a page back. The exit code is 1 when a URL is no page
    of the crawl; the others are forgotten all the same.
    """
    if not urls and match is None:
        raise UsageError("what? name URLs or --match")
    with Engine(site_file, flags_of(options)) as engine:
        store = engine.existing_store()
        found = {url: _pages(engine, url) for url in urls}
        wanted = [page for pages in found.values() for page in pages]
        if match is not None:
            fitting = list(forgetting.fitting(store, match))
            if fitting and not yes:
                _ask(f"Forget {counted(len(fitting), 'page')} that fit {match}?")
            wanted += fitting
        with glimpse(engine) as seen:
            done = forgetting.forget(store, wanted, now=wall_ms())
            if done.pages:
                pass_on(engine, seen, "whoever works next learns of it")
        for url, target in done.led_to:
            say(one_line(f"{url} led to {target}, which is not forgotten"))
        strange = [url for url, pages in found.items() if not pages]
        for url in strange:
            say(one_line(f"no page of the crawl, or forgotten already: {url}"))
        if match is not None and not fitting:
            say(one_line(f"no page fits {match}"))
            strange.append(match)
        say(
            f"{engine.site.name}: {counted(done.pages, 'page')} forgotten, {counted(done.messages, 'message')} about it"
        )
    return Exit.FAILED if strange else Exit.COMPLETE


def _pages(engine: Engine, url: str) -> list[int]:
    store = engine.existing_store()
    return sorted({page for name in canonicals(engine, url) for page in forgetting.named(store, name)})


def _ask(question: str) -> None:
    try:
        agreed = click.confirm(question, err=True)
    except click.Abort:
        if sys.stdin.isatty():
            raise  # Ctrl-C
        raise UsageError("nobody there to ask: say --yes to forget without a question") from None
    if not agreed:
        say("nothing was forgotten")
        raise click.Abort
