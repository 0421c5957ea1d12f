"""Nothing that a page says reaches a terminal as it is: what would move the cursor, set the title or turn the text
round is written out."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

import pytest
from front_helpers import CLEAN, Ran, in_shell
from small_site import Answer, SmallSite, small_site

from limpet.shown import _UNSAFE, PlainFormatter, as_json, one_line, plain, plain_json

EVIL = "\x1b]0;owned\x07 \x1b[2J \x9b31m \u202egnp.exe\u2066 \x7f \u200b \U000e0041 \u061c\ufeff\u2060end"
ANYWHERE = _UNSAFE.search


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("\x1b[31mred", "\\u001b[31mred"),
        ("a\rb\tc\x00", "a\\u000db\\u0009c\\u0000"),
        ("\x9bA\x85\x7f", "\\u009bA\\u0085\\u007f"),
        ("\u202eabc\u2066", "\\u202eabc\\u2066"),
        ("\U000e0041\U000e007f", "\\U000e0041\\U000e007f"),
        ("\ud800", "\\ud800"),
        ("two\nlines", "two\nlines"),
        ("Ünïcödé 中文 e\u0301 ❤\ufe0f", "Ünïcödé 中文 e\u0301 ❤\ufe0f"),
    ],
)
def test_what_acts_on_a_terminal_is_written_out_and_the_rest_stays(text: str, printed: str) -> None:
    assert plain(text) == printed
    assert plain(printed) == printed


def test_one_line_is_the_first_one_escaped_and_cut() -> None:
    assert one_line(" a\x1bb\nforged: all is well") == "a\\u001bb"
    assert one_line("x" * 300, 10) == "x" * 9 + "…"


def test_json_says_the_same_without_them() -> None:
    text = as_json({EVIL: [EVIL, "\ud800"]}, indent=1)
    assert not ANYWHERE(text)
    assert json.loads(text) == {EVIL: [EVIL, "\ud800"]}
    assert plain_json('{"a":"é"}') == '{"a":"é"}'


def test_a_log_line_is_plain_and_keeps_its_traceback() -> None:
    try:
        raise ValueError(EVIL)
    except ValueError:
        record = logging.LogRecord("limpet", logging.ERROR, "", 0, "it says %s", (EVIL,), sys.exc_info())
    text = PlainFormatter("limpet: %(message)s").format(record)
    assert not ANYWHERE(text)
    assert text.startswith("limpet: it says \\u001b]0;owned\\u0007")
    assert "\nTraceback" in text


def test_a_bug_that_quotes_a_page_is_plain_too() -> None:
    text = f"from limpet.exits import open_streams\nopen_streams()\nraise RuntimeError({EVIL!r})"
    ran = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    assert ran.stderr.splitlines()[-1].startswith("RuntimeError: \\u001b]0;owned")
    assert not ANYWHERE(ran.stderr)


SITE = """\
import logging
from limpet import Record, Site

site = Site("evil", seeds=["{url}/"], allow_private=True, robots=False)
site.tune(max_attempts=1)


@site.page("/")
def home(page):
    word = page.css("h1::text").get()
    logging.getLogger("limpet.site").warning("the page says %s", word)
    yield from page.links()
    yield page.link("/to/" + word, data={{"word": word, word: 1}})
    yield Record("thing", key=word, data={{"word": word, word: word}})
    yield Record("thing", key="bad", data={{word: float("nan"), "sku": page.one(".sku")}})
    yield Record("thing", key="twice", data={{"word": word}})
    yield Record("thing", key="twice", data={{"word": word + "!"}})


@site.page("/fails/{{rest:path}}")
def fails(page):
    raise ValueError(page.css("h1::text").get() + page.params["rest"])


@site.page("/json")
def json(page):
    page.json()


@site.page("/to/{{rest:path}}")
def to(page):
    yield Record("other", key=page.params["rest"], data={{"from": page.data}})
