"""Every way a command may end: its exit code, one clear line, no traceback."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from front_helpers import CLEAN, Ran, ask, command, eventually, in_shell, limpet, running, write_site

from limpet.cli import SUMMARY
from limpet.demo.shop import Shop, ShopServer
from limpet_store.server import connect
from limpet_store.valkey import ensure_server, stop_server

NOBODY = "redis://127.0.0.1:1/0"


def assert_wrong_use(ran: Ran, *words: str) -> None:
    assert ran.code == 2, ran.err
    assert len(ran.said) == 1
    assert ran.out == ""
    for word in words:
        assert word in ran.err


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = 1", "no `site` in it"),
        ("site = (", "not Python"),
        ("1 / 0", "ZeroDivisionError"),
        ('from limpet import Site\nsite = Site("a", seeds=["nope"])', "not an absolute http or https URL"),
        ('from limpet import Site\nsite = Site("a", seeds=[])', "nothing in scope"),
        ('from limpet import Site\nshop = Site("a", seeds=["http://127.0.0.1/"])', "rename shop to site"),
    ],
)
def test_a_site_file_that_cannot_be_used_is_wrong_use(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "shop.py").write_text(text)

    assert_wrong_use(limpet("crawl", tmp_path / "shop.py"), "shop.py", words)


@pytest.mark.parametrize("name", ["crawl", "consume", "export", "verify", "path", "reset"])
def test_a_site_file_that_is_not_there_is_wrong_use(tmp_path: Path, name: str) -> None:
    assert_wrong_use(limpet(name, tmp_path / "no.py"), "no such file")


def test_a_folder_in_place_of_a_site_file_is_wrong_use(tmp_path: Path) -> None:
    assert_wrong_use(in_shell("crawl", tmp_path), "a folder")


@pytest.mark.parametrize("name", ["crawl", "consume"])
def test_a_redis_that_does_not_answer_is_wrong_use(site: Path, name: str) -> None:
    ran = limpet(name, site, "--redis", NOBODY)

    assert ran.code == 2
    assert ran.said[-1].startswith("limpet: no usable Redis at 127.0.0.1:1")
    assert "Traceback" not in ran.err


@pytest.fixture
def evicting(tmp_path: Path) -> Iterator[str]:
    home = tmp_path / "elsewhere"
    home.mkdir()
    url = ensure_server(home).url
    with connect(url) as client:
        client.config_set("maxmemory", "100mb")
        client.config_set("maxmemory-policy", "allkeys-lru")
    yield url
    stop_server(home)


def test_a_redis_that_evicts_is_wrong_use(site: Path, evicting: str) -> None:
    ran = limpet("crawl", site, "--redis", evicting)

    assert ran.code == 2
    assert "set it to noeviction" in ran.said[-1]
    assert ask(site, "SELECT count(*) FROM pages") == [(0,)]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--redis", "nope"], "not a Redis URL"),
        (["--store", "postgresql://x/y"], "PostgreSQL is not there yet"),
        (["--store", "/"], "is a folder"),
        (["--workers", "0"], "--workers"),
        (["--every", "soon"], "is no duration"),
        (["--nope"], "--nope"),
    ],
)
def test_an_option_that_makes_no_sense_is_wrong_use(site: Path, options: list[str], words: str) -> None:
    assert_wrong_use(limpet("crawl", site, *options), words)


def test_an_environment_variable_that_makes_no_sense_is_named(site: Path) -> None:
    ran = limpet("crawl", site, env={"LIMPET_WORKERS": "many"})

    assert_wrong_use(ran, "LIMPET_WORKERS", "many")


def test_a_home_that_cannot_be_made_is_wrong_use(site: Path) -> None:
    assert_wrong_use(limpet("crawl", site, "--home", site / "home"), "cannot write in", "LIMPET_HOME")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_home_that_may_not_be_written_is_wrong_use(site: Path, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir(mode=0o500)

    assert_wrong_use(limpet("crawl", site, "--home", tmp_path / "home"), "cannot write in", "LIMPET_HOME")


@pytest.mark.parametrize("name", ["export", "changes", "verify", "status", "rebuild"])
def test_a_crawl_that_was_never_begun_is_wrong_use(site: Path, name: str) -> None:
    assert_wrong_use(limpet(name, site), "shop was never crawled: run `limpet crawl")
    assert not (site.parent / ".limpet" / "shop.db").exists()


def test_the_store_of_another_crawl_is_wrong_use(crawled: Path, tmp_path: Path, shop: ShopServer) -> None:
    other = write_site(tmp_path / "other", shop.first_page)
    other.write_text(other.read_text().replace('"shop"', '"other"'))

    ran = limpet("export", other, "--store", crawled.parent / ".limpet" / "shop.db")

    assert_wrong_use(ran, "holds the crawl 'shop', not 'other'")


def test_a_command_that_is_mistyped_gets_the_nearest_one(tmp_path: Path) -> None:
    assert_wrong_use(limpet("stauts"), "'stauts'", "did you mean status?")
    assert_wrong_use(limpet("xyzzy"), "limpet --help lists them")


def test_a_missing_argument_is_wrong_use() -> None:
    assert_wrong_use(limpet("crawl"), "SITE")


def test_a_complete_crawl_ends_with_0_and_once_more_with_0_and_no_request(
    site: Path, shop: ShopServer
) -> None:
    assert limpet("crawl", site, "--workers", 1).code == 0
    mark = shop.mark()

    again = limpet("crawl", site, "--workers", 1)

    assert again.code == 0
    assert shop.requests_since(mark) == []
    assert "--refresh looks at every page again" in again.err


ODD = """if page.params["n"] == "2":
        raise ValueError("odd")
    yield Record("product", key=page.url)"""


def test_a_dead_page_ends_with_3(shop: ShopServer, tmp_path: Path) -> None:
    site = write_site(tmp_path / "site", shop.first_page, ODD)
    site.write_text(site.read_text().replace("lease=3", "lease=3, max_attempts=1"))

    ran = limpet("crawl", site, "--workers", 1)

    assert ran.code == 3
    assert "1 page dead (handler), e.g. " in ran.err
    assert limpet("status", site, "--check").code == 3
    assert limpet("status", site).code == 0


def test_a_rejected_record_ends_with_3(shop: ShopServer, tmp_path: Path) -> None:
    body = 'yield Record("product", key=page.url, data={"price": page.one(".nowhere")})'
    site = write_site(tmp_path / "site", shop.first_page, body)

    ran = limpet("crawl", site, "--workers", 1)

    assert ran.code == 3
    assert "6 records rejected" in ran.err


def test_a_limit_ends_with_4(site: Path) -> None:
    ran = limpet("crawl", site, "--workers", 1, "--limit", 2)

    assert ran.code == 4
    assert ran.said[-1] == "stopped early: 2 pages, as asked for"
    assert limpet("status", site, "--check").code == 4
    assert limpet("crawl", site, "--workers", 1).code == 0


def test_a_crawl_without_a_record_ends_with_5(shop: ShopServer, tmp_path: Path) -> None:
    site = write_site(tmp_path / "site", shop.first_page, "return ()")

    assert limpet("crawl", site, "--workers", 1).code == 5
    assert limpet("status", site, "--check").code == 5


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_crawl_releases_its_work_and_says_how_to_go_on(
    tmp_path: Path, sent: signal.Signals, code: int
) -> None:
    with ShopServer(Shop(listings=2, products=6), log_path=tmp_path / "log") as slow:
        slow.delay_answers(0.5)
        site = write_site(tmp_path / "site", slow.first_page)
        with running("crawl", site, "--workers", 1) as crawl:
            slow.wait_for_request(0)
            crawl.send_signal(sent)
            _, said = crawl.communicate(timeout=30)
        assert crawl.returncode == code
        assert f"`limpet crawl {site}` goes on from here" in said
        assert ask(site, "SELECT count(*) FROM pages WHERE open = 1") == [(0,)]
        slow.delay_answers(0)
        assert limpet("crawl", site, "--workers", 1).code == 0


def test_a_second_ctrl_c_ends_it_at_once(tmp_path: Path) -> None:
    with ShopServer(Shop(listings=2, products=6), log_path=tmp_path / "log") as slow:
        slow.delay_answers(3)
        site = write_site(tmp_path / "site", slow.first_page)
        with running("crawl", site, "--workers", 1) as crawl:
            slow.wait_for_request(0)
            crawl.send_signal(signal.SIGINT)
            assert crawl.stderr is not None
            eventually(lambda: "again: at once" in crawl.stderr.readline())  # type: ignore[union-attr]
            crawl.send_signal(signal.SIGINT)
            assert crawl.wait(2) == 130
    stop_server(site.parent / ".limpet")


@pytest.mark.parametrize("name", [name for name in SUMMARY if not name.startswith("_")])
def test_every_command_has_help_that_names_the_environment(name: str) -> None:
    help_ = limpet(name, "-h")

    assert help_.code == 0, help_.err
    without_state = {"demo", "new", "try", "check", "shell"}
    if name == "dead":  # its own commands have it
        help_ = limpet(name, "list", "-h")
    assert ("LIMPET_HOME" in help_.out) == (name not in without_state)
    assert name in limpet("-h").out


def test_limpet_alone_shows_its_help() -> None:
    assert in_shell() == in_shell("--help")


def test_the_shell_completes_commands() -> None:
    env = {"_LIMPET_COMPLETE": "bash_complete", "COMP_WORDS": "limpet st", "COMP_CWORD": "1"}

    assert in_shell(env=env).out == "plain,status\n"


@pytest.mark.parametrize("name", ["export", "changes", "status", "path"])
def test_a_reader_that_has_enough_is_no_failure(crawled: Path, name: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)

    done = subprocess.run(
        command(name, crawled), stdout=writer, stderr=subprocess.PIPE, text=True, check=False
    )

    os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_full_disk_behind_stdout_is_one_line(site: Path, shop: ShopServer) -> None:
    limpet("crawl", site, "--workers", 1)
    for words in (("export", site), ("status", site), ("changes", site), ("path", site)):
        with open("/dev/full", "w") as full:
            ran = subprocess.run(command(*words), stdout=full, stderr=subprocess.PIPE, text=True, env=CLEAN)
        errors = [line for line in ran.stderr.splitlines() if not line.startswith("position:")]
        assert (ran.returncode, errors) == (2, ["limpet: No space left on device: the output"])


def test_a_site_that_does_not_answer_is_named_with_the_reason(tmp_path: Path) -> None:
    site = tmp_path / "shop.py"
    site.write_text('from limpet import Site\nsite = Site("a", seeds=["http://127.0.0.1:1/list/0"])')
    ran = limpet("crawl", site, "--workers", 1, "--wait", 1)
    assert ran.code == 4
    assert "http://127.0.0.1:1 does not answer as it should: connection refused" in ran.said
