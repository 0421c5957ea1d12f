"""`limpet rebuild`: the frontier and the stream again from the store."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

from limpet.cli import flags_of, place_options, site_argument
from limpet.engine import Engine
from limpet.exits import Exit, say
from limpet_store.errors import FrontierUnavailable
from limpet_store.frontier import REBUILD_TTL
from limpet_store.summary import counted

POLL = 0.2  # seconds between two looks at another's rebuild


@click.command()
@site_argument
@place_options
def command(site_file: Path, **options: Any) -> int:
    """Build the frontier and the message stream in Redis again from the store, also while workers run.

    Not needed after a loss of Redis, which is noticed and mended by itself.
    """
    with Engine(site_file, flags_of(options)) as engine:
        store = engine.existing_store()
        say(f"{store.crawl}: state in {engine.settings.home}")
        built = engine.rebuild(asked=True)
        if built is None:
            _await_another(engine)
            say("another process has just rebuilt it")
        else:
            say(f"rebuilt: {counted(built.pages, 'page')}, {counted(built.messages, 'message')}")
        engine.relay()  # what was committed meanwhile
    return Exit.COMPLETE


def _await_another(engine: Engine) -> None:
    deadline = time.monotonic() + REBUILD_TTL / 1000
    while engine.frontier.cursor() is None:
        if time.monotonic() > deadline:
            raise FrontierUnavailable(
                "another process has been rebuilding the frontier for too long: run it again"
            )
        time.sleep(POLL)
