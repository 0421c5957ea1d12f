"""Ops: what an outbox row tells the frontier to do. Written here, applied by `lua/apply.lua`, nowhere else.

An op is a flat tuple: one letter and a fixed number of integers and short strings. `due` is in milliseconds,
`shift` is how many milliseconds earlier than its due time a page sorts among the due ones, `nonce` is the lease
that the op may end ("" ends any, NOBODY none).

    n first last host due shift      new pages first..last of one host: visible from `due`, unless already there
    k page host nonce                ack: the page leaves the frontier
    p page host nonce due shift      put back: its lease ends, visible from `due`
    r first last host due shift      made due again; one that is leased is left to its holder
    h host delay max until paused robots probe    the host's facts; `robots`: the page that must come first, or 0
    c paused                         1: nothing is handed out; 0: it is again
    s host at                        the host was asked again within a lease: its next slot is not before `at`
    f mark                           the horizon: pages due up to it are in the frontier
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

Op = tuple[str | int, ...]
NOBODY = "-"  # a nonce that no lease has
ITEMS = 500  # at most so many page moves or messages in one outbox row
ARITY = {"n": 6, "k": 4, "p": 6, "r": 6, "h": 8, "c": 2, "s": 3, "f": 2}
SHIFT_PER_PRIORITY = 3_600_000  # a page of priority 1 sorts an hour earlier among the due ones
LOWEST = -24  # a priority below is worth as much: all due pages go back by so many hours, HEAD in _common.lua
HIGHEST = 100_000  # and one above: no score is below 0


def shift(priority: int) -> int:
    """Milliseconds that a priority is worth."""
    return min(max(priority, LOWEST), HIGHEST) * SHIFT_PER_PRIORITY


def weight(op: Op) -> int:
    """How many frontier members the op touches."""
    return int(op[2]) - int(op[1]) + 1 if op[0] in ("n", "r") else 1


def ranges(letter: str, pages: Iterable[tuple[int, int, int, int]]) -> list[Op]:
    """(id, host, due, shift) in order of id, as few range ops, each of at most ITEMS pages."""
    found: list[list[int]] = []
    for page, host, due, moved in pages:
        last = found[-1] if found else None
        if last and last[1] == page - 1 and last[2:] == [host, due, moved] and page - last[0] < ITEMS:
            last[1] = page
        else:
            found.append([page, page, host, due, moved])
    return [(letter, *run) for run in found]


def split(flat: list[str | int]) -> Iterator[Op]:
    """The ops of a flat list, one by one."""
    at = 0
    while at < len(flat):
        size = ARITY[str(flat[at])]
        yield tuple(flat[at : at + size])
        at += size
