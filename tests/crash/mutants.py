"""L8: known mistakes, put into the product one at a time. The named layer must see each.

A mutant is a piece of the product's text and what stands in its place: when the text has changed, it says so.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from types import FunctionType
from typing import Any
from unittest import mock

from limpet_consumers.turn import Worker
from limpet_store import attempts, frontier, outcomes, records, scripts
from limpet_store.server import Script
from limpet_store.store import Store


@dataclass(frozen=True)
class Mutant:
    name: str
    layer: str  # "die" or "preempt"
    where: str  # the scenario or the case that shows it
    broken: Callable[[], Any]  # a context in which the product is so


def _rewritten(function: Any, *changes: tuple[str, str]) -> FunctionType:
    """The function with pieces of its text replaced, at its own lines, so that it is traced like the product."""
    text = textwrap.dedent(inspect.getsource(function))
    for old, new in changes:
        assert old in text, f"{function.__qualname__} does not say {old!r} any more: mend this mutant"
        text = text.replace(old, new)
    tree = ast.parse(text)
    ast.increment_lineno(tree, function.__code__.co_firstlineno - 1)
    names: dict[str, Any] = {}
    exec(compile(tree, function.__code__.co_filename, "exec"), function.__globals__, names)
    return names[function.__name__]  # type: ignore[no-any-return]


def _python(owner: Any, name: str, *changes: tuple[str, str]) -> Callable[[], Any]:
    return lambda: mock.patch.object(owner, name, _rewritten(getattr(owner, name), *changes))


def _lua(*names: str, changes: list[tuple[str, str]]) -> Callable[[], Any]:
    @contextmanager
    def broken() -> Iterator[None]:
        load = scripts.load

        def mutated(name: str) -> Script:
            script = load(name)
            if name not in names:
                return script
            text = script.plain
            assert any(old in text for old, _ in changes), f"{name}.lua says none of {changes} any more"
            for old, new in changes:
                text = text.replace(old, new)
            return Script(f"{name} (mutant)", text)

        with mock.patch.object(scripts, "load", mutated):
            yield

    return broken


@contextmanager
def _own_rows_only() -> Iterator[None]:
    """Whoever commits publishes the messages of its own commit, and the relay none."""

    def published(self: Worker, leases: Any) -> Any:
        before = self.store.db.value("SELECT coalesce(max(seq), 0) FROM outbox")
        found = transact(self, leases)
        for seq, text in self.store.db.rows(
            "SELECT seq, messages FROM outbox WHERE seq > ? AND messages <> ''", (before,)
        ):
            for n, message in enumerate(text.split("\n")):
                self.frontier._server.command(
                    "XADD", f"{self.frontier.prefix}:stream", f"{seq}-{n}", "event", message
                )
        return found

    transact = Worker._transact
    with ExitStack() as stack:
        stack.enter_context(mock.patch.object(Worker, "_transact", published))
        stack.enter_context(mock.patch.object(frontier, "_stream", return_value=()))
        yield


MUTANTS = [
    Mutant("no fence", "preempt", "a page that comes back, meanwhile late worker",
           _python(outcomes, "commit", ("!= (attempt.fence, attempt.nonce, 1)", "== ()"))),
    Mutant("ack before the commit", "die", "smallest crawl",
           _python(Worker, "_transact", ("    result = self.store.turn(", """    for outcome in self._finished:
        page = outcome.attempt.page
        for key in (f"p:{page.host}", f"l:{page.host}"):
            self.frontier._server.command("ZREM", f"{self.frontier.prefix}:{key}", page.id)
        self.frontier._server.command("HDEL", f"{self.frontier.prefix}:nonces", page.id)
    result = self.store.turn("""))),
    Mutant("two transactions", "die", "smallest crawl",
           _python(Store, "turn", ("        fence = self", "    with self.db.write():\n        fence = self"))),
    Mutant("XADD without an id", "preempt", "smallest crawl, meanwhile dying rebuild",
           _lua("apply", "rebuild_stream", changes=[('ARGV[7], ARGV[m], "event"', 'ARGV[7], "*", "event"'),
                ('ARGV[i] .. "-" .. ARGV[i + 1], "event"', '"*", "event"')])),
    Mutant("a relay of one's own rows", "die", "smallest crawl", _own_rows_only),
    Mutant("a rebuild without its token", "preempt", "FLUSHALL in the middle, meanwhile flush",
           _lua("rebuild_hosts", "rebuild_pages", "rebuild_stream", "rebuild_end",
                changes=[('if redis.call("GET", P .. ":rebuild") ~= ', 'if false and "" ~= '),
                         ("if not rebuilding(", "if false and not rebuilding(")])),
    Mutant("a committed page is fetched again", "preempt", "a page that comes back, meanwhile late worker",
           _python(attempts, "_decide", ('    if row.state != "pending":', "    if False:"),
                   ("    db.run(MARK,", "    db.run(MARK.replace('SET', \"SET state = 'pending',\"),"))),
    Mutant("no attempt before the request", "die", "smallest crawl",
           _python(attempts, "_decide", ("db.run(MARK,", "db.run(MARK.replace('open = 1', 'open = 0'),"))),
    Mutant("data that a parent hands down meanwhile is missed", "die", "data of several parents",
           _python(outcomes, "_once_more", ("may = collects or", "may = False and"))),
    Mutant("a waiting record is shown", "die", "parts that wait for each other",
           _python(records, "_begin", ("waits = not", "waits = False and not"))),
    Mutant("an open page is given out after a rebuild", "preempt", "smallest crawl, meanwhile wiped worker",
           _lua("rebuild_pages", changes=[('nonce ~= "" and not free', "false")])),
]  # fmt: skip
