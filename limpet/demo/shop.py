"""The demo shop: real HTTP, on 127.0.0.1 unless told otherwise, from a process of its own, which is also the witness.

It is a process so that it outlives every kill of the scraper and shares no interpreter lock with it. It notes
each request in its log *before* it answers. It lives no longer than the process that started it: its standard
input is a pipe, on which orders come in, and whose end is its own.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from limpet.demo.serving import Shop

__all__ = ["Request", "Shop", "ShopServer", "read_log"]

_PROCESS = Path(__file__).with_name("serving.py")


@dataclass(frozen=True, slots=True)
class Request:
    """A request as the shop saw it; `at` is in seconds of the machine's monotonic clock."""

    at: float
    connection: int  # unique while one shop process lives
    status: int  # what it was answered with
    path: str


def read_log(log: Path, since: int = 0) -> list[Request]:
    """The requests noted from byte `since` on, in order; a line still being written is left out."""
    with log.open("rb") as file:
        file.seek(since)
        noted = file.read()
    lines = noted[: noted.rfind(b"\n") + 1].decode().splitlines()
    return [_parsed(line) for line in lines]


def _parsed(line: str) -> Request:
    at, connection, status, path = line.split("\t", 3)
    return Request(float(at), int(connection), int(status), path)


class ShopServer:
    """Runs a shop in a process of its own: `with ShopServer(log_path=...) as shop: shop.url`.

    `log_path` is appended to, so that one log can witness a run that was interrupted. Port 0 means any free
    one. `address` is where it listens. Raises OSError if the port cannot be had. Not for use by several threads.
    """

    def __init__(
        self, shop: Shop | None = None, *, log_path: Path, port: int = 0, address: str = "127.0.0.1"
    ) -> None:
        self.shop = shop or Shop()
        self.log_path = log_path
        self.port = port
        self.address = address
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> ShopServer:
        # A session of its own: Ctrl-C in the terminal must not take the witness away.
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(_PROCESS), str(self.log_path), str(self.port), self.address],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        goods = {"listings": self.shop.listings, "products": self.shop.products}
        try:
            self.port = self._order(goods | {"rounds": list(self.shop.rounds.items())})["port"]
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._running() as process:
            process.terminate()
        self._process = None

    @property
    def url(self) -> str:
        """The shop's address, without a slash at its end."""
        return f"http://{self.address}:{self.port}"

    @property
    def first_page(self) -> str:
        """The listing from which everything can be reached."""
        return f"{self.url}/list/0"

    @property
    def pid(self) -> int:
        """The process that serves."""
        return self._running().pid

    def expected(self) -> dict[str, dict[str, str]]:
        """What a correct crawl holds now: sku to name, price and url."""
        products = ((n, self.shop.values(n)) for n in range(self.shop.products))
        return {v.pop("sku"): v | {"url": f"{self.url}/product/{n}"} for n, v in products}

    def change_prices(self, products: Iterable[int]) -> None:
        """From the next request on, these products show their next price."""
        changed = list(products)
        self._order({"changed": changed})
        self.shop.change_prices(changed)

    def delay_answers(self, seconds: float) -> None:
        """Hold every answer back this long; 0 is the default."""
        self._order({"latency": seconds})

    def fail(self, failing: bool = True) -> None:
        """Answer everything with status 500, or stop doing so."""
        self._order({"failing": failing})

    def log(self) -> list[Request]:
        """Every request in the log, in order of arrival."""
        return read_log(self.log_path)

    def mark(self) -> int:
        """A place in the log, for `requests_since` and `wait_for_request`."""
        return self.log_path.stat().st_size

    def requests_since(self, mark: int) -> list[Request]:
        """The requests that came after `mark` was taken."""
        return read_log(self.log_path, mark)

    def wait_for_request(self, since: int, timeout: float = 30.0) -> Request:
        """The first request after mark `since`, within 1 ms of its arrival. Raises TimeoutError."""
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            if self.mark() > since and (seen := self.requests_since(since)):
                return seen[0]
            time.sleep(0.001)
        raise TimeoutError(f"no request reached {self.url} within {timeout:g} s")

    def _order(self, order: Mapping[str, Any]) -> dict[str, Any]:
        """Tell the shop, and return once it has obeyed."""
        process = self._running()
        assert process.stdin is not None
        assert process.stdout is not None
        print(json.dumps(order), file=process.stdin, flush=True)
        answer: dict[str, Any] = json.loads(process.stdout.readline() or '{"error": "it has ended"}')
        if "error" in answer:
            raise OSError(f"the demo shop: {answer['error']}")
        return answer

    def _running(self) -> subprocess.Popen[str]:
        if self._process is None:
            raise RuntimeError("the shop is not open: use it in a with statement")
        return self._process
