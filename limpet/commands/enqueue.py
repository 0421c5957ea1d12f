"""`limpet enqueue`: add URLs to a crawl."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO

import click

from limpet.cli import flags_of, place_options, site_argument
from limpet.engine import Engine
from limpet.exits import Exit, say
from limpet.links import MOST_PRIORITY
from limpet.looking import glimpse
from limpet.passing_on import pass_on
from limpet.shown import plain
from limpet.wanted import Defaults, Report, enqueue_lines, listed
from limpet_producer import enqueue
from limpet_store.errors import UsageError
from limpet_store.scope import Scope
from limpet_store.store import wall_ms


@click.command()
@site_argument
@click.argument("urls", nargs=-1, metavar="[URL]... [-]")
@click.option("--file", "file", type=click.File("rb"), metavar="F", help="Read lines from F; - is stdin.")
@click.option("--seeds", is_flag=True, help="Also what the site file starts from.")
@click.option("--to", metavar="HANDLER", help="The handler of the pages; default: by pattern.")
@click.option(
    "--priority",
    type=click.IntRange(-MOST_PRIORITY, MOST_PRIORITY),
    default=0,
    metavar="N",
    help="A higher one is visited earlier.",
)
@place_options
def command(
    site_file: Path,
    urls: tuple[str, ...],
    file: BinaryIO | None,
    seeds: bool,
    to: str | None,
    priority: int,
    **options: Any,
) -> int:
    """Add pages to the crawl of SITE; it need not have run yet, and may be running.

    A line is a URL or a JSON object with "url" and, if wanted, "to", "data" and "priority". Blank lines and lines
    that begin with # are skipped. A known page is left alone. The exit code is 2 when every line is wrong.
    """
    with Engine(site_file, flags_of(options)) as engine:
        handlers = engine.site.codes().keys()
        if to is not None and to not in handlers:
            raise UsageError(f"--to: no handler {to!r}; there are: {listed(handlers)}")
        lines = _lines(urls, file, needed=not seeds)
        report = _enqueue(engine, seeds, lines, Defaults(to, priority, handlers))
        return _tell(engine, report)


def _lines(urls: tuple[str, ...], file: BinaryIO | None, *, needed: bool) -> Iterable[str]:
    named = [url for url in urls if url != "-"]
    streams: list[BinaryIO] = [sys.stdin.buffer] if "-" in urls else []
    streams += [file] if file is not None else []
    if needed and not named and not streams:
        raise UsageError("nothing to enqueue: name URLs, --file F, - or --seeds")
    read = (line.decode("utf-8", "replace") for stream in streams for line in stream)
    return itertools.chain(named, read)


def _enqueue(engine: Engine, seeds: bool, lines: Iterable[str], defaults: Defaults) -> Report:
    """Commit, then relay if the server answers: a crawl that is running takes the pages at once."""
    store = engine.store
    with glimpse(engine) as seen:
        now = seen.live.frontier.status().now if seen.live else wall_ms()
    site = engine.site
    began = enqueue.seeds(store, site.entries if seeds else (), engine.rules, now=now, bounds=site.bounds)
    scope = Scope(store.db, site.authorities | site.hosts, site.bounds)
    report = enqueue_lines(store, lines, defaults, scope, engine.rules, now=now)
    report.new, report.known = report.new + began.new, report.known + began.known
    report.reasons += began.left_out
    if report.new:
        pass_on(engine, seen, "whoever works next finds the pages")
    return report


def _tell(engine: Engine, report: Report) -> Exit:
    wrong = ", ".join(f"{count} {reason}" for reason, count in report.reasons.most_common())
    if report.rejected and not report.new + report.known:
        raise UsageError(f"nothing was enqueued: {'; '.join(report.examples)} ({wrong})")
    for example in report.examples:
        say(example)
    rejected = f", {report.rejected} rejected ({plain(wrong)})" if wrong else ""
    say(
        f"{engine.site.name}: {report.new} new, {report.known} known{rejected}; state in {engine.settings.home}"
    )
    return Exit.COMPLETE
