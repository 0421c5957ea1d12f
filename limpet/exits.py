"""Exit codes, and the one boundary where errors become a line and a code."""

from __future__ import annotations

import errno
import logging
import os
import sys
import traceback
from collections.abc import Callable
from enum import IntEnum
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any

import click

from limpet import logs
from limpet.shown import PlainFormatter, plain, plain_json
from limpet_store.errors import LimpetError, UsageError

if TYPE_CHECKING:
    from limpet_store.summary import Summary


# What the user can mend about files: rights, a full or read-only disk, a file that is not there.
MENDABLE = frozenset(
    {errno.EACCES, errno.EPERM, errno.ENOSPC, errno.EROFS, errno.EDQUOT, errno.ENOENT, errno.ENOTDIR}
)


class Exit(IntEnum):
    """How a command ended; of several that hold, the one that comes first here."""

    TERMINATED = 143  # SIGTERM, or the terminal was closed; work released
    INTERRUPTED = 130  # Ctrl-C; work released
    WRONG_USE = 2  # something the user can mend; one line says how
    FAILED = 1  # limpet failed, or a check did
    STOPPED_EARLY = 4  # a limit, a pause, or nothing due for a while
    IMPERFECT = 3  # complete, but with dead pages or rejected records
    EMPTY = 5  # complete, with no record at all
    COMPLETE = 0


def verdict(facts: Summary, *, pending: bool) -> Exit:
    """How complete a crawl is."""
    if pending:
        return Exit.STOPPED_EARLY
    if facts.imperfect:
        return Exit.IMPERFECT
    return Exit.COMPLETE if facts.records else Exit.EMPTY


def guarded(command: Callable[[], object]) -> int:
    """Run a command; its exit code. A user's mistake is one line on stderr, a bug keeps its traceback."""
    try:
        result = command()
        return int(result) if isinstance(result, int) else Exit.COMPLETE
    except UsageError as error:
        _say_error(str(error))
        return Exit.WRONG_USE
    except click.ClickException as error:
        _say_error(error.format_message())
        return Exit.WRONG_USE
    except click.exceptions.Exit as error:
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return Exit.INTERRUPTED
    except LimpetError as error:
        _say_error(str(error))
        logging.getLogger("limpet").debug("where", exc_info=error)
        return Exit.FAILED
    except OSError as error:
        if error.errno not in MENDABLE:
            raise
        _say_error(f"{error.strerror}: {error.filename or 'the output'}")
        logging.getLogger("limpet").debug("where", exc_info=error)
        return Exit.WRONG_USE


class Talk:
    """A text stream whose reader may be gone: then its words are lost, and nothing else is."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        try:
            return self._stream.write(text)
        except (OSError, ValueError):  # a closed pipe, a full disk, a terminal that went away; a closed file
            return len(text)

    def flush(self) -> None:
        try:
            self._stream.flush()
        except (OSError, ValueError):
            pass

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def open_streams() -> None:
    """Streams for a command: each is there, and whatever becomes of stderr costs nothing. Descriptors are open. What
    a bug says of itself, and a site file of its pages, is made plain."""
    sys.stdin = sys.stdin or os.fdopen(0)  # None: it was closed before we began
    sys.stdout = sys.stdout or os.fdopen(1, "w")
    sys.stderr = Talk(sys.stderr or os.fdopen(2, "w"))
    sys.excepthook = _say_bug
    if logging.lastResort:  # what a site file logs in a command that sets no logging up
        logging.lastResort.setFormatter(PlainFormatter())


def say(line: str, level: str = "info") -> None:
    """One line of talk, made plain: to stderr, since stdout is data."""
    _write(logs.line(line, level=level) if logs.in_json() else plain(line))


def pass_on(line: str) -> None:
    """A line that another process wrote; one that is JSON already is left as it is."""
    if logs.in_json():
        _write(plain_json(line) if logs.is_line(line) else logs.line(line, logger=logs.OUTPUT))
    else:
        _write(plain(line))


def _write(line: str) -> None:
    sys.stderr.write(f"{line}\n")  # in one piece: others write there too
    sys.stderr.flush()


def _say_bug(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    told = "".join(traceback.format_exception(kind, error, trace)).rstrip("\n")
    if logs.in_json():
        _write(logs.line(f"{kind.__name__}: {error}", level="critical", logger="limpet", traceback=told))
    else:
        say(told)


def _say_error(text: str) -> None:
    """One line for each mistake, whoever worded it; several are told apart by `;` and a line's end."""
    for mistake in text.split(";\n"):
        say(f"limpet: {' '.join(mistake.split())}", "error")
