"""Log lines as JSON: every line of a command is one object, and a page is followed by its URL and attempt."""

from __future__ import annotations

import json
import logging
import os
import re
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from front_helpers import CLEAN, Ran, ask, command, eventually, in_shell, limpet

from limpet import exits, logs, lost
from limpet.logs import JsonFormatter
from limpet_store import secret
from limpet_store.event import Event
from limpet_store.store import Store

SITE = """\
from limpet import Page, Record, Site, secret

site = Site("shop", seeds=["{url}/"], allow_private=True, robots=False, headers={{"X-Key": secret("SHOP_KEY")}})
site.tune(lease=3)


@site.page("/")
def index(page: Page):
    yield from page.links()


@site.page("/p/{{n}}")
def product(page: Page):
    print("a word of the site file's own", page.headers["x-told"])
    yield Record("product", page.params["n"], {{"price": "1"}})


@site.page("/bad")
def bad(page: Page):
    raise RuntimeError("\\x1b[31mred")
"""
KEY = "k3y-that-nobody-may-see"


class Shop(ThreadingHTTPServer):
    """An index with a few pages; `/slow` is answered once `released` is set."""

    daemon_threads = True

    def __init__(self, *paths: str) -> None:
        super().__init__(("127.0.0.1", 0), Answers)
        self.released = threading.Event()
        self.asked: list[str] = []
        self.body = "".join(f'<a href="{path}">x</a>' for path in paths)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, *_: object) -> None:
        pass  # who asked was killed


class Answers(BaseHTTPRequestHandler):
    server: Shop

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        if self.path == "/p/slow":
            self.server.released.wait(30)
        body = f"<html>{self.server.body if self.path == '/' else ''}</html>".encode()
        self.send_response(404 if self.path == "/missing" else 200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-Told", self.headers.get("X-Key", ""))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def serving(*paths: str) -> Iterator[Shop]:
    with Shop(*paths) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.released.set()
        server.shutdown()
        thread.join()


@pytest.fixture
def shop() -> Iterator[Shop]:
    with serving("/p/slow") as server:
        yield server


def write_site(folder: Path, shop: Shop) -> Path:
    path = folder / "shop.py"
    path.write_text(SITE.format(url=shop.url))
    return path


def objects(text: str) -> list[dict[str, Any]]:
    """Each line as the object that it must be."""
    found = [json.loads(line) for line in text.splitlines()]
    for line in found:
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line["time"])
        assert line["level"] in ("debug", "info", "warning", "error", "critical")
        assert line["logger"]
    return found


QUICKLY = ("--workers", "1", "--wait", "1")  # a page that is tried again after 10 s ends it


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Ran, Path, Shop]]:
    with serving("/p/1", "/p/2", "/bad", "/missing", "/p/3") as shop:
        site = write_site(tmp_path_factory.mktemp("crawled"), shop)
        yield in_shell("crawl", site, "--log-format", "json", *QUICKLY, env={"SHOP_KEY": KEY}), site, shop


def test_every_line_of_a_crawl_is_an_object_and_each_page_has_one_outcome(
    crawled: tuple[Ran, Path, Shop],
) -> None:
    ran, site, shop = crawled
    lines = objects(ran.err)
    assert {line["crawl"] for line in lines[1:]} == {"shop"}
    outcomes = {line["url"]: line for line in lines if line.get("event") == "outcome"}
    assert outcomes.keys() == {url for (url,) in ask(site, "SELECT url FROM pages")}
    product = outcomes[f"{shop.url}/p/1"]
    ((page, fence, nonce),) = ask(site, "SELECT id, fence, nonce FROM pages WHERE url LIKE '%/p/1'")
    assert (product["page"], product["attempt"], product["nonce"]) == (page, fence, nonce)
    assert product["nonce"].startswith(product["worker"])
    assert (product["outcome"], product["status"], product["records"], product["messages"]) == (
        "done",
        200,
        1,
        1,
    )
    assert product["fetch_ms"] > 0
    assert product["extract_ms"] > 0
    assert product["bytes"] == len("<html></html>")
    assert outcomes[f"{shop.url}/"]["links"] == 5
    assert outcomes[f"{shop.url}/missing"]["outcome"] == "dead"
    assert outcomes[f"{shop.url}/missing"]["status"] == 404


