"""`limpet status --watch`: a crawl as it goes, on one screen of a terminal or, elsewhere, in plain blocks."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from limpet.engine import Engine
from limpet.exits import Exit
from limpet.screen import Line, frame
from limpet.stopping import Stopping
from limpet.watched import Watched

if TYPE_CHECKING:
    from rich.text import Text

PLAIN_SIZE = (120, 50)  # of a block
POLL = 0.05  # seconds between two looks whether to stop, or at the size of the terminal


def watch(engine: Engine, every: float) -> Exit:
    """Show the crawl every so many seconds until a signal; its exit code. Raises UsageError for one never begun."""
    engine.existing_store()
    watched = Watched(engine)
    with Stopping() as stop:
        if sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb":
            _in_terminal(watched, every, stop)
        else:
            _in_blocks(watched, every, stop)
    return stop.code


def _in_blocks(watched: Watched, every: float, stop: Stopping) -> None:
    while not stop:
        for text, _ in frame(watched.look(), *PLAIN_SIZE):
            click.echo(text.rstrip())
        click.echo()
        sys.stdout.flush()
        _rest(every, stop, lambda: False)


def _in_terminal(watched: Watched, every: float, stop: Stopping) -> None:
    """On the terminal's second screen, which leaves what was there before; the last frame stays behind."""
    from rich.console import Console
    from rich.live import Live

    console = Console(highlight=False)  # heeds NO_COLOR
    lines: list[Line] = []
    with Live(console=console, screen=True, auto_refresh=False) as live:
        while not stop:
            view, size = watched.look(), console.size
            lines = frame(view, size.width, size.height)
            live.update(_text(lines), refresh=True)
            _rest(every, stop, lambda size=size: console.size != size)  # type: ignore[misc]
    console.print(_text(lines))


def _text(lines: list[Line]) -> Text:
    from rich.text import Text

    text = Text(no_wrap=True, overflow="crop")
    for n, (line, style) in enumerate(lines):
        text.append(("\n" if n else "") + line, style)
    return text


def _rest(every: float, stop: Stopping, resized: Callable[[], bool]) -> None:
    until = time.monotonic() + every
    while not stop and not resized() and (left := until - time.monotonic()) > 0:
        time.sleep(min(POLL, left))
