"""A site that nobody here wrote: a documentation tree of two hundred pages, killed eight times on the way."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from e2e.helpers import Crawl, eventually
from e2e.walk import one_spelling

DOCS = Path("/usr/share/doc/python3.11/html")
ROOT = Path(__file__).parents[2]
KILLS = 8
LEFT_OUT = ("library", "whatsnew", "genindex-all.html")  # the bulk of it; links there are broken

pytestmark = pytest.mark.skipif(not (DOCS / "index.html").exists(), reason="no python3.11-doc here")
Serve = Callable[[str], "Served"]


class Served:
    """The tree on a port of its own, by the standard library's server; its log says what was asked for."""

    def __init__(self, log: Path) -> None:
        self._log = log
        tree = log.with_suffix(".tree")
        tree.mkdir()
        for entry in DOCS.iterdir():
            if entry.name not in LEFT_OUT:
                (tree / entry.name).symlink_to(entry)
        with log.open("wb") as out:
            command = [sys.executable, "-u", "-m", "http.server", "0", "--bind", "127.0.0.1"]
            self.process = subprocess.Popen(
                [*command, "--protocol", "HTTP/1.1", "--directory", str(tree)], stdout=out, stderr=out
            )
        found = eventually(lambda: re.search(r"\((http://\S+)\)", log.read_text()))
        self.url: str = found[1]

    def asked(self) -> list[str]:
        return re.findall(r'"GET (\S+) HTTP', self._log.read_text())


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    with ExitStack() as stack:

        def served(name: str) -> Served:
            server = Served(tmp_path / name)
            stack.callback(server.process.wait)
            stack.callback(server.process.kill)
            return server

        yield served


def test_a_documentation_tree_is_stored_whole_and_once_while_it_is_killed(
    serve: Serve, tmp_path: Path
) -> None:
    site, twin = serve("site.log"), serve("twin.log")
    walk = [sys.executable, str(Path(__file__).with_name("walk.py")), twin.url]
    example = (ROOT / "examples" / "docs_tree.py").read_text()
    with (
        subprocess.Popen(walk, stdout=subprocess.PIPE, text=True) as walker,
        Crawl(tmp_path / "crawl", example, name="docs-tree", environment={"DOCS_URL": site.url}) as crawl,
    ):
        kill_often(crawl, site)
        assert crawl.finish() == 0, crawl.said
        expected = json.loads(walker.communicate()[0])
    assert expected["html"], "the walk found nothing"
    assert stored(crawl) == {path: tuple(found) for path, found in expected["html"].items()}
    assert paths(crawl, "state = 'dead' AND reason = 'broken link'") == expected["broken"]
    assert paths(crawl, "state = 'alias'") == expected["moved"]
    assert others(crawl) == expected["other"]
    assert crawl.ask("SELECT url FROM pages WHERE state NOT IN ('done', 'dead', 'alias')") == []
    asked = Counter(map(one_spelling, site.asked()))
    del asked["/robots.txt"]
    assert asked.total() - len(asked) <= crawl.in_flight


def kill_often(crawl: Crawl, site: Served) -> None:
    """Everything, or one worker twice as often; each time after a few more requests."""
    choice = random.Random(5)
    crawl.start()
    for kill in range(KILLS):
        wanted = len(site.asked()) + choice.randint(5, 50)
        eventually(lambda wanted=wanted: len(site.asked()) >= wanted)
        assert crawl.process is not None
        assert crawl.process.poll() is None, f"finished before kill {kill}"
        if kill % 3:
            crawl.kill_one_worker(choice)
        else:
            crawl.kill_everything()
            crawl.start()


def stored(crawl: Crawl) -> dict[str, tuple[str, str]]:
    rows = crawl.ask("SELECT key, data FROM records WHERE gone = 0 AND version = 1")
    found = {one_spelling(key): json.loads(data) for key, data in rows}
    assert len(found) == len(rows), "two records of one page"
    return {path: (data["title"], data["sha256"]) for path, data in found.items()}


def paths(crawl: Crawl, where: str) -> list[str]:
    return sorted(one_spelling(url) for (url,) in crawl.ask(f"SELECT url FROM pages WHERE {where}"))


def others(crawl: Crawl) -> list[str]:
    """Pages that were fetched and gave no record."""
    return paths(crawl, "kind = 'page' AND state = 'done' AND id NOT IN (SELECT page FROM parts)")
