"""The demo shop's own process: what the shop sells, and the loop that serves it.

Run as a script, `serving.py LOG PORT ADDRESS`, by `limpet.demo.shop`. It uses the standard library alone and imports
nothing of limpet, so that it starts in 50 ms; an answer costs less than 100 us. It ends with its input.
"""

from __future__ import annotations

import heapq
import json
import os
import selectors
import socket
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import IO, Any

GRACE = 0.3  # seconds of silence after the end: whoever dies with our starter must not see us die first
HOME = "/list/0"  # where / leads to
_REASONS = {
    200: "OK",
    302: "Found",
    404: "Not Found",
    405: "Method Not Allowed",
    500: "Internal Server Error",
}
_SHELLS = ("Keyhole", "Rough", "Crème", "Blue-rayed", "Tortoiseshell", "Slipper", "Größe-M", "Black-footed")
_THINGS = ("lamp", "kettle", "jersey", "notebook", "compass", "teacup", "lantern", "raincoat", "oilskin")


@dataclass
class Shop:
    """What the shop sells: `listings` pages that link `products` products between them.

    Every value is a function of (product, how often its price has changed), so that anyone can say what a
    correct crawl must hold. `rounds` counts the changes of the products that had any.
    """

    listings: int = 25
    products: int = 500
    rounds: dict[int, int] = field(default_factory=dict)

    @property
    def pages(self) -> int:
        """Requests of a full crawl, robots.txt left out."""
        return self.listings + self.products

    def change_prices(self, products: Iterable[int]) -> None:
        """Move these products to their next price, which differs from the present one."""
        for n in products:
            self.rounds[n] = self.rounds.get(n, 0) + 1

    def values(self, n: int) -> dict[str, str]:
        """The sku, name and price of product `n` as its page shows them now."""
        cents = 199 + (n * 7919 + self.rounds.get(n, 0) * 1301) % 20_000
        name = f"{_SHELLS[n % len(_SHELLS)]} {_THINGS[n % len(_THINGS)]} {n}"
        return {"sku": f"LP-{n:05d}", "name": name, "price": f"{cents // 100}.{cents % 100:02d}"}

    def page(self, path: str) -> tuple[str, str] | None:
        """Media type and text of the page at `path`; None where there is none."""
        if path == "/robots.txt":
            return "text/plain", "User-agent: *\nAllow: /\n"
        kind, _, number = path.removeprefix("/").partition("/")
        n = int(number) if number.isdecimal() and number.isascii() else -1
        if kind == "list" and 0 <= n < self.listings:
            return "text/html", self._listing(n)
        if kind == "product" and 0 <= n < self.products:
            return "text/html", self._product(n)
        return None

    def _listing(self, page: int) -> str:
        first, end = (self.products * at // self.listings for at in (page, page + 1))
        cards = "".join(self._card(n) for n in range(first, end))
        after = f'<a rel="next" href="/list/{page + 1}">next</a>' if page + 1 < self.listings else ""
        return _html(f"Page {page + 1}", f"<ul>{cards}</ul><nav>{after}</nav>")

    def _card(self, n: int) -> str:
        shown = self.values(n)
        return (
            f'<li><a href="/product/{n}">{shown["name"]}</a>'
            f' <span class="sku">{shown["sku"]}</span> <span class="price">{shown["price"]}</span></li>\n'
        )

    def _product(self, n: int) -> str:
        shown = self.values(n)
        return _html(
            shown["name"],
            f'<nav><a href="/list/{n * self.listings // self.products}">back to the list</a></nav>\n'
            f'<h1 class="name">{shown["name"]}</h1>\n<dl>'
            f'<dt>Article</dt><dd class="sku">{shown["sku"]}</dd>'
            f'<dt>Price</dt><dd class="price">{shown["price"]}</dd></dl>\n'
            "<p>Holds on to its rock through every storm, and scrapes it clean.</p>",
        )


def _html(title: str, body: str) -> str:
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title></head>\n'
        f"<body>\n{body}\n</body></html>\n"
    )


class _Client:
    """One connection: what has arrived and is not yet a whole request."""

    def __init__(self, sock: socket.socket, number: int) -> None:
        self.sock = sock
        self.number = number
        self.arrived = b""


