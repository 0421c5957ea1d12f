"""CPU per page, limpet beside the article's loop: `python bench/cpu.py [--repeat N] [--json]`. Linux only.

The figure is the *slope* between a small and a large crawl (525 and 10,500 pages); start-up stands apart, as
`start`. Counted is user + system time of everything the command starts, however it detaches itself:
supervisor, worker, work-horses, Valkey. The site's own time is not counted; its log says that the work was
done. The two take turns and the figures are medians, so that a busy machine hits both. `--watched` measures limpet
with metrics and JSON log lines as a third.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import signal
import statistics
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from limpet.demo.shop import Request, Shop, ShopServer
from limpet.demo.site_template import site_file

PER_LISTING = 20
PATIENCE = 10.0  # seconds that a detached process may take to end after its command did
PR_SET_CHILD_SUBREAPER = 36

Command = Callable[[ShopServer, Path], list[str]]
Crawl = tuple[int, float]  # pages, CPU seconds


def limpet(shop: ShopServer, folder: Path) -> list[str]:
    site = folder / "shop.py"
    site.write_text(site_file(shop.first_page, lease=None))
    return [sys.executable, "-m", "limpet", "crawl", str(site), "--workers", "1"]


def article(shop: ShopServer, folder: Path) -> list[str]:
    loop = Path(__file__).with_name("article_loop.py")
    return [sys.executable, str(loop), shop.first_page, str(folder / "article.db")]


def watched(shop: ShopServer, folder: Path) -> list[str]:
    return [*limpet(shop, folder), "--metrics-port", "0", "--log-format", "json"]


COMMANDS: dict[str, Command] = {"limpet": limpet, "article": article, "watched": watched}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--repeat", type=int, default=3, help="rounds; the figures are their medians")
    parser.add_argument("--small", type=int, default=25, help="listing pages of the small crawl")
    parser.add_argument("--large", type=int, default=500, help="listing pages of the large crawl")
    parser.add_argument("--only", choices=COMMANDS, help="measure one of the two")
    parser.add_argument("--watched", action="store_true", help="also limpet with metrics and JSON log lines")
    parser.add_argument("--json", action="store_true", help="figures as JSON; progress goes to stderr")
    args = parser.parse_args()
    names = [args.only] if args.only else [name for name in COMMANDS if name != "watched" or args.watched]
    lines: dict[str, list[tuple[float, float]]] = {name: [] for name in names}
    for turn in range(args.repeat):
        # The order is turned round each time: neither is always the one after the other.
        for name in names if turn % 2 == 0 else reversed(names):
            small, large = (crawl(name, listings) for listings in (args.small, args.large))
            lines[name].append(line_through(small, large))
            said = f"{small[1]:.2f} s for {small[0]} pages, {large[1]:.2f} s for {large[0]}"
            print(f"round {turn + 1}: {name}: {said}", file=sys.stderr, flush=True)
    report(lines, args.json)


def crawl(name: str, listings: int) -> Crawl:
    """One full crawl from nothing, proved by the site's log."""
    with tempfile.TemporaryDirectory(prefix="limpet-bench-") as folder:
        shop = Shop(listings, listings * PER_LISTING)
        with ShopServer(shop, log_path=Path(folder, "site.log")) as server:
            seconds = cpu_of(COMMANDS[name](server, Path(folder)), Path(folder, "stderr"))
            check(server.log(), shop.pages, name)
    return shop.pages, seconds


def check(log: Sequence[Request], pages: int, name: str) -> None:
    """A crawl that asked for less or more than each page once measures something else."""
    asked = [request.path for request in log if request.path != "/robots.txt"]
    if len(asked) != pages or len(set(asked)) != pages:
        sys.exit(f"{name}: {len(asked)} requests for {len(set(asked))} pages, expected {pages}")


def cpu_of(command: list[str], talk: Path) -> float:
    """CPU seconds of `command` and all its descendants; its standard error goes to `talk`.

    A fork stands between, which adopts whatever detaches itself and reaps all; the shop stays our own child.
    """
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(write, str(_adopt_and_reap(command, talk)).encode())
        except BaseException as error:
            print(f"{' '.join(command)}: {error}\n{talk.read_text()}", file=sys.stderr, flush=True)
        os._exit(0)
    os.close(write)
    with open(read) as pipe:
        result = pipe.read()
    os.waitpid(pid, 0)
    return float(result) if result else sys.exit(1)


def _adopt_and_reap(command: list[str], talk: Path) -> float:
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "this system has no child subreaper")
    opened = ((0, os.devnull, os.O_RDONLY), (1, os.devnull, os.O_WRONLY), (2, talk, os.O_WRONLY | os.O_CREAT))
    actions = [(os.POSIX_SPAWN_OPEN, fd, path, flags, 0o600) for fd, path, flags in opened]
    first = os.posix_spawn(command[0], command, os.environ, file_actions=actions)
    signal.signal(signal.SIGALRM, _give_up)
    seconds = 0.0
    while True:
        try:
            pid, status, used = os.wait4(-1, 0)
        except ChildProcessError:
            return seconds
        # Its own time and that of the children it has waited for; what it left behind comes to us.
        seconds += used.ru_utime + used.ru_stime
        if pid == first:
            if status:
                raise RuntimeError(f"exit code {os.waitstatus_to_exitcode(status)}")
            signal.setitimer(signal.ITIMER_REAL, PATIENCE)


def _give_up(*_: object) -> None:
    """What still runs has a time that nobody knows: end it, and do not pretend."""
    left = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    names = [Path(f"/proc/{pid}/comm").read_text().strip() for pid in left]
    for pid in left:
        os.kill(int(pid), signal.SIGKILL)
    raise TimeoutError(f"still running {PATIENCE:g} s after the end: {names}")


def line_through(small: Crawl, large: Crawl) -> tuple[float, float]:
    """Seconds per page, and the seconds that no page accounts for."""
    slope = (large[1] - small[1]) / (large[0] - small[0])
    return slope, small[1] - slope * small[0]


def report(lines: dict[str, list[tuple[float, float]]], as_json: bool) -> None:
    """Print the medians, and the ratio of the slopes."""
    slopes = {name: [slope * 1e3 for slope, _ in line] for name, line in lines.items()}
    starts = {name: statistics.median(start for _, start in line) for name, line in lines.items()}
    medians = {name: statistics.median(each) for name, each in slopes.items()}
    ratio = medians["limpet"] / medians["article"] if medians.keys() >= {"limpet", "article"} else None
    if as_json:
        rows = {n: {"ms_per_page": medians[n], "all_ms": slopes[n], "start_s": starts[n]} for n in lines}
        print(json.dumps({**rows, "ratio": ratio}))
        return
    print(f"{'CPU':10}{'ms/page':>10}{'start s':>10}   each round")
    for name in lines:
        each = " ".join(f"{slope:.2f}" for slope in slopes[name])
        print(f"{name:10}{medians[name]:10.3f}{starts[name]:10.2f}   {each}")
    if ratio is not None:
        print(f"{'ratio':10}{ratio:10.2f}")


if __name__ == "__main__":
    main()
