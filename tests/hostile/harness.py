"""A case at work: two servers, a real worker with its store and frontier, and what has come of it."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from hostile.case import Case
from hostile.server import HERE, OTHER, Hostile, serving

from limpet import Site
from limpet_consumers.turn import Worker
from limpet_consumers.ways import way_of
from limpet_producer import enqueue
from limpet_store import rounds
from limpet_store.frontier import Frontier
from limpet_store.server import Server
from limpet_store.store import Store, wall_ms
from limpet_store.witness import Witness

SCALE = 1e-5  # an hour is 36 ms
PATIENCE = 20.0  # seconds for a whole case


class Crawl:
    """A case at work."""

    def __init__(self, case: Case, path: Path, server: Server) -> None:
        self.case = case
        self.here, self.other = Hostile(case.here, case.greeting), Hostile(case.other)
        self.base = f"http://127.0.0.1:{self.here.port}"
        self._server = server
        self.store = Store.open(path, "hostile", create=False)
        self.store.db.rows("PRAGMA synchronous = OFF")  # no row is about a crash, and each would wait for it
        self._witness = Witness(self.store.db.path)

    def run(self) -> None:
        """All rounds, each to its end."""
        with serving(self.here, self.other):
            for number in range(self.case.rounds):
                site = self._site(number)
                worker = self._worker(site)
                if number:
                    self._next_round(worker)
                else:
                    enqueue.seeds(self.store, site.entries, worker.hosts, now=wall_ms())
                self._to_its_end(worker)
                worker.close()

    def _worker(self, site: Site) -> Worker:
        frontier = Frontier(self._server, self.store.crawl, self.store.source.store_id)
        return Worker(self.store, frontier, way_of(site), site, token="w", witness=self._witness)

    def _site(self, number: int) -> Site:
        """The site as it is in this round, from 0 on."""
        settings: dict[str, Any] = {"robots": False, **self.case.site}
        settings["hosts"] = [self.real(host) for host in settings.get("hosts", ())]
        if isinstance(maps := settings.get("sitemaps"), list):
            settings["sitemaps"] = [self.real(url) for url in maps]
        site = Site("hostile", [self.base + path for path in self.case.seeds], **settings)
        site.tune(**{"time_scale": SCALE, "max_attempts": 2, "threads": 1, **self.case.tune})
        site.tune(**self.case.later if number else {})
        site.page("/{rest:path}")(self.case.reads[min(number, len(self.case.reads) - 1)])
        return site

    def _next_round(self, worker: Worker) -> None:
        rounds.finish(self.store, wall_ms())
        rounds.start(self.store, "test", wall_ms())
        rounds.refresh(self.store, wall_ms())
        worker.relay()

    def _to_its_end(self, worker: Worker) -> None:
        """Turns until no page is pending, or enough was asked."""
        ends, idle = time.monotonic() + PATIENCE, threading.Event()
        while self._goes_on(worker):
            assert time.monotonic() < ends, f"no end: {self.pages()}, {self.asked()}"
            if not worker.turn():
                left = (worker.progress.next_at or 0) - worker.clock.now()
                idle.wait(min(max(left, 1), 20) / 1000)

    def _goes_on(self, worker: Worker) -> bool:
        if self.case.until and len(self.here.asked) + len(self.other.asked) >= self.case.until:
            return worker.in_hand() > 0
        return (
            worker.in_hand() > 0
            or self.store.db.one("SELECT 1 FROM pages WHERE state = 'pending'") is not None
        )

    # What has come of it

    def real(self, text: str) -> str:
        """The text with the real ports."""
        return text.replace(":00001", f":{self.here.port}").replace(":00002", f":{self.other.port}")

    def shown(self, text: str) -> str:
        """A key, a URL or a text as the table has it."""
        text = text.replace(f":{self.here.port}", ":00001").replace(f":{self.other.port}", ":00002")
        return text.removeprefix(HERE)

    def pages(self) -> dict[str, str]:
        """State and reason of each page."""
        rows = self.store.db.rows("SELECT key, state, reason FROM pages WHERE kind <> 'robots'")
        return {self.shown(key): f"{state}: {reason}" if reason else state for key, state, reason in rows}

    def records(self) -> dict[str, str]:
        """The records that are live."""
        rows = self.store.db.rows("SELECT key, data FROM records WHERE gone = 0")
        return {key: json.loads(data)["text"] for key, data in rows}

    def asked(self) -> dict[str, int]:
        """Requests by target."""
        return self.here.counts() | {OTHER + path: n for path, n in self.other.counts().items()}

    def versions(self) -> dict[str, int]:
        """Of the records that have more than one, how many."""
        rows = self.store.db.rows("SELECT key, version FROM records WHERE version <> 1")
        return dict(rows)

    def gone(self) -> frozenset[str]:
        """The records that are gone."""
        return frozenset(row[0] for row in self.store.db.rows("SELECT key FROM records WHERE gone = 1"))

    def rejected(self) -> int:
        """Records and links that could not be used."""
        return int(self.store.db.value("SELECT count(*) FROM rejections"))

    def dropped(self) -> dict[str, int]:
        """Links that were left out, by reason."""
        found: dict[str, int] = {}
        for (text,) in self.store.db.rows("SELECT dropped FROM pages WHERE dropped IS NOT NULL"):
            for reason, count in json.loads(text).items():
                found[reason] = found.get(reason, 0) + count
        return found

    def column(self, path: str, name: str) -> Any:
        """One value of a page."""
        key = path if path.startswith("http") else HERE + path
        return self.store.db.value(
            f"SELECT {name} FROM pages WHERE url = ? OR key = ?", (self.real(key),) * 2
        )

    def messages(self) -> dict[str, list[int]]:
        """The versions that were announced, by record, in order."""
        found: dict[str, list[int]] = {}
        for (text,) in self.store.db.rows("SELECT messages FROM outbox WHERE n > 0 ORDER BY seq"):
            for line in text.splitlines():
                record, _, version = str(json.loads(line)["id"]).rpartition(":")
                if record != "round":
                    found.setdefault(record, []).append(int(version.partition(".")[2]))
        return found

    def everything(self) -> str:
        """All that is stored, as a text to search in."""
        tables = ("pages", "hosts", "records", "parts", "rejections", "outbox")
        return "\n".join(
            repr(row) for table in tables for row in self.store.db.rows(f"SELECT * FROM {table}")
        )

    def errors(self) -> dict[str, str]:
        """What is said of each page."""
        rows = self.store.db.rows("SELECT key, error FROM pages WHERE error IS NOT NULL")
        return {self.shown(key): error for key, error in rows}

    def last(self, path: str) -> Mapping[str, str]:
        """The headers of the last request to a path."""
        server, target = (self.other, path[len(OTHER) :]) if path.startswith(OTHER) else (self.here, path)
        return [asked.headers for asked in server.asked if asked.target == target][-1]


def check(case: Case, path: Path, server: Server, log: Callable[[], str]) -> None:
    """Run a case on a new store and compare all that came of it."""
    crawl = Crawl(case, path, server)
    try:
        crawl.run()
        _compare(case, crawl, log())
    finally:
        crawl.store.close()


def _compare(case: Case, crawl: Crawl, log: str) -> None:
    numbers = crawl.store.db.rows("SELECT id, version FROM records")
    found = {
        "pages": crawl.pages(), "records": crawl.records(), "asked": crawl.asked(), "gone": crawl.gone(),
        "versions": crawl.versions(), "rejected": crawl.rejected(), "dropped": crawl.dropped(),
        "messages": crawl.messages(),
        "columns": {path: {name: crawl.column(path, name) for name in each} for path,
                    each in case.columns.items()},
        "sent": {path: {name: crawl.last(path).get(name) for name in each} for path,
                 each in case.sent.items()},
        "host": {name: crawl.store.db.value(f"SELECT {name} FROM hosts WHERE id = 1") for name in case.host},
        "untouched": case.untouched and crawl.other.bytes_read == 0,
        "connections": crawl.here.connections if case.connections is not None else None,
    }  # fmt: skip
    wanted = {
        "pages": case.pages, "records": case.records, "asked": case.asked, "gone": case.gone,
        "versions": case.versions, "rejected": case.rejected, "dropped": case.dropped,
        "messages": {record: list(range(1, version + 1)) for record, version in numbers},
        "host": case.host, "untouched": case.untouched,
        "columns": case.columns, "sent": case.sent, "connections": case.connections,
    }  # fmt: skip
    wrong = [f"{name}: {found[name]} and not {wanted[name]}" for name in found if found[name] != wanted[name]]
    wrong += [
        f"{path} says {crawl.column(path, 'error')!r}, and not {text!r}"
        for path, text in case.told.items()
        if text not in (crawl.column(path, "error") or "")
    ]
    if case.hidden and case.hidden in crawl.everything() + log:
        wrong.append(f"{case.hidden!r} is stored or logged")
    assert not wrong, "\n".join([case.name, *wrong, f"errors: {crawl.errors()}"])
