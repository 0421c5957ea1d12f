"""The RQ job: `run_slice(crawl)`. It carries no URL and no data (R-3); what it works on is in SQL."""

from __future__ import annotations

import logging
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass
from pathlib import Path

from limpet import logs
from limpet_consumers import worker
from limpet_consumers.journal import Journal
from limpet_consumers.journal import log as pages
from limpet_consumers.outage import Reporter, patiently
from limpet_consumers.process import rearm
from limpet_consumers.runtime import SiteRuntime
from limpet_consumers.slices import Place, Slice
from limpet_consumers.tally import Tally, sending
from limpet_store.presence import Presence, Recovery


@dataclass(frozen=True, slots=True)
class Workplace:
    """What a worker process found out before its first fork; its work-horses inherit it."""

    site: SiteRuntime
    place: Place
    home: Path
    metrics: bool = False  # what is counted is handed to the supervisor


workplace: Workplace | None = None


def run_slice(crawl: str) -> dict[str, int]:
    """Work on the crawl for a while, in a work-horse; returns what was done, by name.

    Raises RuntimeError outside a worker of this crawl.
    """
    here, context = workplace, worker.current
    if here is None or context is None or here.place.crawl != crawl:
        raise RuntimeError(f"no worker of {crawl!r}")
    with ExitStack() as left:
        entering, length = _reporter(context, "place"), here.site.knobs.slice
        if not patiently(lambda: _enter(here, context.token, left), entering, context.should_stop, length):
            return {}
        logs.about(worker=context.token)
        journal = _journal(here, context.token)
        slice_ = Slice(
            here.place, here.site, token=context.token, should_stop=context.should_stop, draining=context.draining,
            journal=journal, tell=_reporter(context, "slice"),
        )  # fmt: skip
        with _handed_on(here, journal):
            return slice_.run(length)


def _enter(here: Workplace, token: str, left: ExitStack) -> None:
    """Show that this horse is there, and wait for a recovery that is under way."""
    rearm(here.site.knobs.turn_limit)  # a command that hangs in its recovery must not hold this for ever
    with ExitStack() as entered:
        entered.enter_context(Presence(here.home, "horse", token))
        entered.enter_context(Recovery(here.home)).wait()
        left.enter_context(entered.pop_all())


def _reporter(context: worker.SliceContext, who: str) -> Reporter:
    return Reporter(context.token.partition("/")[0], who)


def _handed_on(here: Workplace, journal: Journal | None) -> AbstractContextManager[None]:
    return sending(journal.tally) if here.metrics and journal else nullcontext()


def _journal(here: Workplace, token: str) -> Journal | None:
    """Where somebody reads it; else nothing is measured."""
    if not here.metrics and not pages.isEnabledFor(logging.INFO):
        return None
    return Journal(Tally(token.partition("/")[0]))
