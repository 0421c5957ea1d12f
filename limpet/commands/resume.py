"""`limpet resume`: the end of a pause."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from limpet.cli import place_options, site_argument
from limpet.commands.pause import host_option, switch


@click.command()
@site_argument
@host_option
@place_options
def command(site_file: Path, hosts: tuple[str, ...], **options: Any) -> int:
    """Go on with what `limpet pause` has paused: the crawl of SITE, or with --host a host of it.

    Hosts that were paused by name are resumed by name.
    """
    return switch(site_file, hosts, options, paused=False)
