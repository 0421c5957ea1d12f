"""The server of an example in a process of its own, as a test sees it: orders go in, its log and its truth come out."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SERVERS = Path(__file__).with_name("servers")


@dataclass(frozen=True, slots=True)
class Request:
    """A request as the site noted it before it answered; `page` is what the site calls what was asked for."""

    at: float
    method: str
    target: str
    status: int
    page: str


class Served:
    """`with Served("classic_shop", log) as site: site.url`. Not for use by several threads."""

    def __init__(self, name: str, log: Path, port: int = 0) -> None:
        self._script = SERVERS / f"{name}.py"
        self._log = log
        self._port = port

    def __enter__(self) -> Served:
        self._process = subprocess.Popen(
            [sys.executable, "-S", str(self._script), str(self._port), str(self._log)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.url: str = self._answer()
        return self

    def __exit__(self, *_: object) -> None:
        with self._process as process:
            process.terminate()

    def order(self, name: str, *args: Any) -> Any:
        """Call a method of the site; returns once it has obeyed."""
        assert self._process.stdin is not None
        print(json.dumps([name, *args]), file=self._process.stdin, flush=True)
        return self._answer()

    def delay_answers(self, seconds: float) -> None:
        """Hold every answer back this long, so that kills find requests in flight."""
        self.order("latency", seconds)

    def expected(self) -> dict[tuple[str, str], Any]:
        """What a correct crawl holds: the data of each record, by type and key as the store has it."""
        return {(type_, _key(key)): data for type_, key, data in self.order("expected")}

    def log(self) -> list[Request]:
        return self.requests_since(0)

    def mark(self) -> int:
        return self._log.stat().st_size

    def requests_since(self, mark: int) -> list[Request]:
        """The requests noted after `mark` was taken; robots.txt is left out."""
        with self._log.open("rb") as file:
            file.seek(mark)
            noted = file.read()
        lines = noted[: noted.rfind(b"\n") + 1].splitlines()
        return [
            found for found in (Request(*json.loads(line)) for line in lines) if found.target != "/robots.txt"
        ]

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the server has ended"
        return json.loads(line)


def _key(key: Any) -> str:
    return json.dumps(key, separators=(",", ":"), ensure_ascii=False) if isinstance(key, list) else str(key)
