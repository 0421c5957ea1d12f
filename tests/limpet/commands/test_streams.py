"""Closed, full and lost streams, and the signals of a terminal: talk that nobody reads costs nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from front_helpers import CLEAN, ask, command, eventually, in_shell, limpet, running, write_site

from limpet.demo.shop import Shop, ShopServer
from limpet.exits import Talk
from limpet_store.valkey import stop_server

RECORDS = "SELECT count(*) FROM records"


def closed_pipe() -> int:
    """A pipe to write to whose reader is gone."""
    reader, writer = os.pipe()
    os.close(reader)
    return writer


def test_a_crawl_whose_talk_nobody_reads_goes_on_and_keeps_its_exit_code(site: Path) -> None:
    writer = closed_pipe()
    done = subprocess.run(command("crawl", site, "--workers", 1), stdout=writer, stderr=writer, env=CLEAN)
    os.close(writer)
    assert done.returncode == 0
    assert ask(site, RECORDS) == [(6,)]


def test_a_crawl_that_cannot_write_its_log_goes_on(site: Path) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(command("crawl", site, "--workers", 1, "--verbose"), stderr=full, env=CLEAN)
    assert done.returncode == 0
    assert ask(site, RECORDS) == [(6,)]


@pytest.mark.parametrize(
    ("closed", "commands"),
    [
        ("<&-", ["enqueue"]),
        (">&-", ["export"]),
        ("2>&-", ["status"]),
        ("<&- >&- 2>&-", ["status", "export", "enqueue"]),
    ],
    ids=["stdin", "stdout", "stderr", "all"],
)
def test_a_stream_that_was_closed_from_the_start_goes_nowhere(
    crawled: Path, closed: str, commands: list[str]
) -> None:
    for name in commands:
        line = subprocess.list2cmdline(command(name, crawled, *["-"] * (name == "enqueue")))
        done = subprocess.run(["sh", "-c", f"{line} {closed}"], capture_output=True, text=True, env=CLEAN)
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr


def test_talk_survives_a_stream_that_was_closed() -> None:
    file = open(os.devnull, "w")  # noqa: SIM115
    talk = Talk(file)
    assert talk.fileno() == file.fileno()
    file.close()
    talk.write("words")
    talk.flush()


def test_a_broken_pipe_is_no_success_where_stdout_is_not_all_there_is(
    site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise BrokenPipeError

    monkeypatch.setattr("limpet.crawling.Crawl.run", broken)
    with pytest.raises(BrokenPipeError):
        limpet("crawl", site)


def test_ctrl_c_while_it_is_being_loaded_is_silent(tmp_path: Path) -> None:
    """The first module of ours that is imported stands still, as a slow disk would make it."""
    marker = tmp_path / "loading"
    (tmp_path / "click.py").write_text(f"open({str(marker)!r}, 'w')\nimport time\ntime.sleep(60)\n")
    with subprocess.Popen(
        [sys.executable, "-m", "limpet", "--help"],
        env={**CLEAN, "PYTHONPATH": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        eventually(marker.exists)
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=30) == (b"", b"")
    assert process.returncode == 130


def crawl_of_a_slow_shop(folder: Path, shop: ShopServer) -> Path:
    shop.delay_answers(0.5)
    return write_site(folder / "site", shop.first_page)


def test_a_closed_terminal_is_a_wish_to_stop(tmp_path: Path) -> None:
    with ShopServer(Shop(listings=2, products=6), log_path=tmp_path / "log") as shop:
        site = crawl_of_a_slow_shop(tmp_path, shop)
        with running("crawl", site, "--workers", 1) as crawl:
            shop.wait_for_request(0)
            crawl.send_signal(signal.SIGHUP)
            crawl.communicate(timeout=30)
    assert crawl.returncode == 143
    assert ask(site, "SELECT count(*) FROM pages WHERE open = 1") == [(0,)]
    assert (site.parent / ".limpet" / "valkey.lock").exists()
    assert not in_shell("doctor", site).out.count("server pid"), "the embedded server is stopped"


def test_under_nohup_a_closed_terminal_means_nothing(tmp_path: Path) -> None:
    with ShopServer(Shop(listings=1, products=2), log_path=tmp_path / "log") as shop:
        site = crawl_of_a_slow_shop(tmp_path, shop)
        line = ["sh", "-c", 'trap "" HUP; exec "$@"', "sh", *command("crawl", site, "--workers", 1)]
        with subprocess.Popen(line, env=CLEAN, stderr=subprocess.PIPE) as crawl:
            shop.wait_for_request(0)
            crawl.send_signal(signal.SIGHUP)
            crawl.communicate(timeout=60)
    assert crawl.returncode == 0
    assert ask(site, RECORDS) == [(2,)]
    stop_server(site.parent / ".limpet")
