"""Several pools on one crawl, each a command in a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from e2e.helpers import eventually

from limpet_consumers.process import die_with_parent
from limpet_store.presence import living


@contextmanager
def pool(
    site: Path, *options: str, command: str = "consume", environment: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """`limpet consume SITE`, killed at the end if it has not ended; what it says goes to `talk-N` beside the site."""
    parent = os.getpid()
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("LIMPET_")}
    number = len(list(site.parent.glob("talk-*")))
    with (site.parent / f"talk-{number}").open("wb") as talk:
        process = subprocess.Popen(
            [sys.executable, "-m", "limpet", command, str(site), *options],
            stdin=subprocess.DEVNULL, stdout=talk, stderr=talk, start_new_session=True,
            preexec_fn=lambda: die_with_parent(parent), env=inherited | dict(environment or {}),
        )  # fmt: skip
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def said(site: Path) -> str:
    """What all pools have said."""
    return "".join(path.read_text(errors="replace") for path in sorted(site.parent.glob("talk-*")))


def horses(home: Path) -> list[int]:
    """The work-horses that live."""
    return [who.pid for who in living(home) if who.role == "horse"]


@contextmanager
def stopped(pid: int) -> Iterator[None]:
    """SIGSTOP around the block."""
    os.kill(pid, signal.SIGSTOP)
    try:
        eventually(lambda: _state(pid) in "TX", f"{pid} does not stop")
        yield
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


def _state(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    return "X"


def until(what: Callable[[], object], site: Path) -> None:
    """Wait for it; what the pools said, if it never comes."""
    try:
        eventually(what, seconds=60)
    except AssertionError:
        raise AssertionError(f"it never came; they said:\n{said(site)}") from None
