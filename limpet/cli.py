"""The command line. Commands live in `limpet.commands`, one file each, and are imported when they are called."""

from __future__ import annotations

import difflib
import importlib
import keyword
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from limpet import logs, settings
from limpet.exits import Exit, guarded, open_streams, say
from limpet.site import VERSION

F = TypeVar("F", bound=Callable[..., Any])

SUMMARY = {  # command -> the line that `limpet --help` shows, in this order
    "new": "Begin a site file from a URL: what is there is looked at, and a draft written.",
    "try": "Fetch one page and run its handler, storing nothing.",
    "check": "Run the handlers on saved pages and compare; no network.",
    "shell": "Python with a page of the site in it.",
    "crawl": "Crawl a site: finish what is unfinished, or start a new round.",
    "enqueue": "Add URLs; known ones are left alone.",
    "consume": "Run a pool of workers on a crawl.",
    "pause": "Begin no more pages, of a crawl or of a host, until it is resumed.",
    "resume": "Go on after a pause.",
    "status": "How a crawl stands, problems first.",
    "dead": "Pages that were given up: list, show, or retry them.",
    "forget": "Visit pages no more, and let their records be gone.",
    "show": "The story of one page or record, or why a page was never fetched.",
    "export": "The records, as JSON lines or CSV.",
    "changes": "The messages, as JSON lines.",
    "verify": "Check the invariants on the crawl's own data.",
    "rebuild": "Build the frontier and the stream again from the store.",
    "backup": "Copy the crawl's database, while it is in use too.",
    "restore": "Put a copy back.",
    "doctor": "Look at this machine and at the settings, with their origin.",
    "path": "Print the path of the crawl's database.",
    "reset": "Delete a crawl's data, to start over.",
    "demo": "Crawl the built-in shop while it is killed, and check every value.",
    "_worker": "",
}

READ = frozenset(
    {"changes", "check", "dead", "doctor", "export", "path", "show", "status", "try", "verify"}
)  # their stdout is all they do


class Commands(click.Group):
    """Loads a command's module when it is asked for: `limpet path` must not pay for RQ."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # `limpet export | head`: the reader has enough, and that is no failure
            if ctx.invoked_subcommand not in READ:
                raise
            hush()
            return Exit.COMPLETE

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for name in SUMMARY if not name.startswith("_")]

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in SUMMARY:
            return None
        file = f"{name}_" if keyword.iskeyword(name) else name.removeprefix("_")
        module = importlib.import_module(f"limpet.commands.{file}")
        command: click.Command = module.command
        command.short_help = SUMMARY[name]
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, SUMMARY[name]) for name in self.list_commands(ctx)])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in SUMMARY and not args[0].startswith("-"):
            near = difflib.get_close_matches(args[0], self.list_commands(ctx), n=1, cutoff=0.5)
            hint = f"did you mean {near[0]}?" if near else "limpet --help lists them"
            ctx.fail(f"there is no command {args[0]!r}; {hint}")
        return super().resolve_command(ctx, args)


COMPLETION = """Completion of commands and options in bash:  eval "$(_LIMPET_COMPLETE=bash_source limpet)"
(zsh_source, fish_source for these)."""


@click.group(
    cls=Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=COMPLETION,
)
@click.version_option(VERSION, prog_name="limpet", message="%(prog)s %(version)s")
@click.pass_context
def limpet(ctx: click.Context) -> None:
    """Scrape catalogues so that restarts are boring: kill it anywhere, start it again, and every record is there
    exactly once.

    Exit codes: 0 complete; 1 limpet failed; 2 wrong use; 3 complete, with dead pages or rejected records; 4 stopped
    early; 5 complete without a single record; 130 or 143 interrupted (Ctrl-C; SIGTERM, SIGHUP), work released.
    """
    logs.use("text")  # until a command that has the option says otherwise
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


class Utf8(click.ParamType):  # type: ignore[type-arg]  # generic only in newer clicks
    """Text that can be looked for in the store: what no URL, host or error can be is a mistake of the caller's."""

    name = "text"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            value.encode()
        except UnicodeEncodeError:
            self.fail(f"{value!r} is not UTF-8", param, ctx)
        return value


