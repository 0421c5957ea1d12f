"""The messages, straight from the outbox: for a reader that keeps its own position.

A position is (seq, mark) of the last row read. The mark is random, so a store that was copied back to an older
state is noticed, instead of rows being left out silently.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

from limpet_store.errors import UsageError
from limpet_store.store import Store

CHUNK = 200  # rows in one read
ROWS = f"SELECT seq, mark, messages FROM outbox WHERE seq >= ? ORDER BY seq LIMIT {CHUNK}"


@dataclass(frozen=True, slots=True)
class Position:
    """How far somebody has read; the text form is `seq.mark`, and `0` before the first row."""

    seq: int = 0
    mark: str = ""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Raises UsageError for what was never printed as a position."""
        found = re.fullmatch(r"([0-9]{1,18})\.([0-9a-f]+)", text)
        if found:
            return cls(int(found[1]), found[2])
        if text == "0":
            return cls()
        raise UsageError(f"{text!r} is no position: give what an earlier `limpet changes` printed as one")

    def __str__(self) -> str:
        return f"{self.seq}.{self.mark}" if self.seq else "0"


class PositionLost(UsageError):
    """The row of a position is not in the store any more: messages after it may be missing too."""


def after(store: Store, position: Position) -> Iterator[tuple[Position, list[str]]]:
    """Rows after `position`, oldest first: the position once a row is read, and its messages (maybe none).

    Ends at the newest row. Raises PositionLost.
    """
    while True:
        rows = store.db.rows(ROWS, (position.seq,))
        if position.seq:
            if not rows or rows[0][:2] != (position.seq, position.mark):
                raise PositionLost(_lost(store, position))
            rows = rows[1:]
        for seq, mark, messages in rows:
            position = Position(seq, mark)
            yield position, messages.split("\n") if messages else []
        if len(rows) < CHUNK - 1:
            return


def pruned(store: Store) -> int:
    """The highest row that retention has removed; 0 when all are there."""
    return int(store.db.value("SELECT pruned FROM meta"))


def _lost(store: Store, position: Position) -> str:
    if position.seq <= pruned(store):
        why = "messages after it were removed by retention"
    else:
        why = "the store went back in time since"
    return f"position {position} is gone ({why}): read the records with `limpet export`, then go on without --since"
