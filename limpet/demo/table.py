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
SOURCE = 'from "Designing an idempotent scraper: restart without duplication", published, 2026-10-02'
WHAT = {"worker": "one worker", "everything": "everything"}
BESIDE = 130  # columns of a terminal that holds both tables side by side


def show(legs: Sequence[Leg], console: Console, *, published: bool) -> None:
    """Print our table, and the published one beside or below it."""
    tables: list[RenderableType] = [ours(legs, plain=not console.is_terminal)]
    if published:
        tables.append(theirs(plain=not console.is_terminal))
    if len(tables) > 1 and console.is_terminal and console.width >= BESIDE:
        tables = [Columns(tables, padding=(0, 4))]
    for table in tables:
        console.print(table)
    if published:
        console.print(SOURCE, soft_wrap=True)


def ours(legs: Sequence[Leg], *, plain: bool) -> Table:
    """A row for each run and kill target; it fits into 80 columns."""
    table = _table("limpet demo (requests by the site's own log; s: seconds)", plain)
    _head(table, "run", "killed", "naive\nrows", "naive\nrequests", "our\nrows", "our\nrequests",
          "repeated\nrequests", "in flight\nat kills", "naive\ns", "our\ns")  # fmt: skip
    for naive, leg in _pairs(legs):
        table.add_row(
            str(leg.run), WHAT[leg.target], _n(naive.rows), _n(naive.requests), _n(leg.rows), _n(leg.requests),
            _n(leg.repeated), _n(leg.in_flight), f"{naive.seconds:.1f}", f"{leg.seconds:.1f}",
        )  # fmt: skip
    return table


def _pairs(legs: Sequence[Leg]) -> Iterator[tuple[Leg, Leg]]:
    naive = {leg.run: leg for leg in legs if not leg.ours}
    return ((naive[leg.run], leg) for leg in legs if leg.ours)


def theirs(*, plain: bool) -> Table:
    """The published kill test."""
    table = _table("the published kill test", plain)
    _head(table, "run", "naive\nrows", "naive\nrequests", "idempotent\nrows", "idempotent\nrequests")
    for run, row in enumerate(PUBLISHED, 1):
        table.add_row(str(run), *map(_n, row))
    return table


def _table(title: str, plain: bool) -> Table:
    return Table(title=title, title_justify="left", title_style="bold", padding=(0, int(plain), 0, 0),
                 box=None if plain else box.SIMPLE_HEAD, pad_edge=False)  # fmt: skip


def _head(table: Table, *names: str) -> None:
    for name in names:
        table.add_column(name, justify="left" if name == "killed" else "right")


def _n(count: int) -> str:
    return f"{count:,}"
