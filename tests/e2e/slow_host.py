"""A host that takes its time and keeps its own log: when each request arrived, and when it was over."""

from __future__ import annotations

import itertools
import select
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ROBOTS = b"User-agent: *\nDisallow: /private\n"


@dataclass
class SlowHost:
    """Answers the n-th request after `times[n % len(times)]` seconds; any path is a page without links."""

    times: tuple[float, ...]
    url: str = ""
    spans: list[list[float]] = field(default_factory=list)  # [arrived, over], monotonic seconds

    def begin(self) -> list[float]:
        self.spans.append([time.monotonic(), float("inf")])
        return self.spans[-1]

    @property
    def gaps(self) -> list[float]:
        """Seconds between the arrivals of neighbours."""
        arrivals = sorted(arrived for arrived, _ in self.spans)
        return [after - before for before, after in itertools.pairwise(arrivals)]

    @property
    def most_at_once(self) -> int:
        """The most requests that were in flight at one moment."""
        # An answer that has just left and a request that has just come do not overlap.
        steps = sorted(
            [(begin, 1) for begin, _ in self.spans] + [(end, -1) for _, end in self.spans],
            key=lambda step: (step[0], step[1]),
        )
        return max(itertools.accumulate(change for _, change in steps))


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """The other end was killed."""


@contextmanager
def slow_host(*times: float) -> Iterator[SlowHost]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            span = host.begin()
            try:
                if _gone_within(self.connection, times[len(host.spans) % len(times)]):
                    return
                body = ROBOTS if self.path == "/robots.txt" else f"<b>{self.path}</b>".encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                span[1] = time.monotonic()  # before the client can know
                self.wfile.write(body)
            except OSError:
                pass
            finally:
                span[1] = min(span[1], time.monotonic())

        def log_message(self, *_: object) -> None:
            pass

    server = _Server(("127.0.0.1", 0), Handler)
    host = SlowHost(times, f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield host
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)


def _gone_within(connection: socket.socket, seconds: float) -> bool:
    """Whether the client goes away within so many seconds."""
    readable, _, _ = select.select([connection], [], [], seconds)
    try:
        return bool(readable) and not connection.recv(1, socket.MSG_PEEK)
    except OSError:
        return True