class _Service:
    """The serving process: one thread, one selector, a few system calls a request."""

    def __init__(self, shop: Shop, log: int, port: int, address: str) -> None:
        self.shop = shop
        self.log = log
        self.latency = 0.0
        self.failing = False
        self.connections = 0
        self.held: list[tuple[float, int, _Client, bytes, bool]] = []  # answers that latency holds back
        self.requests = 0
        self.listener = socket.create_server((address, port), backlog=128)
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.listener, selectors.EVENT_READ)

    def run(self, orders: IO[bytes], answers: IO[bytes]) -> None:
        """Serve until `orders` ends. Each order is one line, and is answered by one."""
        self.selector.register(orders, selectors.EVENT_READ)
        while True:
            wait = max(0.0, self.held[0][0] - time.monotonic()) if self.held else None
            for key, _ in self.selector.select(wait):
                if isinstance(key.data, _Client):
                    self._read(key.data)
                elif key.fileobj is self.listener:
                    self._accept()
                elif line := orders.readline():
                    self._obey(json.loads(line))
                    answers.write(b"{}\n")
                else:
                    time.sleep(GRACE)
                    return
            while self.held and self.held[0][0] <= time.monotonic():
                self._send(*heapq.heappop(self.held)[2:])

    def _obey(self, order: Mapping[str, Any]) -> None:
        self.latency = order.get("latency", self.latency)
        self.failing = order.get("failing", self.failing)
        self.shop.change_prices(order.get("changed", ()))

    def _accept(self) -> None:
        # Sockets stay blocking: they are read only when readable, and an answer fits into the send buffer.
        sock, _ = self.listener.accept()
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.connections += 1
        self.selector.register(sock, selectors.EVENT_READ, _Client(sock, self.connections))

    def _read(self, client: _Client) -> None:
        try:
            arrived = client.sock.recv(65_536)
        except OSError:  # reset by a client that was killed
            arrived = b""
        if not arrived:
            return self._close(client)
        *heads, client.arrived = (client.arrived + arrived).split(b"\r\n\r\n")
        for head in heads:
            self._answer(client, head)

    def _answer(self, client: _Client, head: bytes) -> None:
        now = time.monotonic()
        method, target, *_ = [*head.split(b"\r\n", 1)[0].decode("latin-1").split(" "), "", ""]
        status, media, body = self._respond(method, target)
        to = f"Location: {HOME}\r\n" if status == 302 else ""
        os.write(self.log, f"{now:.6f}\t{client.number}\t{status}\t{target}\n".encode())
        last = b"\nconnection: close" in head.lower() or method not in ("GET", "HEAD")
        answer = (
            f"HTTP/1.1 {status} {_REASONS[status]}\r\nContent-Type: {media}; charset=utf-8\r\n"
            f"{to}Content-Length: {len(body)}\r\nConnection: {'close' if last else 'keep-alive'}\r\n\r\n"
        ).encode() + (body if method != "HEAD" else b"")
        if not self.latency:
            return self._send(client, answer, last)
        self.requests += 1
        heapq.heappush(self.held, (now + self.latency, self.requests, client, answer, last))

    def _respond(self, method: str, target: str) -> tuple[int, str, bytes]:
        if self.failing:
            return 500, "text/plain", b"the shop is out of order\n"
        if method not in ("GET", "HEAD"):
            return 405, "text/plain", b"only GET and HEAD\n"
        if target == "/":
            return 302, "text/plain", b"the shop begins at its first list\n"
        found = self.shop.page(target.partition("?")[0])
        if found is None:
            return 404, "text/plain", b"no such page\n"
        return 200, found[0], found[1].encode()

    def _send(self, client: _Client, answer: bytes, last: bool) -> None:
        try:
            client.sock.sendall(answer)
        except OSError:  # killed while it waited for the answer
            last = True
        if last:
            self._close(client)

    def _close(self, client: _Client) -> None:
        if client.sock.fileno() != -1:
            self.selector.unregister(client.sock)
            client.sock.close()


def _serve(log_path: str, port: int, address: str) -> None:
    """Open the log and the port, say which, then serve; the goods are the first order."""
    with open(0, "rb", buffering=0) as orders, open(1, "wb", buffering=0) as answers:
        goods = json.loads(orders.readline())
        shop = Shop(goods["listings"], goods["products"], dict(goods["rounds"]))
        log = os.open(log_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            service = _Service(shop, log, port, address)
        except OSError as error:
            answers.write(
                json.dumps({"error": f"port {port} cannot be had: {error.strerror or error}"}).encode()
                + b"\n"
            )
            return
        answers.write(json.dumps({"port": service.listener.getsockname()[1]}).encode() + b"\n")
        service.run(orders, answers)


if __name__ == "__main__":
    _serve(sys.argv[1], int(sys.argv[2]), sys.argv[3])
