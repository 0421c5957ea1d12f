"""What a command says, in one of two formats: lines for people, or one JSON object a line.

The format is the process's: `use` settles it, for `say` and every logger. `about` adds fields to all later lines.
"""

from __future__ import annotations

import json
import logging
import sys
import threading
import time
from collections.abc import Mapping
from typing import Any

from limpet.shown import PlainFormatter, plain_json
from limpet_store.event import Event
from limpet_store.message import rfc3339
from limpet_store.secret import hidden

FORMATS = ("text", "json")
SAID = "limpet.say"  # the logger of what a command says to people
OUTPUT = (
    "limpet.output"  # the logger of what workers print otherwise than by a logger: site files, the watchdog
)

_json = False
_about: dict[str, str] = {}


def use(format_: str) -> None:
    """Speak this format from now on."""
    global _json
    _json = format_ == "json"
    _about.clear()


def in_json() -> bool:
    """Whether lines are JSON."""
    return _json


def name() -> str:
    """The format in use."""
    return FORMATS[_json]


def about(**fields: str) -> None:
    """Add these fields to each line of JSON from now on."""
    _about.update(fields)


def set_up(*, verbose: bool) -> None:
    """Log lines on stderr: those of the engine when asked for, or in JSON, where a program picks what it wants."""
    handler = logging.StreamHandler(sys.stderr)
    form = "%(asctime)s %(name)s: %(message)s" if verbose else "limpet: %(message)s"
    handler.setFormatter(JsonFormatter() if _json else PlainFormatter(form))
    usual = logging.INFO if _json else logging.WARNING
    logging.basicConfig(level=logging.DEBUG if verbose else usual, handlers=[handler])
    for noisy in ("urllib3", "rq", "asyncio"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    logging.captureWarnings(_json)
    threading.excepthook = _thread_failed if _json else threading.__excepthook__


class JsonFormatter(logging.Formatter):
    """A log record as a line of JSON; a traceback is one of its fields."""

    def format(self, record: logging.LogRecord) -> str:
        fields: dict[str, Any] = {}
        if isinstance(record.msg, Event):
            fields["event"] = record.msg.name
            fields |= record.msg.fields
        else:
            fields["message"] = _message(record)
        if record.exc_info:
            fields["traceback"] = self.formatException(record.exc_info)
        return _line(record.created, record.levelname.lower(), record.name, fields)


def line(text: str, *, level: str = "info", logger: str = SAID, **fields: Any) -> str:
    """A line of JSON that says this now."""
    return _line(time.time(), level, logger, {"message": text, **fields})


def is_line(text: str) -> bool:
    """Whether it is such a line already: a JSON object that has its beginning."""
    if not text.startswith('{"time":'):
        return False
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


def _line(at: float, level: str, logger: str, fields: Mapping[str, Any]) -> str:
    head = {"time": rfc3339(int(at * 1000)), "level": level, "logger": logger}
    said = {**head, **_about, **fields}
    safe = {key: hidden(value) if isinstance(value, str) else value for key, value in said.items()}
    return plain_json(json.dumps(safe, ensure_ascii=False, default=repr))


def _message(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except (TypeError, ValueError):  # a site file's own mistake
        return f"{record.msg} {record.args!r}"


def _thread_failed(failed: threading.ExceptHookArgs) -> None:
    what = (failed.exc_type, failed.exc_value, failed.exc_traceback)
    logging.getLogger("limpet").critical("a thread failed", exc_info=what)  # type: ignore[arg-type]
