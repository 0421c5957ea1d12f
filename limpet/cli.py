"""The command line. Commands live in `limpet.commands`, one file each, and are imported when they are called."""

from __future__ import annotations

import importlib
import logging
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from limpet.exits import guarded, say
from limpet.site import VERSION

F = TypeVar("F", bound=Callable[..., Any])

SUMMARY = {  # command -> the line that `limpet --help` shows, in this order
    "crawl": "Crawl a site: finish what is unfinished, or start a new round.",
    "enqueue": "Add URLs; known ones are left alone.",
    "consume": "Run a pool of workers on a crawl.",
    "status": "How a crawl stands, problems first.",
    "export": "The records, as JSON lines or CSV.",
    "changes": "The messages, as JSON lines.",
    "verify": "Check the invariants on the crawl's own data.",
    "rebuild": "Build the frontier and the stream again from the store.",
    "doctor": "Look at this machine and at the settings, with their origin.",
    "path": "Print the path of the crawl's database.",
    "reset": "Delete a crawl's data, to start over.",
    "demo": "Crawl the built-in shop while it is killed, and check every value.",
    "_worker": "",
}


class Commands(click.Group):
    """Loads a command's module when it is asked for: `limpet path` must not pay for RQ."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for name in SUMMARY if not name.startswith("_")]

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in SUMMARY:
            return None
        module = importlib.import_module(f"limpet.commands.{name.removeprefix('_')}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, SUMMARY[name]) for name in self.list_commands(ctx)])


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(VERSION, prog_name="limpet", message="%(prog)s %(version)s")
def limpet() -> None:
    """Scrape catalogues so that restarts are boring: kill it anywhere, start it again, and every record is there
    exactly once.

    Exit codes: 0 complete; 1 limpet failed; 2 wrong use; 3 complete, with dead pages or rejected records; 4 stopped
    early; 5 complete without a single record; 130 or 143 interrupted, work released.
    """


def site_argument(command: F) -> F:
    """The site file."""
    return click.argument("site_file", type=click.Path(path_type=Path), metavar="SITE.PY")(command)


def place_options(command: F) -> F:
    """Where the crawl's state lives; a flag beats the environment, which beats the default."""
    for option in (
        click.option("--verbose", is_flag=True, help="Say what the engine does."),
        click.option("--store", "store_path", metavar="URL", help="Database file or sqlite:///path.  [env: LIMPET_STORE_URL]"),
        click.option("--redis", "redis_url", metavar="URL", help="A Redis >= 7.0 or Valkey >= 7.2; default: an embedded one.  [env: LIMPET_REDIS_URL]"),
        click.option("--home", metavar="FOLDER", help="Default: .limpet beside the site file.  [env: LIMPET_HOME]"),
    ):  # fmt: skip
        command = option(command)
    return command


def flags_of(options: dict[str, Any]) -> dict[str, Any]:
    """The place options out of a command's options; sets up logging on the way."""
    set_up_logging(bool(options.pop("verbose", False)))
    return {name: options.pop(name, None) for name in ("home", "redis_url", "store_path")}


def set_up_logging(verbose: bool) -> None:
    """Our log lines on stderr; the engine's words only when asked for."""
    logging.basicConfig(
        level=logging.DEBUG if verbose else logging.WARNING,
        format="%(asctime)s %(name)s: %(message)s" if verbose else "limpet: %(message)s",
        stream=sys.stderr,
    )
    for noisy in ("urllib3", "rq", "asyncio"):
        logging.getLogger(noisy).setLevel(logging.WARNING)


def main() -> None:
    """The `limpet` command."""
    code = guarded(lambda: limpet.main(standalone_mode=False))
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        sys.stderr.close()
    sys.exit(code)


__all__ = ["flags_of", "limpet", "main", "place_options", "say", "site_argument"]
