"""`limpet reset`: delete a crawl's data."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from limpet.alone import alone, refuse_if_used
from limpet.cli import flags_of, place_options, site_argument
from limpet.engine import Engine
from limpet.exits import Exit, say
from limpet.looking import Glimpse, embedded_runs, glimpse
from limpet_store import keys
from limpet_store.errors import LimpetError, UsageError
from limpet_store.valkey import stop_server

SUFFIXES = ("", "-wal", "-shm", "-journal", ".published", ".lock")  # the lock last: it is held meanwhile


@click.command()
@site_argument
@click.option("--yes", is_flag=True, help="Do not ask.")
@place_options
def command(site_file: Path, yes: bool, **options: Any) -> int:
    """Delete everything that is known of the crawl: pages, records, messages. Asks first.

    Refused while a process works on it.
    """
    with Engine(site_file, flags_of(options)) as engine:
        name, chosen = engine.site.name, engine.settings
        if not engine.has_store():
            say(f"{name}: nothing to delete, there is no {chosen.store_path}")
            return Exit.COMPLETE
        refuse_if_used(name, chosen.home)
        if not yes:
            _ask(name, chosen.store_path)
        removed = _empty_redis(engine)
    with alone(name, chosen.home, chosen.store_path):  # after our own connection to it is closed
        removed += _delete_files(chosen.store_path)
    say(f"removed: {', '.join(removed)}")
    return Exit.COMPLETE


def _ask(name: str, store_path: Path) -> None:
    question = f"Delete all data of {name} in {store_path}?"
    try:
        agreed = click.confirm(question, err=True)
    except click.Abort:
        if sys.stdin.isatty():
            raise  # Ctrl-C
        raise UsageError("nobody there to ask: say --yes to delete without a question") from None
    if not agreed:
        say("nothing was removed")
        raise click.Abort


def _empty_redis(engine: Engine) -> list[str]:
    """Stop the embedded server, or take the crawl's keys out of another one, if it answers."""
    if engine.embedded:
        if not embedded_runs(engine.settings.home):
            return []
        return ["what the embedded server held"] if stop_server(engine.settings.home) else []
    try:
        with glimpse(engine) as seen:
            count = _delete_keys(engine, seen)
    except LimpetError as error:  # a broken store is no reason to keep it
        say(f"its keys in Redis stay: {error}")
        return []
    return [f"{count} keys in Redis"] if count else []


def _delete_keys(engine: Engine, seen: Glimpse) -> int:
    if seen.live is None:
        say(f"its keys in Redis stay: {seen.trouble}")
        return 0
    client, names = (
        engine.client,
        f"{engine.site.name}:{engine.store.source.store_id}",
    )  # in our keys and in RQ's
    count = 0
    for key in client.scan_iter(match=f"*{names}*", count=1_000):
        count += int(client.unlink(key))
    client.srem("rq:queues", f"rq:queue:{engine.tickets.queue_name}")
    return count + int(client.delete(keys.pointer(engine.site.name)))


def _delete_files(store_path: Path) -> list[str]:
    removed = []
    for suffix in SUFFIXES:
        path = store_path.with_name(store_path.name + suffix)
        with suppress(FileNotFoundError):
            path.unlink()
            removed.append(str(path))
    return removed
