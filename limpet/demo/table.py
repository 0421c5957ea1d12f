"""The demo's table, and the published one that it is set beside."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich import box
from rich.columns import Columns
from rich.console import Console, RenderableType
from rich.table import Table

from limpet.demo.state import Leg

PUBLISHED = (  # naive rows, naive requests, idempotent rows, idempotent requests
    (2165, 2283, 500, 525),
    (1875, 1977, 500, 526),
    (1862, 1967, 500, 526),
    (1455, 1538, 500, 526),
    (1286, 1361, 500, 528),
)
SOURCE = '"Designing an idempotent scraper: restart without duplication", published, 2026-10-02'
WHAT = {"worker": "one worker process", "everything": "everything"}
BESIDE = 150  # columns of a terminal that holds both tables side by side


def show(legs: Sequence[Leg], console: Console, *, published: bool) -> None:
    """Print our table, and the published one beside or below it."""
    tables: list[RenderableType] = [ours(legs, plain=not console.is_terminal)]
    if published:
        tables.append(theirs(plain=not console.is_terminal))
    if len(tables) > 1 and console.is_terminal and console.width >= BESIDE:
        console.print(Columns(tables, padding=(0, 4)))
        return
    for table in tables:
        console.print(table)


def ours(legs: Sequence[Leg], *, plain: bool) -> Table:
    """A row for each run and kill target."""
    table = _table("limpet demo: requests by the site's own log", plain)
    _head(table, "run", "killed", "naive rows", "naive requests", "our rows", "our requests", "repeated requests",
          "in flight at the kills", "seconds (naive)", "kills")  # fmt: skip
    for naive, leg in _pairs(legs):
        table.add_row(
            str(leg.run), WHAT[leg.target], _n(naive.rows), _n(naive.requests), _n(leg.rows), _n(leg.requests),
            _n(leg.repeated), _n(leg.in_flight), f"{leg.seconds:.1f} ({naive.seconds:.1f})", str(len(leg.kills)),
        )  # fmt: skip
    return table


def _pairs(legs: Sequence[Leg]) -> Iterator[tuple[Leg, Leg]]:
    naive = {leg.run: leg for leg in legs if not leg.ours}
    return ((naive[leg.run], leg) for leg in legs if leg.ours)


def theirs(*, plain: bool) -> Table:
    """The published kill test."""
    table = _table(f"published kill test ({SOURCE})", plain)
    _head(table, "run", "naive rows", "naive requests", "idempotent rows", "idempotent requests")
    for run, row in enumerate(PUBLISHED, 1):
        table.add_row(str(run), *map(_n, row))
    return table


def _table(title: str, plain: bool) -> Table:
    return Table(title=title, title_justify="left", box=None if plain else box.SIMPLE_HEAD, pad_edge=False)


def _head(table: Table, *names: str) -> None:
    for name in names:
        table.add_column(name, justify="left" if name == "killed" else "right")


def _n(count: int) -> str:
    return f"{count:,}"
