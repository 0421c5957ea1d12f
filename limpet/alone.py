"""What a command needs that puts another database in the place of a crawl's, or none: nobody else uses it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from limpet_store.database import is_open_elsewhere
from limpet_store.errors import UsageError
from limpet_store.presence import living, try_lock


def refuse_if_used(name: str, home: Path) -> None:
    """Raise UsageError while any process works in this home."""
    if found := living(home):
        pids = ", ".join(f"{who.role} {who.pid}" for who in found)
        raise UsageError(f"{name} is in use ({pids}): stop that first")


@contextmanager
def alone(name: str, home: Path, store_path: Path) -> Iterator[None]:
    """Hold the store's lock, under which nobody is in a transaction and none begins, where nobody works. Raises
    UsageError where that cannot be had at once."""
    lock = store_path.with_name(store_path.name + ".lock")
    fd = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if not try_lock(fd):
            raise UsageError(f"{store_path} is being written to: stop that first")
        refuse_if_used(name, home)
        if is_open_elsewhere(store_path):  # by who has lost its file in `home`, or has another home
            raise UsageError(f"{store_path} is open in another process: stop that first")
        yield
    finally:
        os.close(fd)
