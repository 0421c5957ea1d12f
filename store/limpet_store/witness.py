"""The witness: a small file beside the database that says how far its outbox was published.

It is written before each apply and not synced: it need not survive a power cut, which Redis does not either. A
store that was copied back to an older state is seen by it even when Redis is empty.
"""

from __future__ import annotations

import os
from pathlib import Path


class Witness:
    """The file `<database>.published`: store_id, seq and mark of the newest row handed to Redis."""

    def __init__(self, database: Path) -> None:
        self._path = database.with_name(database.name + ".published")
        self._fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def write(self, store_id: str, seq: int, mark: str) -> None:
        """Overwrite it in one call, unless a faster relay has written a later row of this store.

        A fixed width leaves no tail of an older line.
        """
        seen = self.read()
        if seen and seen[0] == store_id and seen[1] > seq:
            return
        os.pwrite(self._fd, f"{store_id} {seq} {mark}".ljust(79).encode() + b"\n", 0)

    def read(self) -> tuple[str, int, str] | None:
        """(store_id, seq, mark); None when nothing was published or the line is unreadable."""
        words = os.pread(self._fd, 200, 0).decode("ascii", "replace").split()
        if len(words) != 3 or not words[1].isdigit():
            return None
        return words[0], int(words[1]), words[2]

    def close(self) -> None:
        os.close(self._fd)
