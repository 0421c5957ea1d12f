"""A small HTTP proxy on 127.0.0.1: forwards http, tunnels https, keeps a log, may want a password."""

from __future__ import annotations

import base64
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def proxy(password: str | None = None, *, answer: bytes | None = None) -> Iterator[tuple[str, list[str]]]:
    """Yields its URL and its log of "METHOD target". With `password` the user is "me"; with `answer` it asks
    nobody."""
    log: list[str] = []
    wanted = password and b"Basic " + base64.b64encode(f"me:{password}".encode())

    def serve(client: socket.socket) -> None:
        with client, suppress(OSError):
            head = b""
            while b"\r\n\r\n" not in head:
                head += client.recv(65_536)
            method, target, _ = head.split(b"\r\n")[0].split(b" ")
            if wanted and wanted not in head:
                client.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
                return
            log.append(f"{method.decode()} {target.decode()}")
            if answer is not None:
                client.sendall(answer)
                return
            if method == b"CONNECT":
                where, rest = target, b""
            else:
                where = target.split(b"/")[2]
                rest = head.replace(target, b"/" + target.split(b"/", 3)[3], 1)
            name, _, port = where.decode().partition(":")
            with socket.create_connection((name, int(port or 80))) as upstream:
                if method == b"CONNECT":
                    client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                else:
                    upstream.sendall(rest)
                there = threading.Thread(target=_pump, args=(client, upstream), daemon=True)
                there.start()
                _pump(upstream, client)

    listener = socket.create_server(("127.0.0.1", 0))

    def accept() -> None:
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                threading.Thread(target=serve, args=(client,), daemon=True).start()

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", log
    finally:
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(10)


def _pump(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65_536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
