"""`limpet new`: a site file from a URL."""

from __future__ import annotations

import re
from pathlib import Path

import click

from limpet.exits import Exit, say
from limpet.load import load_site
from limpet.shown import one_line
from limpet.starting.draft import text
from limpet.starting.explore import Explorer
from limpet.trying.lab import walk
from limpet.trying.view import code, show
from limpet_store.errors import UsageError


@click.command()
@click.argument("site_file", type=click.Path(path_type=Path), metavar="SITE.PY")
@click.argument("url", metavar="URL")
@click.option("--name", metavar="NAME", help="Of the crawl; default: that of the file.")
@click.option("--ignore-robots", is_flag=True, help="Look though robots.txt forbids it.")
def command(site_file: Path, url: str, name: str | None, ignore_robots: bool) -> int:
    """Look at URL and at two of the pages that it lists, and write SITE.PY: a draft with patterns, links, the next page
    of the list, and the fields of a record, from structured data where there is any. Then it is tried.

    A file that is there is never overwritten. Exit codes: 2 when nothing can be drafted of what the site answers, else
    those of `limpet try`.
    """
    if site_file.exists():
        raise UsageError(f"{site_file} is there already: choose another name, or remove it first")
    if site_file.suffix != ".py":
        raise UsageError(f"{site_file}: a site file is a Python file: {site_file.name}.py")
    if not url.startswith(("http://", "https://")):
        url = f"https://{url}"
    explorer = Explorer(name or _name(site_file), url, ignore_robots=ignore_robots, say=say)
    draft = explorer.draft()
    site_file.parent.mkdir(parents=True, exist_ok=True)
    site_file.write_text(text(draft), encoding="utf-8")
    say(f"wrote {site_file}; this is what it makes of {explorer.url}:")
    for remark in explorer.remarks:
        say(one_line(remark, 300))
    site = load_site(site_file)
    tried = []
    for trial in walk(explorer.lab_for(site), explorer.url, follow=True):
        click.echo()
        show(trial)
        tried.append(trial)
    recognised = bool(draft.listing or draft.detail or draft.api)
    result = code(tried) if recognised else Exit.EMPTY
    say(_next(site_file, result))
    return result


def _name(site_file: Path) -> str:
    name = re.sub(r"[^a-z0-9._-]+", "-", site_file.stem.lower()).strip("-._")
    return name or "site"


def _next(site_file: Path, result: Exit) -> str:
    words = {
        Exit.COMPLETE: "it looks right",
        Exit.IMPERFECT: "records were rejected",
        Exit.EMPTY: "there is nothing in it yet",
    }
    return (
        f"\n{words.get(result, 'a page failed')}. Next:\n"
        f"  limpet try {site_file} --follow    # look again, after each change\n"
        f"  limpet crawl {site_file} --limit 20\n"
        f"  limpet export {site_file}"
    )
