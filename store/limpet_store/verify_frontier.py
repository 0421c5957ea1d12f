"""The frontier and the stream against the store. Both move while workers run, so a difference counts only when
the whole outbox was relayed before the look and nothing was committed until after it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from limpet_store import outbox
from limpet_store.findings import Check, Finding, Skipped, run
from limpet_store.frontier import Caller, Frontier
from limpet_store.retry import LONGEST
from limpet_store.store import Store

MEMBERS = "pages that are due are in the frontier"
STREAM = "the stream is the end of the outbox"
SAMPLE = 1_000  # due pages, and messages, that are looked at
TRIES = 20
DUE = f"""SELECT id, host FROM pages WHERE state = 'pending' AND (due_at <= ? OR due_at > ?)
ORDER BY due_at LIMIT {SAMPLE}"""
MESSAGES = f"""SELECT seq, messages FROM outbox WHERE seq > (SELECT life FROM meta) AND messages <> ''
ORDER BY seq DESC LIMIT {SAMPLE}"""


def verify(store: Store, frontier: Frontier, server: Caller) -> Iterator[Finding]:
    """The findings about what Redis holds."""
    checks: dict[str, Check] = {
        MEMBERS: lambda: missing(store, frontier),
        STREAM: lambda: stream(store, frontier, server),
    }
    for name, check in checks.items():
        yield run(name, partial(_at_rest, store, frontier, check))


def skipped(why: str) -> Iterator[Finding]:
    """The same when Redis does not answer."""
    yield Finding(MEMBERS, None, why)
    yield Finding(STREAM, None, why)


def _at_rest(store: Store, frontier: Frontier, check: Check) -> str | None:
    """What the check finds while frontier and store stand together; nothing wrong is believed at once."""
    for _ in range(TRIES):
        before = outbox.top(store.db)
        cursor = frontier.cursor()
        if cursor is None:
            raise Skipped("the frontier is to be rebuilt; the next run does it")
        found = check()
        if found is None or (cursor == before and outbox.top(store.db) == before):
            return found
    raise Skipped("the frontier lags behind, or too much is going on")


def missing(store: Store, frontier: Frontier) -> str | None:
    """The first of up to 1,000 due pages that the frontier has lost."""
    now = frontier.status().now
    for page, host in store.db.rows(DUE, (now, now + LONGEST)):
        if not frontier.holds(page, host):
            return f"page {page} is due and in no frontier: limpet rebuild mends it"
    return None


def stream(store: Store, frontier: Frontier, server: Caller) -> str | None:
    """The first of the newest 1,000 messages in which stream and outbox differ."""
    expected = [
        (f"{seq}-{n}", line)
        for seq, text in store.db.rows(MESSAGES)
        for n, line in reversed(list(enumerate(text.split("\n"))))
    ][:SAMPLE]
    entries: list[Any] = server.command("XREVRANGE", f"{frontier.prefix}:stream", "+", "-", "COUNT", SAMPLE)
    got = [(id_.decode(), fields[1].decode()) for id_, fields in entries]
    for wanted, there in zip(expected, got, strict=False):
        if wanted[0] != there[0]:
            return f"the stream has message {there[0]} where the outbox has {wanted[0]}"
        if wanted[1] != there[1]:
            return f"message {there[0]} is another one in the stream than in the outbox"
    if len(got) != len(expected):
        return f"the stream has {len(got)} messages of the {len(expected)} that the outbox has"
    return None
