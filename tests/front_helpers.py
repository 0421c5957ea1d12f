"""The command line as a user meets it: real stores, the embedded server, the demo shop on 127.0.0.1."""

from __future__ import annotations

import io
import logging
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pytest

from limpet import cli
from limpet.exits import guarded

CLEAN = {name: value for name, value in os.environ.items() if not name.startswith("LIMPET_")}


@dataclass(frozen=True, slots=True)
class Ran:
    """How a command ended, and what it said."""

    code: int
    out: str
    err: str

    @property
    def said(self) -> list[str]:
        return self.err.splitlines()


def command(*args: object) -> list[str]:
    return [sys.executable, "-m", "limpet", *map(str, args)]


def limpet(
    *args: object, stdin: str = "", cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> Ran:
    """Run `limpet` in this process, which saves it half a second; a bug raises here."""
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()
    with (
        pytest.MonkeyPatch.context() as patched,
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        patched.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode()), "utf-8"))
        patched.setattr(logging.root, "handlers", [])
        for name in os.environ.keys() - CLEAN.keys():
            patched.delenv(name)
        for name, value in (env or {}).items():
            patched.setenv(name, value)
        if cwd is not None:
            patched.chdir(cwd)
        words = [*map(str, args)]
        code = guarded(lambda: cli.limpet.main(words, prog_name="limpet", standalone_mode=False))
        out.flush()
    return Ran(int(code), out.buffer.getvalue().decode(), err.getvalue())  # type: ignore[attr-defined]


def in_shell(*args: object, env: Mapping[str, str] | None = None) -> Ran:
    """Run `limpet` in a process of its own, as a shell would."""
    environment = {**CLEAN, **(env or {})}
    done = subprocess.run(
        command(*args), capture_output=True, text=True, env=environment, timeout=60, check=False
    )
    return Ran(done.returncode, done.stdout, done.stderr)


@contextmanager
def running(*args: object) -> Iterator[subprocess.Popen[str]]:
    """`limpet` in the background; it is ended by Ctrl-C, twice if need be."""
    with subprocess.Popen(
        command(*args),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=CLEAN,
        start_new_session=True,
    ) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
                try:
                    process.wait(10)
                except subprocess.TimeoutExpired:
                    process.kill()


def eventually(what: Callable[[], object], seconds: float = 30.0) -> None:
    """Poll until `what()` is true; fail after `seconds`."""
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.01)


SITE = """\
from limpet import Page, Record, Site

site = Site("shop", seeds=["{seed}"], allow_private=True)
site.tune(lease=3)


@site.page("/list/{{n}}")
def listing(page: Page):
    yield from page.links("a[rel=next]")
    for card in page.css("li"):
        yield page.link(card.css("a"), to=product)


@site.page("/product/{{n}}")
def product(page: Page):
    {body}
"""
RECORD = """yield Record(
        "product",
        key=page.one(".sku::text"),
        data={"name": page.one(".name::text"), "price": page.one(".price::text"), "url": page.url},
    )"""


def write_site(folder: Path, seed: str, body: str = RECORD) -> Path:
    """A site file for the demo shop; `body` is what the handler of products does."""
    folder.mkdir(exist_ok=True)
    path = folder / "shop.py"
    path.write_text(SITE.format(seed=seed, body=body))
    return path


def database(site: Path) -> Path:
    return site.parent / ".limpet" / "shop.db"


def ask(site: Path, sql: str, *params: object) -> list[tuple[object, ...]]:
    """Rows straight from the file."""
    with closing(sqlite3.connect(database(site))) as db:
        return db.execute(sql, params).fetchall()


def edit(site: Path, *statements: str) -> None:
    """Change the file behind limpet's back, against its constraints and triggers."""
    with closing(sqlite3.connect(database(site), isolation_level=None)) as db:
        db.execute("PRAGMA ignore_check_constraints=ON")
        for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            db.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            db.execute(statement)
