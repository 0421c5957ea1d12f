"""When two worlds are the same: recovery from equal worlds is equal, so each is tried once."""

from __future__ import annotations

import re
from typing import Any

from crash.world import World, keyspace

TABLES = {
    "meta": "store_id, epoch, life, pruned, -fence, paused",
    "hosts": "id, name, scope, delay, pace, blocked_until, blocked_at, blocks, streak, rests, robots, robots_at",
    "pages": "key, state, due_at, refresh_at, round, -fence, nonce, open, attempted_at, failures, rereads, lost, "
    "status, fetched_at, canonical, data, missed, missed_at, etag, modified, forgotten",
    "records": "id, version, hash, gone, first_seen, last_changed, url",
    "parts": "record, part, page, -fence, hash, last_seen",
    "also_on": "record, part, page",
    "outbox": "seq, mark, kind, ops, messages, at",
    "handed": "page, parent, data",
    "rejections": "page, n, type, key, field, reason, at",
    "rounds": "number, started_at, refreshed_to, finished_at",
}
# Chance: marks, store ids and tokens are 16 hex digits, nonces end in 8. Record ids are longer and stay.
CHANCE = re.compile(r"(?<![0-9a-f])[0-9a-f]{16}(?![0-9a-f])|\b[a-z]+-\d+-[0-9a-f]{8}\b")


def fingerprint(world: World) -> int:
    """Of everything that a restart can see, and of the repeats that are allowed still. Random names are replaced
    by the order in which they appear, fences by their order. The clock is no part of it: a restart may come later."""
    fences: set[int] = set()
    tables = [_table(world, name, columns, fences) for name, columns in TABLES.items()]
    rank = {fence: n for n, fence in enumerate(sorted(fences))}
    tables = [[_ranked(row, rank) for row in table] for table in tables]
    site = world.website
    asked = sorted(
        (path, n - world.allowed[path], n if path in site.first else 0) for path, n in site.log.items()
    )
    remembered = sorted(
        (name, sorted(value) if isinstance(value, set) else value) for name, value in site.memory.items()
    )
    allowed = sorted((path, n) for path, n in world.allowed.items() if path not in site.log and n)
    there = world.read("SELECT count(*) FROM sqlite_master")
    text = repr((there, tables, redis(world), _published(world), asked, remembered, allowed, world.broken))
    seen: dict[str, str] = {}
    return hash(CHANCE.sub(lambda m: seen.setdefault(m[0], f"<{len(seen)}>"), text))


def _table(world: World, name: str, columns: str, fences: set[int]) -> list[Any]:
    rows = world.read(f"SELECT {columns} FROM {name} ORDER BY 1, 2")
    at = [n for n, column in enumerate(columns.split(", ")) if column == "-fence"]
    marked = [tuple(_Fence(-v) if n in at else v for n, v in enumerate(row)) for row in rows]
    fences.update(value.number for row in marked for value in row if isinstance(value, _Fence))
    return marked


class _Fence:
    def __init__(self, number: int) -> None:
        self.number = number


def _ranked(row: Any, rank: dict[int, int]) -> Any:
    return tuple(f"fence {rank[v.number]}" if isinstance(v, _Fence) else v for v in row)


def _published(world: World) -> str:
    path = world.folder / "db.published"
    return path.read_text() if path.exists() else ""


def redis(world: World) -> list[Any]:
    """Redis as plain values, without the replies that are kept for a dead worker's repeated call."""
    space = keyspace(world)
    return [(key, _plain(space[key])) for key in sorted(space) if b":call:" not in key]


def _plain(item: Any) -> Any:
    value = item.value
    for name in ("_bylex", "_values", "_values_dict"):
        if hasattr(value, name):
            found = getattr(value, name)
            return (
                sorted((str(k), v) for k, v in found.items())
                if name != "_values_dict"
                else list(found.items())
            )
    return value, item.expireat