"""


@pytest.fixture(scope="module")
def evil() -> Iterator[SmallSite]:
    title = f"<title>{EVIL}</title><h1>{EVIL}</h1>"
    there = quote(EVIL)
    moved = {"Location": f"{{url}}/to/{there}"}
    pages = {
        "/": title + f"<a href='/fails/{there}'>x</a><a href='/json'>x</a><a href='/gone/{there}'>x</a>"
        f"<a href='/moved'>x</a><a href='{EVIL}://x'>x</a><a href='/500'>x</a>",
        f"/fails/{there}": title,
        f"/to/{there}": title,
        "/json": Answer(f'{{"a": {EVIL}}}'),
        "/moved": Answer("", 302, moved),
        "/500": Answer(EVIL, 500),
    }
    with small_site(pages) as site:
        yield site


@pytest.fixture(scope="module")
def crawled(evil: SmallSite, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Ran]:
    """A site file beside its crawl, and what that said."""
    file = tmp_path_factory.mktemp("evil") / "evil.py"
    file.write_text(SITE.format(url=evil.url))
    ran = in_shell("crawl", file, "--workers", 1, "--verbose", "--wait", "0")
    assert ran.code in (3, 4), ran.err
    return file, ran


def assert_plain(ran: Ran, *, quoting: bool = True) -> None:
    said = ran.out + ran.err
    assert not ANYWHERE(said.replace("\t", " ")), ascii(said)
    if quoting:
        assert any(form in said for form in ("\\u001b", "\\x1b", "%1B")), (
            "it quotes nothing, so it shows nothing"
        )


def test_a_crawl_and_its_workers_say_nothing_raw(crawled: tuple[Path, Ran]) -> None:
    ran = crawled[1]
    assert "the page says \\u001b]0;owned" in ran.err
    assert_plain(ran)


QUIET = (("verify",), ("try", "{url}/json"))  # they quote nothing of it


@pytest.mark.parametrize(
    "words",
    [
        ("status",),
        ("status", "--json"),
        ("status", "--problems"),
        ("show", "{url}/"),
        ("show", "{url}/", "--json"),
        ("show", "{url}/fails/{path}"),
        ("show", "{url}/moved"),
        ("show", "{url}/nowhere/{raw}"),
        ("show", "{raw}"),
        ("show", "{raw}", "--json"),
        ("show", "thing twice"),
        ("show", "nothing {raw}"),
        ("changes",),
        ("changes", "--positions"),
        ("export",),
        ("verify",),
        ("try", "{url}/"),
        ("try", "{url}/", "--all"),
        ("try", "{url}/", "--json"),
        ("try", "{url}/fails/{path}"),
        ("try", "{url}/json"),
        ("try", "{url}/", "--follow"),
        ("enqueue", "{url}/{raw}", "{raw}"),
        ("export", "--type", "{raw}"),
    ],
    ids=" ".join,
)
def test_no_command_prints_what_a_page_says_as_it_is(
    crawled: tuple[Path, Ran], evil: SmallSite, words: tuple[str, ...]
) -> None:
    command, *more = (word.format(url=evil.url, path=quote(EVIL), raw=EVIL) for word in words)
    assert_plain(in_shell(command, crawled[0], *more), quoting=words not in QUIET)


def test_saved_pages_are_compared_in_plain_words(
    crawled: tuple[Path, Ran], evil: SmallSite, tmp_path: Path
) -> None:
    file = tmp_path / "evil.py"
    file.write_text(crawled[0].read_text())
    assert_plain(in_shell("try", file, f"{evil.url}/", "--save", tmp_path / "pages"))
    file.write_text(file.read_text().replace('"thing"', '"thing" + word'))
    ran = in_shell("check", file, tmp_path / "pages")
    assert ran.code == 1
    assert_plain(ran)


def test_a_draft_quotes_a_page_in_plain_words(evil: SmallSite, tmp_path: Path) -> None:
    ran = in_shell("new", tmp_path / "draft.py", f"{evil.url}/")
    assert_plain(ran, quoting=False)
    if (tmp_path / "draft.py").exists():
        assert not ANYWHERE((tmp_path / "draft.py").read_text())


def test_a_prompt_says_a_pages_errors_in_plain_words(crawled: tuple[Path, Ran], evil: SmallSite) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "limpet", "shell", str(crawled[0]), f"{evil.url}/"],
        input="raise ValueError(page.css('h1::text').get())\nrun()\n", capture_output=True, text=True,
        env=CLEAN, timeout=60, check=False,
    )  # fmt: skip
    assert_plain(Ran(ran.returncode, ran.stdout, ran.stderr))


@pytest.mark.parametrize("words", [("status",), ("show", "{url}/"), ("try", "{url}/")], ids=" ".join)
def test_a_terminal_gets_no_more_than_a_pipe(
    crawled: tuple[Path, Ran], evil: SmallSite, words: tuple[str, ...]
) -> None:
    command, *more = (word.format(url=evil.url) for word in words)
    ours, theirs = os.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "limpet", command, str(crawled[0]), *more],
        stdout=theirs, stderr=theirs, stdin=subprocess.DEVNULL,
        env={**CLEAN, "TERM": "dumb", "NO_COLOR": "1", "COLUMNS": "1000"},
    ) as process:  # fmt: skip
        os.close(theirs)
        with suppress(OSError), open(ours, "rb") as terminal:  # the end of a terminal is an error
            said = b""
            while piece := os.read(terminal.fileno(), 65536):
                said += piece
        assert process.wait(60) in (0, 3)
    assert_plain(Ran(0, said.decode().replace("\r\n", "\n"), ""))


def test_csv_is_data_and_keeps_every_character(crawled: tuple[Path, Ran]) -> None:
    assert EVIL in in_shell("export", crawled[0], "-f", "csv").out
