"""A look at a crawl as lines that fit a screen: none is wider, and there are not more of them than it is high.

What comes from sites is made plain first. Widths are those of terminals, where a letter may take two cells.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len, set_cell_size

from limpet.shown import one_line, seconds
from limpet.standing import STATES
from limpet.watched import InStore, View
from limpet_store.frontier import InHost
from limpet_store.live import Failed, InHand
from limpet_store.standing import HostStanding

CELL = 25  # a label and a number
GAP = 2
LEAST = 3  # lines of a section: an empty one, its title, a row
LONGEST = 400  # characters of one text that are looked at
Line = tuple[str, str]  # text, style


@dataclass(frozen=True, slots=True)
class Section:
    """A title and a line for each of the first of `total` (0: nobody counts them)."""

    title: Line
    rows: list[Line]
    total: int

    def lines(self, room: int) -> list[Line]:
        """At most `room` of them, an empty one included; nothing where there is no room for a row."""
        if room < LEAST or not self.rows:
            return []
        shown = self.rows[: room - 2]
        if len(shown) < self.total and room > LEAST:
            shown = self.rows[: room - 3]
            shown.append((f"and {self.total - len(shown):,} more", "dim"))
        return [("", ""), self.title, *shown]


def frame(view: View, width: int, height: int) -> list[Line]:
    """The lines, each at most `width` cells wide and at most `height` of them."""
    lines = [_title(view, width), *((one_line(text, LONGEST), "yellow") for text in _words(view))]
    if view.store:
        lines += _grid(list(_numbers(view, view.store)), width)
        sections = _sections(view, view.store, width)
        rooms = _shares(height - len(lines), [len(section.rows) + 2 for section in sections])
        lines += [line for section, room in zip(sections, rooms, strict=True) for line in section.lines(room)]
    return [(fit(text, width), style) for text, style in lines[: max(0, height)]]


def fit(text: str, width: int) -> str:
    """The text, or as much of it as `width` cells hold, with an ellipsis for the rest."""
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, width - 1).rstrip() + "…" if width > 1 else "…"[:width]


def _title(view: View, width: int) -> Line:
    clock = time.strftime("%H:%M:%S", time.localtime(view.at / 1000))
    left = one_line(f"{view.crawl}  {_round(view)}", LONGEST)
    return _ends(left, clock, width), "bold"


def _ends(left: str, right: str, width: int) -> str:
    """One text on the left and one on the right, which stays whole."""
    room = width - cell_len(right) - 1
    return right if room < 1 else set_cell_size(fit(left, room), room) + " " + right


def _round(view: View) -> str:
    found = view.store.round if view.store else None
    if found is None:
        return "no round yet"
    if found.finished_at:
        return f"round {found.number} finished {_ago(view.at - found.finished_at)} ago"
    return f"round {found.number} for {_ago(view.at - found.started_at)}"


def _ago(ms: int) -> str:
    """A duration; a clock that was set back makes none below zero."""
    return _short(max(0, ms) / 1000)


def _short(value: float) -> str:
    return f"{value:.1f} s" if value < 10 else seconds(value)


def _words(view: View) -> Iterator[str]:
    yield from view.trouble
    if view.store and view.store.ends.paused:
        yield f"the crawl is paused: `limpet resume {view.site_file}` goes on"
    if view.redis and view.redis.lag is None:
        yield "the frontier is to be rebuilt: whoever works does it"


def _numbers(view: View, store: InStore) -> Iterator[tuple[str, str]]:
    """Labels and numbers, by importance."""
    rate, counted, found = view.rate, view.census, view.redis
    yield "pages/s", f"{rate.recent:.1f}" if rate else "-"
    yield "average", f"{rate.average:.1f}" if rate else "-"
    yield "in hand", f"{store.ends.in_hand:,}"
    for state in STATES:
        yield state, f"{counted.pages.get(state, 0):,}" if counted else "-"
    yield "requests", f"{store.attempts:,}"
    yield "records", f"{store.ends.records:,}"
    yield "repeat rate", f"{store.attempts / store.ends.records:.2f}" if store.ends.records else "-"
    yield "lag", f"{found.lag:,}" if found and found.lag is not None else "-"
    yield "workers", f"{found.work.workers:,}" if found else "-"
    yield "at work", f"{found.work.slices:,}" if found else "-"
    frontier = counted.frontier if counted else None
    yield "ready", f"{frontier.ready:,}" if frontier else "-"
    yield "later", f"{frontier.delayed:,}" if frontier else "-"
    yield "counted", f"{_ago(round(time.time() * 1000 - counted.at * 1000))} ago" if counted else "-"


def _grid(cells: Sequence[tuple[str, str]], width: int) -> list[Line]:
    """As many beside each other as the width holds, at most three; numbers end in line."""
    across = max(1, min(3, (width + GAP) // (CELL + GAP)))
    cell = min(CELL, width)
    shown = [_ends(label, number, cell) for label, number in cells]
    rows = [shown[at : at + across] for at in range(0, len(shown), across)]
    return [((" " * GAP).join(row), "") for row in rows]


def _sections(view: View, store: InStore, width: int) -> list[Section]:
    hosts = [_host(host, view, width) for host in store.hosts]
    in_hand = [_in_hand(page, view.at, width) for page in store.in_hand]
    failed = [_failed(page, view.at) for page in store.failed]
    numbers = f"{'waiting':>11}{'leased':>8}{'next':>8}"
    return [
        Section((_ends(f"hosts  {store.hosts_total:,}", numbers, width), "bold"), hosts, store.hosts_total),
        Section(
            (_ends(f"in hand  {store.ends.in_hand:,}", "worker    age", width), "bold"),
            in_hand,
            store.ends.in_hand,
        ),
        Section(("last errors", "bold"), failed, 0),
    ]


def _host(host: HostStanding, view: View, width: int) -> Line:
    found = view.redis.hosts.get(host.id) if view.redis else None
    trouble = _trouble(host, view.at)
    waiting, leased = (found.waiting, found.leased) if found else (None, None)
    numbers = f"{_number(waiting)}{_number(leased, 8)}{_next(found, view.at):>8}"
    named = f"{host.origin}  {trouble}" if trouble else host.origin
    return _ends(one_line(named, LONGEST), numbers, width), "yellow" if trouble else ""


def _number(value: int | None, width: int = 11) -> str:
    return f"{'-' if value is None else f'{value:,}':>{width}}"


def _next(found: InHost | None, now: int) -> str:
    if found is None or found.next_at is None:
        return "-"
    return "now" if found.next_at <= now else _ago(found.next_at - now)


def _trouble(host: HostStanding, now: int) -> str:
    """What holds the host back, in a few words."""
    why = f": {host.error}" if host.error else ""
    if host.held:
        return f"held{why}"
    if host.paused:
        return "paused"
    if host.blocked_until:
        word = "rests" if host.resting else "blocked"
        return f"{word} for {_ago(host.blocked_until - now)}{why}"
    return "robots.txt unknown" if host.robots_unknown else ""


def _in_hand(page: InHand, now: int, width: int) -> Line:
    right = f"{one_line(page.worker, 24)} {_ago(now - page.since):>7}"
    return _ends(one_line(page.url, LONGEST), right, width), ""


def _failed(page: Failed, now: int) -> Line:
    return one_line(f"{_ago(now - page.at):>7}  {' '.join(page.error.split())}  {page.url}", LONGEST), ""


def _shares(room: int, wanted: Sequence[int]) -> list[int]:
    """The room shared out line by line, none gets more than it wants; what is too little for a row goes to others."""
    given = [0] * len(wanted)
    open_to = [at for at, lines in enumerate(wanted) if lines >= LEAST]
    while len(open_to) * LEAST > max(0, room):
        open_to.pop()
    left = room
    while left > 0 and (hungry := [at for at in open_to if given[at] < wanted[at]]):
        for at in hungry[:left]:
            given[at] += 1
            left -= 1
    return given
