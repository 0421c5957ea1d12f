"""What the demo says while it runs: on stderr, a line that is kept up to date in a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time

from rich.console import Console
from rich.live import Live
from rich.text import Text

EVERY_TTY, EVERY_PLAIN = 0.1, 1.0  # seconds between two looks at the counts


class Screen:
    """Lines for people. Close it, or the terminal keeps an unfinished line."""

    def __init__(self) -> None:
        # An error console of rich's, so that NO_COLOR and terminals without colours are seen to.
        self._console = Console(stderr=True, highlight=False, soft_wrap=True)
        self._live: Live | None = None
        self._every = EVERY_TTY if sys.stderr.isatty() else EVERY_PLAIN
        self._shown_at = time.monotonic()
        self._counted = ""

    def say(self, line: str = "", style: str = "") -> None:
        """One line that stays."""
        self._console.print(Text(line, style=style))

    def is_time(self) -> bool:
        """Whether the counts are to be shown again."""
        return time.monotonic() - self._shown_at >= self._every

    def count(self, done: int, whole: int, line: str) -> None:
        """How far it is: a bar in a terminal, a line now and then elsewhere."""
        self._shown_at = time.monotonic()
        if not self._console.is_terminal:
            if line != self._counted:  # a log is for news
                self.say(f"    {line}")
            self._counted = line
            return
        if self._live is None:
            # Refreshed by hand: a thread of its own would be one too many around forks.
            self._live = Live(console=self._console, auto_refresh=False, transient=True)
            self._live.start()
        filled = 30 * min(done, whole) // whole
        bar = Text("  " + "━" * filled, "green") + Text("━" * (30 - filled), "dim") + Text(f" {line}")
        self._live.update(bar, refresh=True)

    def close(self) -> None:
        """Take the unfinished line away."""
        if self._live is not None:
            self._live.stop()
            self._live = None
