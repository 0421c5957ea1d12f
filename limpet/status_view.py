"""`limpet status` for people: a screen in a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import click

from limpet.shown import one_line, seconds
from limpet.standing import STATES, Status
from limpet_store.message import rfc3339
from limpet_store.standing import HostStanding

MOST_PROBLEMS, MOST_HOSTS = 12, 8  # so that it stays one screen


def show(status: Status) -> None:
    """Print it on stdout."""
    problems = list(status.problems())
    if len(problems) > MOST_PROBLEMS:
        problems[MOST_PROBLEMS - 1 :] = [f"and {len(problems) - MOST_PROBLEMS + 1} more: --json has them all"]
    rows = list(_rows(status))
    if sys.stdout.isatty():
        _screen(problems, rows)
        return
    for problem in problems:
        click.echo(f"problem: {problem}")
    for name, text in rows:
        click.echo(f"{name}: {text}")


def _screen(problems: list[str], rows: list[tuple[str, str]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False)  # heeds NO_COLOR
    for problem in problems:
        console.print(Text(f"! {problem}", style="bold red"))
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold")
    grid.add_column(overflow="fold")
    before = ""
    for name, text in rows:
        grid.add_row("" if name == before else name, Text(text))
        before = name
    console.print(grid)


def _rows(status: Status) -> Iterator[tuple[str, str]]:
    counts = status.counts
    yield "crawl", one_line(f"{status.crawl} ({status.site_file})")
    yield "pages", _pages(status)
    if counts.sitemaps:
        yield "sitemaps", ", ".join(f"{counts.sitemaps[s]:,} {s}" for s in STATES if s in counts.sitemaps)
    rate = f", {counts.repeat_rate:.2f} for each record" if counts.repeat_rate else ""
    yield (
        "records",
        f"{counts.records:,}, {counts.versions:,} versions; this round {counts.attempts:,} requests{rate}",
    )
    broken = sum(count for count, *_ in counts.dead.values())
    if broken:
        yield (
            "dead",
            ", ".join(
                f"{count:,} {one_line(reason)}" for reason, (count, _, _) in sorted(counts.dead.items())
            ),
        )
    if counts.stale is None:
        yield "not counted", "pages by the handler that read them: there are too many"
    yield "round", _round(status)
    for host in status.hosts[:MOST_HOSTS]:
        yield "host", one_line(_host(host))
    if status.hosts_total > MOST_HOSTS:
        yield "host", f"and {status.hosts_total - MOST_HOSTS:,} more"
    yield "workers", _workers(status)
    lag = "unknown" if status.lag is None else f"{status.lag:,} rows"
    yield "lag", f"{lag} (Redis is {status.redis})"
    yield "store", one_line(str(status.store))


def _pages(status: Status) -> str:
    states = status.counts.states
    parts = [f"{states[state]:,} {state}" for state in STATES if states.get(state)]
    if status.in_flight:
        parts.append(f"{status.in_flight:,} in flight")
    if status.next_due is not None and status.next_due > status.at:
        parts.append(f"next in {seconds((status.next_due - status.at) / 1000)}")
    return ", ".join(parts) or "none"


def _workers(status: Status) -> str:
    here = f"{status.workers} on this machine"
    if status.queue is None:
        return here
    return f"{here}, {status.queue.workers} on all, {status.queue.slices} at work, {status.queue.queued} tickets queued"


def _round(status: Status) -> str:
    found = status.round
    if found is None:
        return "none yet"
    end = f"finished {rfc3339(found.finished_at)}" if found.finished_at else "unfinished"
    return f"{found.number} ({found.why}), begun {rfc3339(found.started_at)}, {end}"


def _host(host: HostStanding) -> str:
    parts = [f"delay {host.delay / 1000:g} s" if host.delay else "no delay"]
    if host.max_in_flight:
        parts.append(f"at most {host.max_in_flight} in flight")
    parts += [word for word, holds in _words(host) if holds]
    return f"{host.origin}  {', '.join(parts)}"


def _words(host: HostStanding) -> list[tuple[str, bool]]:
    until = rfc3339(host.blocked_until) if host.blocked_until else ""
    return [
        ("held", host.held),
        ("paused", host.paused),
        (f"left alone until {until}", bool(until)),
        ("resting", host.resting),
        ("robots.txt unknown", host.robots_unknown),
    ]