def site_argument(command: F) -> F:
    """The site file."""
    return click.argument("site_file", type=click.Path(path_type=Path), metavar="SITE")(command)


def optional_site_argument(command: F) -> F:
    """The site file, or None: then the one in this folder is meant."""
    return click.argument("site_file", type=click.Path(path_type=Path), metavar="[SITE]", required=False)(
        command
    )


FLAGS = (
    "home", "redis_url", "store_path", "ignore_robots", "verbose", "log_format", "metrics_port", "metrics_address",
)  # fmt: skip

PLACES = (  # option, name, what it is, help, environment
    (
        "--home",
        "home",
        "FOLDER",
        "Where the state lives; default: .limpet beside the site file.",
        "LIMPET_HOME",
    ),
    (
        "--redis",
        "redis_url",
        "URL",
        "A Redis >= 7.0 or Valkey >= 7.2; default: an embedded one.",
        "LIMPET_REDIS_URL",
    ),
    ("--store", "store_path", "URL", "Database file or sqlite:///path.", "LIMPET_STORE_URL"),
)


def place_options(command: F) -> F:
    """Where the crawl's state lives; a flag beats the environment, which beats the default."""
    command = click.option("--verbose", is_flag=True, help="Say what the engine does.")(command)
    command = click.option(
        "--log-format",
        type=click.Choice(logs.FORMATS),
        is_eager=True,  # before what may be wrong about others
        callback=_speak,
        help="How stderr speaks: lines for people, or one JSON object a line.  [env: LIMPET_LOG_FORMAT]",
    )(command)
    for option, name, what, help_, variable in reversed(PLACES):
        command = click.option(option, name, metavar=what, help=f"{help_}  [env: {variable}]")(command)
    return command


def _speak(ctx: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    if not ctx.resilient_parsing:
        logs.use(settings.log_format(value))
    return value


def metrics_options(command: F) -> F:
    """For those that have workers."""
    command = click.option(
        "--metrics-address",
        metavar="ADDRESS",
        help="Where that port is; default: 127.0.0.1.  [env: LIMPET_METRICS_ADDRESS]",
    )(command)
    return click.option(
        "--metrics-port",
        type=click.IntRange(0, 65_535),
        metavar="N",
        help="Show metrics to Prometheus on this port; 0: on a free one.  [env: LIMPET_METRICS_PORT]",
    )(command)


def robots_option(command: F) -> F:
    """For those that work on a crawl."""
    return click.option(
        "--ignore-robots", is_flag=True, help="Fetch what robots.txt forbids, and do not read it."
    )(command)


def drain_option(command: F) -> F:
    """For those that have workers."""
    return click.option(
        "--drain",
        is_flag=True,
        help="The first Ctrl-C or SIGTERM lets pages in hand be finished; the next one stops as usual.",
    )(command)


def flags_of(options: dict[str, Any]) -> dict[str, Any]:
    """The place options out of a command's options; sets up logging on the way."""
    logs.set_up(verbose=bool(options.get("verbose")))
    return {name: options.pop(name, None) for name in FLAGS}


def main() -> None:
    """The `limpet` command."""
    open_streams()
    code = guarded(_run)
    try:
        sys.stdout.flush()
    except OSError:
        hush()  # said already, or nobody reads any more
    sys.exit(code)


def _run() -> object:
    result = limpet.main(prog_name="limpet", standalone_mode=False)
    try:
        sys.stdout.flush()  # here, where a full disk is still an error of the command
    except BrokenPipeError:
        hush()
    return result


def hush() -> None:
    """Nobody reads stdout any more: what is still buffered goes nowhere, without complaint."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


__all__ = [
    "Utf8",
    "drain_option",
    "flags_of",
    "limpet",
    "main",
    "metrics_options",
    "optional_site_argument",
    "place_options",
    "robots_option",
    "say",
    "site_argument",
]
