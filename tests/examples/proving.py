"""What is asked of every example: that its saved pages are green, and what a crawl of it must leave behind."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from e2e.helpers import Crawl, eventually
from examples.served import Request, Served
from front_helpers import Ran, limpet

from limpet.demo import checking

EXAMPLES = Path(__file__).parents[2] / "examples"
NEVER = 600  # seconds of lease: whoever waits for one to lapse hangs
PAUSE = 0.01  # seconds that a site takes for an answer, so that kills find requests in flight
ANSWERED = frozenset({200, 301, 302, 303, 404})  # what settles a page; all else is asked for again


def site_file(name: str) -> Path:
    return EXAMPLES / name / "site.py"


def check(name: str) -> Ran:
    """`limpet check` of the example as it is; where its site is now is all the same to it."""
    elsewhere = dict.fromkeys(("SHOP_URL", "API_URL", "CLUB_URL", "DOCS_URL"), "http://127.0.0.1:9")
    return limpet("check", site_file(name), env=elsewhere)


def check_broken(name: str, right: str, wrong: str, folder: Path) -> Ran:
    """The same with one mistake in the site file."""
    text = site_file(name).read_text()
    assert text.count(right) == 1, f"{right!r} is there {text.count(right)} times"
    broken = folder / "site.py"
    broken.write_text(text.replace(right, wrong))
    return limpet("check", broken, EXAMPLES / name / "tests" / "pages")


def crawl_of(example: str, name: str, folder: Path, *, tune: str = "", **options: Any) -> Crawl:
    """The example's site file in a folder of its own, with leases that never lapse and waits that are short."""
    text = site_file(example).read_text()
    tuned = f"{text}\n\nsite.tune(lease={NEVER}, time_scale=0.01{tune and f', {tune}'})\n"
    return Crawl(folder, tuned, name=name, **options)


def records(crawl: Crawl) -> dict[tuple[str, str], Any]:
    """What the crawl shows, by type and key."""
    rows = crawl.ask("SELECT type, key, data FROM records WHERE gone = 0")
    return {(type_, key): json.loads(data) for type_, key, data in rows}


def message_problems(crawl: Crawl) -> list[str]:
    """Each version of each record has one message, in order, and the last one shows what is stored."""
    with crawl.store() as store:
        lines = [
            json.loads(line) for (text,) in store.db.rows(checking.MESSAGES) for line in text.splitlines()
        ]
    said: dict[str, list[Any]] = {}
    for line in lines:
        if line["type"].startswith("limpet.record."):
            said.setdefault(line["subject"], []).append(line["data"])
    stored = {id_: (version, json.loads(data)) for id_, version, data in crawl.ask(
        "SELECT id, version, data FROM records WHERE version > 0")}  # fmt: skip
    problems = [f"messages of {len(said)} records, of {len(stored)}"] if said.keys() != stored.keys() else []
    for id_, (version, data) in stored.items():
        told = said.get(id_, [])
        if [each["version"] for each in told] != list(range(1, version + 1)) or told[-1]["record"] != data:
            problems.append(f"record {id_}, version {version}: {told}")
    return problems


def visits(log: Iterable[Request]) -> Counter[str]:
    """How often each page was answered for good."""
    return Counter(request.page for request in log if request.status in ANSWERED)


def repeated(log: Iterable[Request]) -> int:
    """Requests beyond the first of each page."""
    seen = visits(log)
    return seen.total() - len(seen)


def killed_at_random(crawl: Crawl, site: Served, choice: random.Random, between: tuple[int, int]) -> int:
    """Crawl to the end: one worker is killed, then everything, twice, each after some requests. The exit code."""
    crawl.start()
    for nth in range(3):
        mark, count = site.mark(), choice.randint(*between)
        eventually(lambda m=mark, c=count: len(site.requests_since(m)) >= c, f"{count} requests never came")
        assert crawl.process is not None
        assert crawl.process.poll() is None, f"it ended before kill {nth}: {crawl.said}"
        if nth == 0:
            crawl.kill_one_worker(choice)
        else:
            crawl.kill_everything()
            crawl.start()
    code = crawl.finish()
    assert crawl.in_flight > 0, "no kill hit anything"
    return code


def killed_once(crawl: Crawl, site: Served, after: int) -> int:
    """Crawl to the end: everything is killed once, after so many requests. The exit code."""
    crawl.start()
    eventually(lambda: len(site.log()) >= after, f"{after} requests never came")
    assert crawl.process is not None
    assert crawl.process.poll() is None, f"it ended before the kill: {crawl.said}"
    crawl.kill_everything()
    return crawl.run()
