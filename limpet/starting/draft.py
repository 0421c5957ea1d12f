"""The text of a site file, from what was guessed."""

from __future__ import annotations

import json
import keyword
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from limpet.shown import one_line
from limpet.starting.blocks import Blocks
from limpet.starting.fields import Thing

SHOWN = 44  # characters of an example in a comment
WIDE = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """A page that leads to others: its patterns, where it goes on, its cards."""

    patterns: Sequence[str]
    following: str | None
    blocks: Blocks


@dataclass(frozen=True, slots=True, kw_only=True)
class Detail:
    """A page of one thing. `params` are the names of the URL's pieces that tell one from another."""

    name: str
    patterns: Sequence[str]
    thing: Thing | None
    params: Sequence[str]
    other: Sequence[str] = ()  # structured data that is there besides


@dataclass(frozen=True, slots=True, kw_only=True)
class Api:
    """JSON: the way to a list of objects (None: it is one object), what tells them apart, and the way to the URL of
    the next page."""

    patterns: Sequence[str]
    path: Sequence[str] | None
    key: str | None
    fields: Sequence[str]
    following: Sequence[str] | None
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A whole site to be."""

    name: str
    seed: str
    sitemap: bool = False  # whether the seed is one
    listing: Listing | None = None
    detail: Detail | None = None
    api: Api | None = None


def text(draft: Draft) -> str:
    """The site file. It loads, and is laid out as ruff would."""
    blocks = ["\n".join(_head(draft))]
    if draft.listing:
        blocks.append("\n".join(_listing(draft.listing, draft.detail)))
    if draft.detail:
        blocks.append("\n".join(_detail(draft.detail)))
    if draft.api:
        blocks.append("\n".join(_api(draft.api)))
    if not (draft.listing or draft.detail or draft.api):
        blocks.append(_ANYTHING)
    return "\n\n\n".join(blocks) + "\n"


def _head(draft: Draft) -> Iterator[str]:
    yield f'"""{draft.name}: a draft by `limpet new`, all of it guessed. Mend it and look with `limpet try`."""'
    yield ""
    yield "from limpet import Page, Record, Site"
    yield ""
    yield "site = Site("
    yield f"    {_quoted(draft.name)},"
    yield f"    {'sitemaps' if draft.sitemap else 'seeds'}=[{_quoted(draft.seed)}],"
    yield '    # contact="https://you.example/bot",  # joins the User-Agent, so that the site can reach you'
    yield "    # delay=2,  # seconds between requests to a host; by default 1, and none on this machine"
    yield ")"


def _routes(patterns: Sequence[str]) -> Iterator[str]:
    yield from (f"@site.page({_quoted(pattern)})" for pattern in patterns)


def _listing(listing: Listing, detail: Detail | None) -> Iterator[str]:
    blocks = listing.blocks
    yield from _routes(listing.patterns)
    yield "def listing(page: Page):"
    if listing.following:
        yield f"    yield from page.links({_quoted(listing.following)})  # the next page of the list"
    else:
        yield "    # No link to a next page was seen: yield from page.links(...) if there is one."
    target = f", to={detail.name}" if detail else ""
    example = one_line(blocks.example, SHOWN)
    yield f"    # {blocks.count} on the page that was looked at, the first: {_comment(example)}"
    yield f"    for card in page.css({_quoted(blocks.card)}):"
    inner = f"card.css({_quoted(blocks.link)})" if blocks.link else "card"
    yield f"        yield page.link({inner}{target})"


def _detail(detail: Detail) -> Iterator[str]:
    thing = detail.thing
    yield from _routes(detail.patterns)
    yield f"def {detail.name}(page: Page):"
    if detail.other and (thing is None or thing.source == "markup"):
        yield f"    # There is structured data, too: {_comment(', '.join(detail.other))}"
    if thing is None:
        yield "    # Nothing was recognised here. `limpet shell` is a good place to look for selectors."
    for line in thing.setup if thing else ():
        yield f"    {line}  # {thing.source if thing else ''}: data for machines, steadier than markup"
    yield "    yield Record("
    yield f"        {_quoted(thing.type if thing and thing.type else detail.name)},"
    yield from _key(detail)
    yield "        data={"
    for field in thing.fields if thing else ():
        yield _with_comment(f'            "{field.name}": {field.code},', field.example)
    if not thing:
        yield '            "title": page.one("title"),'
    yield "        },"
    yield "    )"


_POOR_KEY = "  # from its URL; a number of the site's own would be steadier"


def _key(detail: Detail) -> Iterator[str]:
    """What identifies the record: what the site calls it, else the piece of its URL."""
    if detail.thing and detail.thing.key:
        key = detail.thing.key
        yield _with_comment(f"        key={key.code},", key.example)
    elif len(detail.params) == 1:
        yield f'        key=page.params["{detail.params[0]}"],{_POOR_KEY}'
    elif detail.params:
        yield f"        key=[{', '.join(f'page.params[{_quoted(name)}]' for name in detail.params)}],{_POOR_KEY}"
    else:
        yield f"        key=page.url,{_POOR_KEY}"


def _api(api: Api) -> Iterator[str]:
    yield from _routes(api.patterns)
    yield "def listing(page: Page):" if api.path is not None else f"def {api.name}(page: Page):"
    yield "    found = page.json()"
    if api.following:
        yield f"    if found{_way(api.following[:-1])}.get({_quoted(api.following[-1])}):  # where the list goes on"
        yield f"        yield page.link(found{_way(api.following)})"
    item, indent = ("item", " " * 8) if api.path is not None else ("found", " " * 4)
    if api.path is not None:
        yield f"    for item in found{_way(api.path)}:"
    key = f"{item}[{_quoted(api.key)}]" if api.key else f"page.url{' + str(item)' * (api.path is not None)}"
    yield f"{indent}# There are: {_comment(', '.join(api.fields))}"
    yield f"{indent}yield Record({_quoted(api.name)}, key={key}, data={item})"


def _way(path: Sequence[str]) -> str:
    return "".join(f"[{_quoted(name)}]" for name in path)


def _with_comment(line: str, example: str) -> str:
    comment = f"  # {_comment(one_line(example, SHOWN))}"
    return line + comment if len(line) + len(comment) <= WIDE else line


def _comment(example: str) -> str:
    """Text from the web in a comment: one line of it, with nothing that could end it."""
    return one_line(example, WIDE - 30).rstrip("\\ ")


def _quoted(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


def identifier(word: str) -> str:
    """A name for a handler."""
    name = "".join(char if char.isalnum() and char.isascii() else "_" for char in word.lower()).strip("_")
    if not name or name[0].isdigit() or keyword.iskeyword(name) or name in ("listing", "site", "page"):
        return "item"
    return name


_ANYTHING = """\
@site.page("/{rest:path}")
def anything(page: Page):
    # No list of links and no thing was recognised: this follows every link and keeps every title.
    yield from page.links("a[href]")
    yield Record("page", key=page.url, data={"title": page.one("title", None)})"""
