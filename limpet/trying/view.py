"""A trial for people, one screen of it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator

import click

from limpet import encoding
from limpet.exits import Exit
from limpet.shown import blame, one_line, plain
from limpet.trying.lab import ALLOWED, UNASKED
from limpet.trying.trial import Kept, Trial
from limpet_store.outcome import Kind, Outcome
from limpet_store.records import PartWrite

FEW = 3  # links of a handler, dropped links of a reason
MOST_RECORDS, MOST_REJECTIONS, MOST_NOTHING = 5, 10, 8
WIDE = 100  # characters of a value

Line = tuple[str, str, str]  # a name, a text, a style of rich's


def show(trial: Trial, *, whole: bool = False) -> None:
    """Print it on stdout; `whole` leaves nothing out."""
    if not sys.stdout.isatty():
        for name, text, _ in _lines(trial, whole):
            click.echo(plain(f"{name:9}{text}".rstrip()))
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, soft_wrap=True)  # heeds NO_COLOR
    for name, text, style in _lines(trial, whole):
        console.print(Text(f"{name:9}", style="bold") + Text(plain(text), style=style))


def code(trials: Iterable[Trial]) -> Exit:
    """How a try ends: 1 a page failed, 3 records were rejected, 5 a page gave neither record nor link."""
    found = {_code(trial) for trial in trials}
    order = (Exit.FAILED, Exit.IMPERFECT, Exit.EMPTY)
    return next((each for each in order if each in found), Exit.COMPLETE)


def _code(trial: Trial) -> Exit:
    outcome = trial.outcome
    if outcome is None or outcome.kind not in (Kind.DONE, Kind.ALIAS):
        return Exit.FAILED
    if outcome.rejections:
        return Exit.IMPERFECT
    empty = outcome.kind is Kind.DONE and not outcome.parts and not trial.kept
    return Exit.EMPTY if empty else Exit.COMPLETE


def _lines(trial: Trial, whole: bool) -> Iterator[Line]:
    yield "page", one_line(f"{_method(trial)}{trial.url}", 400), "bold"
    if trial.robots != UNASKED:
        yield "robots", _robots(trial), "dim" if trial.robots == ALLOWED else "red"
    if trial.response:
        yield "answer", _answer(trial), ""
        yield "time", _times(trial), "dim"
    if trial.outcome:
        yield from _outcome(trial.outcome)
    if trial.fetched:
        yield from _handler(trial)
    yield from _links(trial, whole)
    if trial.fetched:
        yield from _records(trial, whole)
        yield from _nothing(trial, whole)


def _method(trial: Trial) -> str:
    return "" if trial.row.method == "GET" else f"{trial.row.method} "


def _robots(trial: Trial) -> str:
    stopped = "" if trial.outcome or trial.robots == ALLOWED else "; --ignore-robots tries it all the same"
    return one_line(f"robots.txt {trial.robots}{stopped}", 400)


def _answer(trial: Trial) -> str:
    response = trial.response
    assert response is not None
    kind = response.headers.get("content-type", "")
    name = encoding.decide(response.body, kind).replace("_", "-")
    media = encoding.media_type(kind) or "no media type"
    where = encoding.whence(response.body, kind)
    return one_line(f"{response.status}, {len(response.body):,} bytes of {media}, {name} ({where})")


def _times(trial: Trial) -> str:
    response = trial.response
    assert response is not None
    steps = [("fetch", trial.fetching)]
    if response.first:
        steps = [("connect", response.connect)] if response.connect else []  # else it is kept from robots.txt
        steps.append(("wait", response.first - response.connect))
        steps.append(("read", max(0.0, trial.fetching - response.first)))
    if trial.fetched:
        steps.append(("extract", trial.extracting))
    return ", ".join(f"{name} {seconds * 1000:.1f} ms" for name, seconds in steps)


def _outcome(outcome: Outcome) -> Iterator[Line]:
    first, *rest = plain(outcome.error or outcome.login_failed or "").split("\n")
    words = {
        Kind.ALIAS: "a redirect: the page is an alias of ",
        Kind.DEAD: f"the page is dead ({outcome.reason}): ",
        Kind.GONE: "the page is gone: ",
        Kind.RETRY: "failed, and would be tried again later: ",
        Kind.REFUSED: "what leads to it would be looked at again: ",
        Kind.BLOCKED: "its pages would wait: ",
        Kind.PUT_BACK: "not logged in, so the page would wait: ",
    }
    if outcome.kind in words:
        yield "", words[outcome.kind] + first, "yellow" if outcome.kind is Kind.ALIAS else "red"
        yield from (("", line, "red") for line in rest)


def _handler(trial: Trial) -> Iterator[Line]:
    fetched, page = trial.fetched, trial.page
    assert fetched is not None
    if fetched.handler is None:
        yield "handler", "none: no pattern of the site fits this URL", "red"
        return
    params = ", ".join(f"{name}={value}" for name, value in page.params.items()) if page else ""
    how = f"by {trial.pattern}" if trial.pattern else "none of its patterns fits; the link named it"
    yield "handler", one_line(f"{fetched.handler}, {how}{params and f': {params}'}", 400), ""
    if fetched.data is not None:
        yield "data", one_line(json.dumps(fetched.data, ensure_ascii=False), 400), ""


def _links(trial: Trial, whole: bool) -> Iterator[Line]:
    by_handler: dict[str, list[Kept]] = {}
    for kept in trial.kept:
        by_handler.setdefault(kept.handler or "no handler", []).append(kept)
    for name, links in by_handler.items():
        yield "links", f"{len(links)} to {name}", "" if links[0].handler else "yellow"
        yield from _some([_link(kept) for kept in links], FEW, whole)
    for reason, count in sorted(trial.left_out.items()):
        yield "dropped", f"{count} {reason}", "yellow"
        yield from _some([url for url, why in trial.dropped if why == reason], FEW, whole)


def _link(kept: Kept) -> str:
    data = f"  {kept.page.data}" if kept.page.data else ""
    method = "" if kept.page.method == "GET" else f"{kept.page.method} "
    forbidden = "" if kept.allowed else "  (robots.txt forbids it)"
    return f"{method}{kept.page.address.url}{data}{forbidden}"


def _some(texts: list[str], most: int, whole: bool) -> Iterator[Line]:
    for text in texts if whole else texts[:most]:
        yield "", "  " + one_line(text, 160), "dim"
    if len(texts) > most and not whole:
        yield "", f"  and {len(texts) - most} more", "dim"


def _records(trial: Trial, whole: bool) -> Iterator[Line]:
    outcome = trial.outcome
    assert outcome is not None
    for part in outcome.parts if whole else outcome.parts[:MOST_RECORDS]:
        yield "record", one_line(f"{part.type} {part.key}{part.part and f' (part {part.part})'}"), "green"
        yield from _fields(part)
    if len(outcome.parts) > MOST_RECORDS and not whole:
        yield "", f"and {len(outcome.parts) - MOST_RECORDS} more records; --all shows them", "dim"
    for rejection in outcome.rejections if whole else outcome.rejections[:MOST_REJECTIONS]:
        name = " ".join(filter(None, (rejection.type, rejection.key)))
        value = f" ({rejection.value!r})" if rejection.value else ""
        yield (
            "rejected",
            one_line(f"{name}{name and ': '}{blame(rejection.field, rejection.reason)}{value}", 400),
            "red",
        )
    if len(outcome.rejections) > MOST_REJECTIONS and not whole:
        yield "", f"and {len(outcome.rejections) - MOST_REJECTIONS} more rejections", "red"
    if outcome.kind is Kind.DONE and not (outcome.parts or outcome.rejections or trial.kept):
        yield "", "neither a record nor a link", "yellow"


def _fields(part: PartWrite) -> Iterator[Line]:
    fields = json.loads(part.data)
    width = min(max(map(len, fields), default=0), 20)
    for name, value in fields.items():
        text = json.dumps(value, ensure_ascii=False)
        yield "", "  " + one_line(f"{name:{width}}  {text}", WIDE + width), ""


def _nothing(trial: Trial, whole: bool) -> Iterator[Line]:
    """Selectors that found nothing, the required ones first, each with its nearest miss."""
    page = trial.page
    if page is None or not page.nothing:
        return
    shown = page.missed if whole else page.missed[:MOST_NOTHING]
    for nothing in shown:
        near = page.nearest(nothing)
        word = nothing.css if nothing.required else f"{nothing.css} ({nothing.call}, optional)"
        yield "nothing", one_line(f"{word}{near and f': {near}'}", 300), "red" if nothing.required else "dim"
