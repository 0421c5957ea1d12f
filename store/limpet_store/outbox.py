"""The outbox: rows written in the transaction whose effects they carry, applied later by the relay (R-9, R-10)."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from limpet_store.database import Database
from limpet_store.ops import ITEMS, Op, split, weight

INSERT = "INSERT INTO outbox (mark, kind, ops, messages, n, at) VALUES (?, ?, ?, ?, ?, ?)"
AFTER = "SELECT seq, mark, ops, messages FROM outbox WHERE seq >= ? ORDER BY seq LIMIT ?"


@dataclass(slots=True)
class Entry:
    """One row to be: everything that one page outcome (or enqueue, refresh, ...) changes outside SQL."""

    kind: str
    ops: list[Op] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class OutboxRow:
    """A row as the relay reads it. `messages` are final bytes as text, in order."""

    seq: int
    mark: str
    ops: list[str | int]
    messages: list[str]

    @property
    def size(self) -> int:
        """How much work it is for a Lua call: pages that it moves and messages that it adds."""
        return sum(weight(op) for op in split(self.ops)) + len(self.messages)


def append(db: Database, entries: Iterable[Entry], at: int) -> None:
    """Write the entries in order, inside the caller's transaction; a large one becomes several rows.

    The last op of an entry, its ack, stays in the last row: a page is done when all it gave has been applied.
    """
    rows = [
        (
            secrets.token_hex(8),
            entry.kind,
            json.dumps(flat, separators=(",", ":")),
            "\n".join(messages),
            len(messages),
            at,
        )
        for entry in entries
        for flat, messages in _rows(entry)
    ]
    if rows:
        db.many(INSERT, rows)


def _rows(entry: Entry) -> Iterator[tuple[list[str | int], Sequence[str]]]:
    flat: list[str | int] = []
    items = 0
    for op in entry.ops:
        if items and items + weight(op) > ITEMS:
            yield flat, ()
            flat, items = [], 0
        flat.extend(op)
        items += weight(op)
    messages = entry.messages
    while len(messages) > ITEMS:
        yield [], messages[:ITEMS]
        messages = messages[ITEMS:]
    if flat or messages:
        yield flat, messages


def after(db: Database, seq: int, limit: int = 200) -> list[OutboxRow]:
    """The rows from `seq` on, that of `seq` itself included, oldest first."""
    return [
        OutboxRow(seq, mark, json.loads(ops), messages.split("\n") if messages else [])
        for seq, mark, ops, messages in db.rows(AFTER, (seq, limit))
    ]


def top(db: Database) -> tuple[int, str]:
    """(seq, mark) of the newest row; (0, "") before the first."""
    found = db.one("SELECT seq, mark FROM outbox ORDER BY seq DESC LIMIT 1")
    return (found[0], found[1]) if found else (0, "")
