"""What a command beside the pools has committed is told to the frontier at once, where a server answers."""

from __future__ import annotations

from limpet.engine import Engine
from limpet.exits import say
from limpet.looking import Glimpse
from limpet.shown import one_line
from limpet_store.errors import FrontierError


def pass_on(engine: Engine, seen: Glimpse, otherwise: str) -> None:
    """Relay it; where Redis is away, say so and what comes of that: `otherwise`. An embedded server that does not run
    needs no word: nobody works."""
    trouble = seen.trouble
    if seen.live:
        try:
            engine.relay()
        except FrontierError as error:
            trouble = f"Redis is away ({error})"
    if trouble:
        say(one_line(f"{trouble}: {otherwise}"))
