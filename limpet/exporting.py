"""Records as text: JSON lines and CSV, the same bytes for the same records."""

from __future__ import annotations

import csv
import json
import os
import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from limpet.shown import plain_json
from limpet_store.content import canonical_json
from limpet_store.errors import UsageError
from limpet_store.export import Exported
from limpet_store.message import rfc3339

ABOUT = ("type", "key", "url", "version", "first_seen", "last_changed")
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # how a cell begins that a spreadsheet would calculate

Rows = Callable[[], Iterable[Exported]]


def jsonl(rows: Rows) -> Iterator[str]:
    """One JSON object a line. The data is joined as it is stored, not encoded again; characters that act on a
    terminal are in JSON's escapes, which changes no value."""
    for row in rows():
        about = json.dumps(_about(row), ensure_ascii=False, separators=(",", ":"))
        yield plain_json(f'{about[:-1]},"data":{row.data}}}') + "\n"


def table(rows: Rows) -> Iterator[str]:
    """CSV with a header, in two passes: the first finds the fields. A field named like one of ABOUT gets "data."
    before it. Raises UsageError for a record that got a new field in between.
    """
    fields = sorted({name for row in rows() for name in json.loads(row.data)})
    writer = csv.writer(_Echo(), lineterminator="\n")
    yield writer.writerow([*ABOUT, *(cell(_column(name, fields)) for name in fields)])
    for row in rows():
        data = json.loads(row.data)
        if fresh := data.keys() - set(fields):
            raise UsageError(f"the field {min(fresh)!r} appeared while exporting: run it again")
        values = [*_about(row).values(), *(data.get(name) for name in fields)]
        yield writer.writerow([cell(value) for value in values])


def cell(value: Any) -> str:
    """A value as a CSV cell. Text that a spreadsheet would run as a formula gets ' in front; numbers stay."""
    if value is None:
        return ""
    if isinstance(value, str):
        return f"'{value}" if value.startswith(FORMULA) else value
    return canonical_json(value)


def _about(row: Exported) -> dict[str, Any]:
    return {
        "type": row.type, "key": row.key, "url": row.url, "version": row.version,
        "first_seen": rfc3339(row.first_seen), "last_changed": rfc3339(row.last_changed),
    }  # fmt: skip


def _column(name: str, fields: Collection[str]) -> str:
    if name not in ABOUT:
        return name
    while name in ABOUT or name in fields:
        name = f"data.{name}"
    return name


class _Echo:
    """A file for csv.writer whose write gives the line back."""

    def write(self, line: str) -> str:
        return line


@contextmanager
def output(path: Path | None) -> Iterator[Callable[[str], object]]:
    """Where to write: stdout, or a file that appears whole or not at all. UTF-8 whatever the locale."""
    if path is None:
        yield lambda text: sys.stdout.buffer.write(text.encode())
        sys.stdout.buffer.flush()
        return
    try:
        with _replacing(path) as write:
            yield write
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error


@contextmanager
def _replacing(path: Path) -> Iterator[Callable[[str], object]]:
    real = path.resolve()  # a link stays a link
    if real.exists() and not real.is_file():  # /dev/stdout, a pipe: nothing to put in its place
        with real.open("wb") as file:
            yield lambda text: file.write(text.encode())
        return
    part = real.with_name(f".{real.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            yield lambda text: file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, real)
        _sync_folder(real.parent)
    finally:
        part.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
