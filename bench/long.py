"""A long crawl, watched as it runs: `python bench/long.py [--pages 200000] [--workers 2] [--slice 30]`. Linux only.

The built-in shop is crawled once, and at each tenth of the pages one line says how fast that tenth was (pages/s of
the clock, and CPU milliseconds a page of everything that limpet runs, Valkey included), what Redis and the workers
hold, and how large the database is. Ends with 1 if the last tenth took more than a ninth more CPU than the first, if
Redis holds 20 MB more than at the start, or if a worker has grown by more than 20 MB since its first tenth.

A machine that does much else has slower CPU seconds. So a fixed piece of work, the yardstick, is timed five times a
second; its column says what it took in that tenth, against the first, and the tenths are compared after division by it.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from limpet.demo.killing import Window, valkey_pids
from limpet.demo.shop import Shop, ShopServer
from limpet.demo.site_template import site_file
from limpet_store.presence import living
from limpet_store.server import connect
from limpet_store.valkey import socket_path

PER_LISTING = 20
TENTHS = 10
MB = 1_000_000
TICK = os.sysconf("SC_CLK_TCK")
LOOK_EVERY = 0.2  # seconds


@dataclass(frozen=True, slots=True)
class Sample:
    """One look: pages so far, seconds of the clock and of CPU, bytes that each holds; `yardstick` is what the fixed
    piece of work took since the look before, in CPU seconds."""

    pages: int
    clock: float
    cpu: float
    yardstick: float
    redis: int
    worker: int  # the largest of workers and work-horses
    supervisor: int
    database: int


class Watch:
    """Looks at a crawl that runs in `home`, from outside."""

    def __init__(self, home: Path, crawl: str, command: int) -> None:
        self._home = home
        self._window = Window(home / f"{crawl}.db", crawl)
        self._database = home / f"{crawl}.db"
        self._command = command
        self._lengths: list[float] = []

    def rest(self) -> None:
        """Wait for the next look."""
        time.sleep(LOOK_EVERY)
        self._lengths.append(_yardstick())

    def pages(self) -> int:
        store = self._window.store()
        return int(store.db.value("SELECT fence FROM meta")) if store else 0

    def look(self) -> Sample:
        at_work = [who.pid for who in living(self._home) if who.role != "front"]
        pids = [self._command, *at_work, *valkey_pids(self._home)]
        with connect(f"unix://{socket_path(self._home)}") as client:
            used = int(client.info("memory")["used_memory"])
        files = [self._database, self._database.with_name(self._database.name + "-wal")]
        lengths, self._lengths = self._lengths or [_yardstick()], []
        return Sample(
            yardstick=statistics.mean(lengths),
            pages=self.pages(), clock=time.monotonic(), cpu=sum(map(_cpu, pids)), redis=used,
            worker=max((_resident(pid) for pid in at_work), default=0), supervisor=_resident(self._command),
            database=sum(file.stat().st_size for file in files if file.exists()),
        )  # fmt: skip

    def close(self) -> None:
        self._window.close()


def _cpu(pid: int) -> float:
    """User and system seconds of a process and of its children that it has waited for."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / TICK


def _yardstick() -> float:
    """CPU seconds of a fixed piece of work, of the kind that a page is: about 2 ms."""
    began = time.thread_time()
    for number in range(100):
        text = json.dumps({"url": f"http://127.0.0.1/{number}", "data": list(range(40))})
        json.loads(text)
    return time.thread_time() - began


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--pages", type=int, default=200_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--slice", type=float, default=30.0, help="seconds that a work-horse lives")
    args = parser.parse_args()
    samples = crawl(args.pages, args.workers, args.slice)
    wrong = problems(samples)
    for line in wrong:
        print(f"problem: {line}")
    return 1 if wrong else 0


def crawl(pages: int, workers: int, slice_: float = 30.0) -> list[Sample]:
    """Crawl a shop of so many pages; a sample at each tenth, the first when it has just begun."""
    listings = max(1, pages // (PER_LISTING + 1))
    shop = Shop(listings, pages - listings)
    with tempfile.TemporaryDirectory(prefix="limpet-long-") as folder:
        site = Path(folder, "shop.py")
        with ShopServer(shop, log_path=Path(folder, "site.log")) as server:
            site.write_text(site_file(server.first_page, lease=None) + f"\nsite.tune(slice={slice_})\n")
            command = [sys.executable, "-m", "limpet", "crawl", str(site), "--workers", str(workers)]
            with Path(folder, "said").open("wb") as said:
                process = subprocess.Popen(command, stdout=said, stderr=said)
            try:
                return _watch(Watch(Path(folder, ".limpet"), "demo-shop", process.pid), process, shop.pages)
            finally:
                process.terminate()
                process.wait(60)


def _watch(watch: Watch, process: subprocess.Popen[bytes], pages: int) -> list[Sample]:
    print(
        "   pages  pages/s  CPU ms/page  yardstick  Redis MB  worker MB  supervisor MB  database MB",
        flush=True,
    )
    samples: list[Sample] = []
    try:
        while len(samples) <= TENTHS:
            if process.poll() is not None:
                raise SystemExit(f"the crawl ended early, with {process.returncode}")
            if watch.pages() < max(1, len(samples) * pages // TENTHS):
                watch.rest()
                continue
            samples.append(watch.look())
            _say(samples)
        return samples
    finally:
        watch.close()


def _say(samples: list[Sample]) -> None:
    last = samples[-1]
    rates = " " * 32
    if len(samples) > 1:
        before = samples[-2]
        done = last.pages - before.pages
        rates = (
            f"{done / (last.clock - before.clock):8.0f} {1000 * (last.cpu - before.cpu) / done:12.2f}"
            f" {last.yardstick / samples[1].yardstick:10.2f}"
        )
    print(
        f"{last.pages:8,} {rates} {last.redis / MB:9.1f} {last.worker / MB:10.1f} {last.supervisor / MB:14.1f}"
        f" {last.database / MB:12.1f}", flush=True,
    )  # fmt: skip


def _cost(before: Sample, after: Sample) -> float:
    """Of a page in between, in yardsticks."""
    return (after.cpu - before.cpu) / (after.pages - before.pages) / after.yardstick


def problems(samples: list[Sample]) -> list[str]:
    """What a crawl that may go on for months must not show."""
    found = []
    first, last = _cost(samples[0], samples[1]), _cost(samples[-2], samples[-1])
    if last > first / 0.9:
        found.append(f"a page of the last tenth costs {last / first:.2f} of what one of the first did")
    grown = samples[-1].redis - samples[0].redis
    if grown > 20 * MB:
        found.append(f"Redis holds {grown / MB:.1f} MB more than at the start")
    larger = max(sample.worker for sample in samples[1:]) - samples[1].worker
    if larger > 20 * MB:
        found.append(f"a worker holds {larger / MB:.1f} MB more than in the first tenth")
    return found


if __name__ == "__main__":
    sys.exit(main())
