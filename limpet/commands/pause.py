"""`limpet pause`: begin no more pages of a crawl, or of a host."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from limpet.cli import Utf8, flags_of, place_options, site_argument
from limpet.engine import Engine
from limpet.exits import Exit, say
from limpet.looking import glimpse
from limpet.passing_on import pass_on
from limpet.shown import one_line
from limpet_store import pausing
from limpet_store.errors import UsageError
from limpet_store.store import Store, wall_ms

F = TypeVar("F", bound=Callable[..., Any])
LATER = "whoever works next learns of it"


def host_option(command: F) -> F:
    """For `pause` and `resume`."""
    return click.option(
        "--host",
        "hosts",
        multiple=True,
        metavar="HOST",
        type=Utf8(),
        help="Only this host: name, name:port or origin; may be repeated.",
    )(command)


@click.command()
@site_argument
@host_option
@place_options
def command(site_file: Path, hosts: tuple[str, ...], **options: Any) -> int:
    """Begin no more pages of the crawl of SITE, until `limpet resume`; kills and a lost Redis change nothing about it.

    Pools may go on running and begin to work again by themselves. What is in hand is finished.
    """
    return switch(site_file, hosts, options, paused=True)


def switch(site_file: Path, names: tuple[str, ...], options: dict[str, Any], *, paused: bool) -> Exit:
    """What `pause` and `resume` do."""
    with Engine(site_file, flags_of(options)) as engine:
        store = engine.existing_store()
        with glimpse(engine) as seen:
            if names:
                changed = _hosts(store, names, paused)
            else:
                changed = pausing.crawl(store, paused, now=wall_ms())
                _say(engine.site.name, changed, paused)
            if changed:
                pass_on(engine, seen, LATER)
        if paused and changed:
            also = "".join(f" --host {name}" for name in names)
            say(one_line(f"pages in hand are finished; `limpet resume {site_file}{also}` goes on"))
        elif pausing.is_paused(store):
            say(f"the crawl is paused: `limpet resume {site_file}` goes on")
    return Exit.COMPLETE


def _hosts(store: Store, names: tuple[str, ...], paused: bool) -> bool:
    found: dict[int, str] = {}
    for name in names:
        known = pausing.named(store, name)
        if not known:
            raise UsageError(f"--host {name}: the crawl has no such host; `limpet status` names them")
        found |= known
    changed = pausing.host(store, sorted(found), paused, now=wall_ms())
    for id_, origin in sorted(found.items()):
        _say(origin, id_ in changed, paused)
    return bool(changed)


def _say(what: str, changed: bool, paused: bool) -> None:
    state = "paused" if paused else "going on"
    say(one_line(f"{what}: {state}" if changed else f"{what}: {state} already"))