def test_a_page_that_is_tried_again_says_when_and_why_and_its_words_are_plain(
    crawled: tuple[Ran, Path, Shop],
) -> None:
    ran, _, shop = crawled
    assert "\x1b" not in ran.err
    (bad, *_) = [line for line in objects(ran.err) if line.get("url") == f"{shop.url}/bad"]
    assert (bad["outcome"], bad["reason"]) == ("retry", "handler")
    assert "\x1b[31mred" in bad["error"], "a reader of JSON gets it as it was"
    assert bad["again_at"] > bad["time"]


def test_what_a_site_file_prints_is_an_object_too_and_a_secret_is_never_shown(
    crawled: tuple[Ran, Path, Shop],
) -> None:
    ran, *_ = crawled
    printed = [line["message"] for line in objects(ran.err) if line["logger"] == "limpet.output"]
    assert any("a word of the site file's own" in text for text in printed)
    logged = [line for line in ran.err.splitlines() if '"limpet.output"' not in line]
    assert not any(KEY in line for line in logged)


def test_in_words_a_default_crawl_says_nothing_of_single_pages(tmp_path: Path, shop: Shop) -> None:
    site = write_site(tmp_path, shop)
    shop.released.set()
    ran = in_shell("crawl", site, *QUICKLY, env={"SHOP_KEY": KEY})
    assert ran.code == 0
    assert "outcome" not in ran.err
    assert f"{shop.url}/p/slow" not in ran.err


def horses(site: Path) -> list[int]:
    return [int(path.name.removeprefix("horse-")) for path in (site.parent / ".limpet/run").glob("horse-*")]


def test_a_page_is_followed_by_url_and_attempt_over_a_kill(tmp_path: Path, shop: Shop) -> None:
    site = write_site(tmp_path, shop)
    words = command("crawl", site, "--log-format", "json", "--verbose", "--workers", "1")
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True, env=CLEAN | {"SHOP_KEY": KEY}) as process:
        try:
            eventually(lambda: "/p/slow" in shop.asked)
            (horse,) = horses(site)
            os.kill(horse, signal.SIGKILL)
            eventually(lambda: shop.asked.count("/p/slow") == 2)
            shop.released.set()
            _, err = process.communicate(timeout=30)
        finally:
            process.kill()
    lines = [line for line in objects(err) if line.get("url") == f"{shop.url}/p/slow"]
    first, second = dict.fromkeys(line["attempt"] for line in lines)
    assert [line["event"] for line in lines if line["attempt"] == first] == ["attempt", "lost"]
    again = [line for line in lines if line["attempt"] == second]
    assert [line["event"] for line in again] == ["attempt", "fetch", "outcome"]
    assert again[0]["repeat"] is True
    assert ask(site, "SELECT fence, state FROM pages WHERE url LIKE '%/p/slow'") == [(second, "done")]
    (nonce,) = {line["nonce"] for line in again}
    leased = [line for line in objects(err) if line.get("event") == "lease" and line["nonce"] == nonce]
    assert [line["page"] for line in leased] == [again[0]["page"]]


def test_a_stop_says_which_pages_were_put_back(tmp_path: Path, shop: Shop) -> None:
    site = write_site(tmp_path, shop)
    site.write_text(f"{site.read_text()}\nsite.tune(threads=2)  # which are left where they wait\n")
    words = command("crawl", site, "--log-format", "json", "--workers", "1")
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True, env=CLEAN | {"SHOP_KEY": KEY}) as process:
        try:
            eventually(lambda: "/p/slow" in shop.asked)
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=30)
        finally:
            process.kill()
    (line,) = [line for line in objects(err) if line.get("url") == f"{shop.url}/p/slow"]
    assert (line["event"], line["outcome"]) == ("outcome", "put_back")


