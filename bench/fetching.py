"""What the steps of a fetch cost, in microseconds of CPU: `python bench/fetching.py [--count N]`.

On the wire: one product page over a kept-alive connection on loopback, each line with the steps before it. Canned: the
same bytes from memory, step by step, beside what http.client alone does with them. The site's own time is not counted.
"""

from __future__ import annotations

import argparse
import gzip
import http.client
import io
import tempfile
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import requests
import urllib3

from limpet import Site
from limpet.demo.shop import ShopServer
from limpet_consumers import unpacking
from limpet_consumers.asking import Asked, Asking
from limpet_consumers.connections import _Response, asked
from limpet_consumers.transport import Transport
from limpet_consumers.whole import Whole

ROUNDS = 15  # the least of these is printed: what else runs on the machine only adds
Step = Callable[[], object]
HEADERS = """Date: Tue, 01 Dec 2026 04:00:00 GMT
Content-Type: text/html; charset=utf-8
Content-Length: 40000
Connection: keep-alive
Cache-Control: max-age=600, public
ETag: "5f3e-6a1b"
Last-Modified: Mon, 30 Nov 2026 20:00:00 GMT
Vary: Accept-Encoding
Strict-Transport-Security: max-age=31536000
X-Request-Id: 0d3f5c8e-7f1a-4b1e-9a55-1b0f6f2f7a11
Server: shop"""
BODY = b"".join(b"<p>Thing %d</p>" % n for n in range(4_000))[:40_000]
ANSWER = b"HTTP/1.1 200 OK\r\n" + HEADERS.replace("\n", "\r\n").encode() + b"\r\n\r\n" + BODY


class Canned:
    """A socket that has said all this."""

    def makefile(self, _: str) -> io.BufferedReader:
        return io.BufferedReader(cast(io.RawIOBase, io.BytesIO(ANSWER)))

    def gettimeout(self) -> float:
        return 30.0


def cpu_of(step: Step, count: int) -> float:
    """Seconds of user + system time for `count` calls."""
    started = time.process_time()
    for _ in range(count):
        step()
    return time.process_time() - started


def on_the_wire(url: str) -> dict[str, Step]:
    """From the page to the response, each with those before it."""
    transport, asking = Transport(), Asking(Site("bench", [url], allow_private=True))
    request = asking.request(Asked(url))
    stock, once = requests.adapters.HTTPAdapter(), requests.Request("GET", url).prepare()

    def sent() -> None:
        asked.until, asked.private, asked.connected = time.monotonic() + 60, True, 0.0
        asked.target = "/" + url.split("/", 3)[3]
        response = transport._send(request, 60)
        response.raw.read(decode_content=False)
        response.close()

    return {
        "what is asked for": lambda: asking.request(Asked(url)),
        "  prepared": lambda: transport._prepare(asking.request(Asked(url))),
        "  sent, headers and body read": sent,
        "  fetched: looked at whole": lambda: transport.fetch(request, 60),
        "requests' own adapter, body read": lambda: stock.send(once, timeout=(10, 30)).content,
    }


def canned() -> dict[str, Step]:
    """What is done with the bytes of an answer."""
    whole = Whole(10_000_000)

    def headers(kind: type[http.client.HTTPResponse]) -> http.client.HTTPResponse:
        response = kind(cast(Any, Canned()), method="GET")
        response.begin()
        return response

    def response() -> requests.Response:
        made = requests.Response()
        inner = headers(_Response)
        raw = urllib3.HTTPResponse(
            cast(Any, inner), headers=dict(inner.headers), status=200, preload_content=False
        )
        made.status_code, made.raw = 200, raw
        made.headers.update(raw.headers)
        return made

    return {
        "status and headers by http.client": lambda: headers(http.client.HTTPResponse),
        "status and headers, held to the letter": lambda: headers(_Response),
        "  a requests.Response of it": response,
        "  its body of 40 kB, framed and within caps": lambda: whole.read(response()),
        **{f"40 kB unpacked: {name}": unpacked(name) for name in unpacking.UNDERSTOOD.split(", ")},
    }


def unpacked(coding: str) -> Step:
    """The body, packed by this coding."""
    libraries: Any = unpacking
    packers: dict[str, Callable[[bytes], bytes]] = {
        "gzip": gzip.compress,
        "deflate": zlib.compress,
        "br": lambda data: bytes(libraries.brotli.compress(data)),
        "zstd": lambda data: bytes(libraries.zstd.compress(data)),
    }
    packed = packers[coding](BODY)

    def step() -> None:
        unpacker = unpacking.unpacker(coding)
        assert unpacker
        assert len(unpacker.take(packed, 1_000_000)) == len(BODY)

    return step


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--count", type=int, default=200, help="calls in each of the rounds")
    count = parser.parse_args().count
    with tempfile.TemporaryDirectory() as folder, ShopServer(log_path=Path(folder, "log")) as shop:
        for title, steps in {"on the wire": on_the_wire(f"{shop.url}/product/7"), "canned": canned()}.items():
            print(title)
            for name, step in steps.items():
                step()
                spent = min(cpu_of(step, count) for _ in range(ROUNDS))
                print(f"  {name:46}{spent / count * 1e6:7.0f} us", flush=True)


if __name__ == "__main__":
    main()
