"""`limpet dead`: pages that were given up, and another chance for them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import click

from limpet import shown
from limpet.addressed import canonicals
from limpet.cli import Utf8, flags_of, place_options, site_argument
from limpet.engine import Engine
from limpet.exits import Exit, say
from limpet.looking import glimpse
from limpet.passing_on import pass_on
from limpet_store import dead
from limpet_store.dead import DeadPage, Which
from limpet_store.errors import UsageError
from limpet_store.message import rfc3339
from limpet_store.store import wall_ms
from limpet_store.summary import counted

F = TypeVar("F", bound=Callable[..., Any])
BY: dict[str, Callable[[DeadPage], str]] = {
    "reason": lambda page: page.reason,
    "host": lambda page: page.host,
    "error": lambda page: _first_line(page.error),
    "handler": lambda page: page.handler or (page.code or "").partition(":")[0],
}


def filters(command: F) -> F:
    """Which of the dead pages: for `list` and `retry`."""
    for option, metavar, help_ in (
        ("--match", "PATTERN", "Those whose whole URL fits; * stands for anything, ? for one character."),
        ("--error", "TEXT", "Those whose error has this in it."),
        ("--reason", "REASON", "Those that are dead for this reason; broken links and the like only so."),
        ("--host", "HOST", "Those of this host: name, name:port or origin."),
    ):
        command = click.option(option, metavar=metavar, type=Utf8(), help=help_)(command)
    return command


@click.group(invoke_without_command=True)
@click.pass_context
def command(ctx: click.Context) -> None:
    """Pages that were given up: after the last try, or at once where no other can help.

    A page is dead for its round: the next one tries it again by itself.
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


@command.command("list")
@site_argument
@filters
@click.option(
    "--by", type=click.Choice(list(BY)), help="Count them by this instead, the most frequent first."
)
@click.option(
    "--limit", type=click.IntRange(0), default=50, metavar="N", help="At most so many lines; 0: all."
)
@click.option("--json", "machine", is_flag=True, help="JSON lines, with tracebacks.")
@place_options
def list_(
    site_file: Path, host: str | None, reason: str | None, error: str | None, match: str | None, by: str | None,
    limit: int, machine: bool, **options: Any,
) -> int:  # fmt: skip
    """The dead pages of SITE, one a line: reason, tries, status, URL, and how the error begins.

    Broken links, what robots.txt forbids, what the site file excludes and what was forgotten are no failures: they are
    listed by --reason alone.
    """
    which = Which(host=host, reason=reason, error=error, match=match)
    with Engine(site_file, flags_of(options)) as engine:
        found = dead.find(engine.existing_store(), which)
        lines = _counts(found, BY[by], machine) if by else map(_object if machine else _line, found)
        for line in islice(lines, limit or None):
            click.echo(line)
        if more := sum(1 for _ in lines):
            say(f"and {more} more: --limit 0 lists all")
    return Exit.COMPLETE


@command.command()
@site_argument
@click.argument("url", type=Utf8())
@place_options
def show(site_file: Path, url: str, **options: Any) -> int:
    """Why the page of URL is dead: reason, tries, and the whole error with its traceback.

    `limpet show` tells where a page comes from as well. The exit code is 1 when no page of that URL is dead.
    """
    with Engine(site_file, flags_of(options)) as engine:
        which = Which(urls=canonicals(engine, url))
        found = list(dead.find(engine.existing_store(), which))
    for page in found:
        for name, text in _facts(page):
            click.echo(f"{name:9}{shown.one_line(text)}")
        click.echo(shown.plain(page.error or "no error was kept"))
    if not found:
        say(f"no page of that URL is dead; `limpet show {site_file} URL` tells what it is")
        return Exit.FAILED
    return Exit.COMPLETE


@command.command()
@site_argument
@click.argument("urls", nargs=-1, metavar="[URL]...", type=Utf8())
@filters
@click.option("--all", "all_", is_flag=True, help="All that are failures.")
@place_options
def retry(
    site_file: Path, urls: tuple[str, ...], host: str | None, reason: str | None, error: str | None,
    match: str | None, all_: bool, **options: Any,
) -> int:  # fmt: skip
    """Make dead pages of SITE due again, now and with all their tries: those of the URLs, those that fit, or --all.

    Pools that run take them at once. What is still forbidden is given up again without a request.
    """
    if not urls and not any((host, reason, error, match, all_)):
        raise UsageError("which? name URLs, --host, --reason, --error, --match or --all")
    with Engine(site_file, flags_of(options)) as engine:
        store = engine.existing_store()
        named = tuple(each for url in urls for each in canonicals(engine, url)) or None
        with glimpse(engine) as seen:
            count = dead.retry(
                store, Which(urls=named, host=host, reason=reason, error=error, match=match), now=wall_ms()
            )
            if count:
                pass_on(engine, seen, "whoever works next finds them")
        say(f"{engine.site.name}: {counted(count, 'page')} due again")
    return Exit.COMPLETE


def _counts(found: Iterable[DeadPage], key: Callable[[DeadPage], str], machine: bool) -> Iterable[str]:
    counts: Counter[str] = Counter()
    example: dict[str, str] = {}
    for page in found:
        name = key(page)
        counts[name] += 1
        example.setdefault(name, page.url)
    for name, count in counts.most_common():
        if machine:
            yield shown.as_json({"what": name, "count": count, "example": example[name]})
        else:
            yield shown.one_line(f"{count:7}  {name or 'none'}, e.g. {example[name]}", 400)


def _line(page: DeadPage) -> str:
    status = f", status {page.status}" if page.status else ""
    return shown.one_line(
        f"{page.reason}, {_tries(page)}{status}: {page.url}: {_first_line(page.error)}", 400
    )


def _object(page: DeadPage) -> str:
    return shown.as_json(
        {
            "url": page.url, "host": page.host, "handler": page.handler, "reason": page.reason, "status": page.status,
            "failures": page.failures, "lost": page.lost, "error": page.error,
            "attempted": None if page.attempted_at is None else rfc3339(page.attempted_at),
        }
    )  # fmt: skip


def _facts(page: DeadPage) -> Iterable[tuple[str, str]]:
    yield "page", page.url
    yield "reason", page.reason
    yield "tries", _tries(page)
    if page.status:
        yield "status", str(page.status)
    if page.attempted_at is not None:
        yield "last", rfc3339(page.attempted_at)


def _tries(page: DeadPage) -> str:
    parts = [counted(page.failures, "failure")] if page.failures else []
    parts += [f"lost with its worker {counted(page.lost, 'time')}"] if page.lost else []
    return ", ".join(parts) or "never tried"


def _first_line(error: str | None) -> str:
    return (error or "").strip().partition("\n")[0]