def test_what_a_worker_had_in_hand_is_told_by_url_and_attempt(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    with store.db.write():
        for n, (nonce, held) in enumerate((("w1/1-1-aa", 1), ("w1/2-1-bb", 1), ("w1/1-2-cc", 0))):
            store.db.run(
                "INSERT INTO pages (key, kind, url, canonical, host, depth, state, due_at, round, fence, nonce, open)"
                " VALUES (?1, 'page', ?1, ?1, 1, 0, 'pending', 0, 1, 7, ?2, ?3)",
                (f"http://h/{n}", nonce, held),
            )
    with caplog.at_level(logging.INFO, "limpet.page"):
        lost.tell_from(store.db.path, store.crawl, "w1/1-")
    (said,) = [entry.msg for entry in caplog.records]
    assert (said.name, said.fields) == (
        "lost", {"url": "http://h/0", "page": 1, "attempt": 7, "nonce": "w1/1-1-aa"},
    )  # fmt: skip


def test_a_mistake_of_the_user_is_an_object(tmp_path: Path) -> None:
    ran = limpet("crawl", tmp_path / "none.py", "--log-format", "json")
    assert ran.code == 2
    (line,) = objects(ran.err)
    assert line["level"] == "error"
    ran = limpet("crawl", tmp_path / "none.py", "--workers", "many", "--log-format", "json")
    assert (ran.code, len(objects(ran.err))) == (2, 1)


def test_the_environment_may_name_the_format_and_a_wrong_one_is_refused(tmp_path: Path) -> None:
    ran = limpet("crawl", tmp_path / "none.py", env={"LIMPET_LOG_FORMAT": "json"})
    assert (ran.code, len(objects(ran.err))) == (2, 1)
    ran = limpet("crawl", tmp_path / "none.py", env={"LIMPET_LOG_FORMAT": "xml"})
    assert ran.code == 2
    assert ran.said == ["limpet: environment LIMPET_LOG_FORMAT: text or json, not 'xml'"]


@pytest.fixture
def speaking() -> Iterator[None]:
    logs.use("json")
    yield
    logs.use("text")


def record(message: object, *args: object, **rest: Any) -> logging.LogRecord:
    return logging.LogRecord("limpet.test", logging.WARNING, "x.py", 1, message, args, None, **rest)


@pytest.mark.usefixtures("speaking")
def test_a_traceback_is_one_field() -> None:
    try:
        raise ValueError("why\nso")
    except ValueError as error:
        made = logging.LogRecord(
            "limpet.test",
            logging.ERROR,
            "x.py",
            1,
            "it %s",
            ("failed",),
            (ValueError, error, error.__traceback__),
        )
    (line,) = objects(JsonFormatter().format(made))
    assert line["message"] == "it failed"
    assert line["traceback"].startswith("Traceback")
    assert line["traceback"].endswith("ValueError: why\nso")


@pytest.mark.usefixtures("speaking")
def test_text_from_the_web_cannot_break_a_line_or_the_terminal() -> None:
    hostile = 'a\n{"time":1}\x1b[2J\u202e\ud800\x85"'
    logs.about(crawl="shop")
    text = JsonFormatter().format(record(Event("outcome", url=hostile)))
    assert text.isprintable()
    (line,) = objects(text)
    assert line["url"] == hostile
    assert (line["crawl"], line["event"]) == ("shop", "outcome")


@pytest.mark.usefixtures("speaking")
def test_a_revealed_secret_is_hidden_in_every_field(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secret, "_revealed", {"hunter22": "PASSWORD"})
    text = JsonFormatter().format(record(Event("outcome", url="http://h/?p=hunter22", error="hunter22!")))
    assert "hunter22" not in text
    assert "PASSWORD" in text
    assert "hunter22" not in JsonFormatter().format(record("said %s", "hunter22"))
    assert "hunter22" not in str(Event("outcome", url="http://h/?p=hunter22"))


@pytest.mark.usefixtures("speaking")
def test_a_log_call_with_wrong_arguments_is_a_line_all_the_same() -> None:
    (line,) = objects(JsonFormatter().format(record("%d pages", "many")))
    assert "many" in line["message"]


@pytest.mark.usefixtures("speaking")
def test_a_workers_object_is_passed_on_as_it_is_and_all_else_is_wrapped(
    capsys: pytest.CaptureFixture[str],
) -> None:
    ready = logs.line("of a worker", logger="limpet.page")
    for text in (ready, "Traceback (most recent call last):", '{"time": broken', '{"mine": 1}', ""):
        exits.pass_on(text)
    said = capsys.readouterr().err
    first, *wrapped = said.splitlines()
    assert first == ready
    assert [line["message"] for line in objects("\n".join(wrapped))] == [
        "Traceback (most recent call last):", '{"time": broken', '{"mine": 1}', "",
    ]  # fmt: skip
