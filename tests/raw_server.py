"""A server of plain sockets, which can misbehave, with or without TLS."""

from __future__ import annotations

import gzip
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
PACKED = gzip.compress(b"hello " * 1000)


Contexts = tuple[ssl.SSLContext, Path]


@pytest.fixture(scope="session")
def contexts(tmp_path_factory: pytest.TempPathFactory) -> Contexts:
    """A server's TLS for 127.0.0.1, and the certificate to trust."""
    folder = tmp_path_factory.mktemp("tls")
    key, certificate = folder / "key.pem", folder / "cert.pem"
    request = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=limpet"
    files = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(["openssl", *request.split(), *files], check=True, capture_output=True)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(certificate, key)
    return server, certificate


@contextmanager
def serving(
    answer: Callable[[socket.socket], None], tls: ssl.SSLContext | None = None
) -> Iterator[tuple[str, list[bytes]]]:
    """Serves each connection by `answer`, after reading one request; yields the URL and what was asked."""
    asked: list[bytes] = []
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(10)

    def run() -> None:
        while True:
            try:
                peer, _ = listener.accept()
            except OSError:
                return
            with tls.wrap_socket(peer, server_side=True) if tls else peer as peer:
                asked.append(peer.recv(65_536))
                try:
                    answer(peer)
                except OSError:
                    pass

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield f"http{'s' if tls else ''}://127.0.0.1:{listener.getsockname()[1]}/", asked
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(10)
