"""`limpet changes`: the messages, as JSON lines."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from limpet.cli import flags_of, place_options, site_argument
from limpet.engine import Engine
from limpet.exits import Exit, say
from limpet.shown import plain_json
from limpet.stopping import Stopping
from limpet_store import changes
from limpet_store.changes import Position
from limpet_store.store import Store

POLL = 0.1  # seconds between two looks at whether somebody has committed


@click.command()
@site_argument
@click.option(
    "--since", metavar="POSITION", help="Only what came after; a POSITION is what an earlier run printed."
)
@click.option("--follow", is_flag=True, help="Wait for more, until Ctrl-C.")
@click.option("--positions", is_flag=True, help='Lines are {"position": ..., "message": ...}.')
@place_options
def command(site_file: Path, since: str | None, follow: bool, positions: bool, **options: Any) -> int:
    """The messages of the crawl, oldest first, one CloudEvent a line, straight from the store; no Redis is needed.

    The last line on stderr is the position reached. Keep it with what you made of the messages, and hand it to
    --since next time. Without --since it begins with the oldest message that is still kept.
    """
    with Engine(site_file, flags_of(options)) as engine:
        store = engine.existing_store()
        reader = _Reader(store, Position.parse(since) if since is not None else None, positions)
        with Stopping() as stop:
            reader.read(stop)
            while follow and not stop:
                reader.wait(stop)
                reader.read(stop)
    say(f"position: {reader.position}")
    return stop.code if stop else Exit.COMPLETE


class _Reader:
    """Prints messages and knows how far it is."""

    def __init__(self, store: Store, since: Position | None, positions: bool) -> None:
        self._store = store
        self._positions = positions
        self._seen = self._version()
        self.position = since or Position()
        lost = changes.pruned(store)
        if lost and since is None:
            say(f"messages up to {lost} were removed by retention; these are the later ones")
        elif lost and not self.position.seq:
            raise changes.PositionLost(f"position 0 is gone: messages up to {lost} were removed by retention")

    def _version(self) -> int:
        """Changes when another process has committed; costs no look at the tables."""
        return int(self._store.db.value("PRAGMA data_version"))

    def read(self, stop: Stopping) -> None:
        """Print what is there."""
        for position, messages in changes.after(self._store, self.position):
            for line in self._lines(position, messages):
                sys.stdout.buffer.write(plain_json(line).encode() + b"\n")
            self.position = position
            if stop:
                break
        sys.stdout.buffer.flush()

    def _lines(self, position: Position, messages: list[str]) -> Iterator[str]:
        """A row counts as read with its last message: before that, its reader has to see all of it again."""
        for n, message in enumerate(messages, 1):
            reached = position if n == len(messages) else self.position
            yield f'{{"position":"{reached}","message":{message}}}' if self._positions else message

    def wait(self, stop: Stopping) -> None:
        """Until somebody commits, or the user has enough."""
        while not stop and (now := self._version()) == self._seen:
            time.sleep(POLL)
        if not stop:
            self._seen = now
