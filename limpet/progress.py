"""Progress while a crawl runs: one line that is kept up to date in a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from itertools import islice

from limpet import logs
from limpet.exits import say
from limpet.shown import one_line
from limpet_store import trouble
from limpet_store.store import Store
from limpet_store.summary import counted

EVERY_TTY, EVERY_PLAIN = 0.2, 5.0  # seconds between two lines
EVERY_NEWS = 1.0  # seconds between two looks at the hosts
MOST_FAILING = 10  # failing pages that are named; `limpet status --problems` lists all
TROUBLED = "SELECT id, scheme, name, port, error FROM hosts WHERE error IS NOT NULL ORDER BY id LIMIT 100"
RECENT = """SELECT coalesce(max(id), 0) - (SELECT count(*) FROM hosts WHERE robots_page > 0),
  (SELECT coalesce(max(rowid), 0) FROM records), (SELECT fence FROM meta) FROM pages"""


class Progress:
    """Shows how far the store is. It counts hosts alone, else it asks for the ends of indexes: the cost does not
    grow with the pages."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._tty = sys.stderr.isatty() and not logs.in_json()
        self._every = EVERY_TTY if self._tty else EVERY_PLAIN
        self._shown_at = time.monotonic() - self._every + 0.5
        self._before: tuple[float, int] | None = None
        self._width = 0
        self._said: tuple[int, int, int] | None = None
        self._looked_at = 0.0
        self._troubles: dict[int, str] = {}
        self._failures: set[str] = set()

    def show(self) -> None:
        """Show a line if it is time; first what is new about hosts that do not answer."""
        now = time.monotonic()
        if now - self._looked_at > EVERY_NEWS:
            self._looked_at = now
            self._news()
        if now - self._shown_at < self._every:
            return
        self._shown_at = now
        pages, records, attempts = self._store.db.rows(RECENT)[0]
        rate = self._rate(now, attempts)
        if not self._tty and (pages, records, attempts) == self._said:
            return  # a log is for news
        self._said = (pages, records, attempts)
        found = (counted(pages, "page"), counted(attempts, "request"), counted(records, "record"))
        self._write("{} found, {}, {}".format(*found) + rate)

    def _news(self) -> None:
        """A host or page that fails is named once for each reason: why a crawl waits must not be a riddle."""
        for page in islice(trouble.failing(self._store), MOST_FAILING):
            said = f"{page['url']}: {page['error']}"
            if said not in self._failures and len(self._failures) < MOST_FAILING:
                self._failures.add(said)
                self.end()
                say(one_line(f"{' '.join(said.split())}; it is tried again later", 400))
        for host, scheme, name, port, error in self._store.db.rows(TROUBLED):
            if self._troubles.get(host) != error:
                self._troubles[host] = error
                self.end()
                say(one_line(f"{scheme}://{name}:{port}: {error}; it is asked again later"))

    def _rate(self, now: float, attempts: int) -> str:
        before, self._before = self._before, (now, attempts)
        if before is None or now <= before[0]:
            return ""
        return f", {(attempts - before[1]) / (now - before[0]):.0f} pages/s"

    def _write(self, line: str) -> None:
        if self._tty:
            sys.stderr.write("\r" + line.ljust(self._width))
            self._width = len(line)
            sys.stderr.flush()
        else:
            say(line)

    def end(self) -> None:
        """Leave the line."""
        if self._tty and self._width:
            sys.stderr.write("\r" + " " * self._width + "\r")
            sys.stderr.flush()
