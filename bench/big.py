"""A crawl of ten million pages, made without crawling: `python bench/big.py [--pages 10000000] [--folder FOLDER]`.

A store is filled by SQL, in a few minutes and some 4 GB; then it is timed, in seconds of the clock and of CPU, how long
`limpet status`, its JSON, and frames of `--watch` take. The folder is deleted afterwards, with --keep it stays.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from limpet import settings
from limpet.engine import Engine
from limpet.screen import frame
from limpet.watched import Watched
from limpet_store.store import Store, wall_ms

HOSTS = 50
SITE = 'from limpet import Site\n\nsite = Site("big", seeds=["https://h01.example/p/1"])\n'
MADE_HOSTS = """WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < :hosts)
INSERT INTO hosts (id, scheme, name, port, scope, delay, max_in_flight, robots)
SELECT i, 'https', format('h%02d.example', i), 443, 1, 1000, 1, '' FROM n"""
# Keys rise with the ids, or the index of keys would be written at random.
MADE_PAGES = """WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < :pages),
p (i, h, url, s) AS (SELECT i, 1 + (i - 1) * :hosts / :pages,
  format('https://h%02d.example/p/%08d', 1 + (i - 1) * :hosts / :pages, i), i % 100 FROM n)
INSERT INTO pages (id, key, kind, url, canonical, host, depth, state, due_at, round, fence, attempted_at, failures,
  status, reason, error, fetched_at, code)
SELECT i, url, 'page', url, url, h, 2, CASE WHEN s < 60 THEN 'done' WHEN s < 95 THEN 'pending' WHEN s < 98 THEN 'dead'
    WHEN s = 98 THEN 'alias' ELSE 'gone' END,
  CASE WHEN s < 60 OR s >= 95 THEN :now - 1000 * (i % 100000) WHEN s < 62 THEN :now ELSE :now + 86400000 END,
  1, CASE WHEN s < 60 OR s >= 95 THEN i ELSE 0 END, CASE WHEN s < 60 OR s >= 95 THEN :now - 1000 END,
  s = 94, CASE WHEN s < 60 THEN 200 END, CASE WHEN s BETWEEN 94 AND 97 THEN 'HTTP status' END,
  CASE WHEN s BETWEEN 94 AND 97 THEN '500 Internal Server Error' END, CASE WHEN s < 60 THEN :now END,
  CASE WHEN s < 60 THEN 'product:abc' END FROM p"""
MADE_RECORDS = """INSERT INTO records
SELECT format('%032x', id), 'big', 'product', CAST(id AS TEXT), url, 1, 'h', '{"price": "1"}', 1, 0, :now, :now
FROM pages WHERE state = 'done' AND id % 10 = 1 ORDER BY id"""
ROUND = "INSERT INTO rounds (number, why, started_at, fence) VALUES (1, 'first', :now, 0)"
INDEXES = (
    "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND tbl_name = 'pages' AND sql IS NOT NULL"
)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--pages", type=int, default=10_000_000)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--keep", action="store_true")
    chosen = parser.parse_args()
    folder = chosen.folder or Path(tempfile.mkdtemp(prefix="limpet-big-"))
    folder.mkdir(parents=True, exist_ok=True)
    site = folder / "big.py"
    site.write_text(SITE)
    try:
        if not (folder / ".limpet" / "big.db").exists():
            _timed("made", lambda: make(site, chosen.pages))
        measure(site)
    finally:
        if not chosen.keep:
            shutil.rmtree(folder)


def make(site: Path, pages: int) -> None:
    """Fill a new store; nothing else may have it open."""
    path = settings.load("big", site).store_path
    path.parent.mkdir(exist_ok=True)
    store = Store.open(path, "big")
    values = {"pages": pages, "hosts": HOSTS, "now": wall_ms()}
    indexes = store.db.rows(INDEXES)
    store.db.rows("PRAGMA synchronous=OFF")
    store.db.rows("PRAGMA cache_size=-500000")
    with store.db.write() as db:
        for name, _ in indexes:
            db.run(f"DROP INDEX {name}")
        for made in (MADE_HOSTS, MADE_PAGES, MADE_RECORDS, ROUND):
            db.run(made, values)
        for _, sql in indexes:
            db.run(sql)
        db.run("UPDATE meta SET fence = :pages", values)
    store.db.rows("PRAGMA wal_checkpoint(TRUNCATE)")
    store.close()


def measure(site: Path) -> None:
    """One line for each."""
    with Engine(site) as engine:
        watched = Watched(engine)
        for n in range(1, 6):
            _timed(f"frame {n}", lambda: frame(watched.look(), 80, 24))
            time.sleep(1)
    for words in ((), ("--json",), ("--check",)):
        _timed(" ".join(("status", *words)), partial(_status, site, *words))


def _status(site: Path, *words: str) -> None:
    command = [sys.executable, "-m", "limpet", "status", str(site), *words]
    subprocess.run(command, check=False, stdout=subprocess.DEVNULL)


def _timed(what: str, call: Callable[[], object]) -> None:
    began, cpu = time.monotonic(), time.process_time()
    call()
    print(
        f"{what:20} {time.monotonic() - began:8.3f} s, CPU of this process {time.process_time() - cpu:8.3f} s",
        flush=True,
    )


if __name__ == "__main__":
    main()
