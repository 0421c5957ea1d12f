"""Our transport: requests at the adapter's level, one pooled session a thread.

Nothing is read from the environment (no proxies, no netrc), no cookies are kept, no redirect is followed. The
connected peer is checked after connect and before anything is sent: a name that resolves into a private network
is refused whatever the resolver says (no DNS rebinding). Through a proxy the peer is the proxy; then the address that
a URL names itself is all that can be checked here.
"""

from __future__ import annotations

import threading
import time
import zlib

import requests
import urllib3
from requests.models import PreparedRequest
from requests.structures import CaseInsensitiveDict

from limpet_consumers.connections import Bare, asked
from limpet_consumers.dialing import PrivatePeer
from limpet_consumers.http import FetchFailed, Request, Response
from limpet_consumers.reasons import DROPPED, failure, reason
from limpet_consumers.runtime import Network
from limpet_consumers.whole import Whole
from limpet_store import failures
from limpet_store.canonical import admit, is_private
from limpet_store.secret import Secret

NOT_WHOLE = (
    FetchFailed,
    PrivatePeer,
    zlib.error,
    requests.RequestException,
    urllib3.exceptions.HTTPError,
    OSError,
    ValueError,  # http.client, of what it cannot send; it quotes the value
)
DIRECT = Network()


class Transport:
    """The Http port over requests. Safe to use from several threads. Raises SecretMissing for the proxy's."""

    def __init__(
        self, *, connect: float = 10.0, read: float = 30.0, max_body: int = 10_000_000, unframed: bool = False,
        network: Network = DIRECT,
    ) -> None:  # fmt: skip
        self.timeout = (connect, read)  # seconds
        self.whole = Whole(max_body, unframed)
        proxy = network.proxy.reveal() if isinstance(network.proxy, Secret) else network.proxy
        self.proxies = {"http": proxy, "https": proxy} if proxy else None
        self.proxy_named_by = network.named_by if proxy else None
        self.verify: bool | str = network.ca_bundle or True
        self._local = threading.local()

    def _adapter(self, private: bool) -> Bare:
        """The thread's connections; those to private peers are apart, for a public request to find none."""
        name = "private" if private else "public"
        found: Bare | None = getattr(self._local, name, None)
        if found is None:
            found = Bare(pool_connections=64, pool_maxsize=1, max_retries=0)
            setattr(self._local, name, found)
        return found

    def fetch(self, request: Request, deadline: float) -> Response:
        """See the protocol. How long the name's resolution takes is the resolver's affair, and may come on top."""
        began, cpu = time.monotonic(), time.thread_time()
        asked.until, asked.private = began + deadline, request.private
        asked.url, asked.target = request.url, "/" + request.url.split("/", 3)[3]
        try:
            if not request.private and self._goes_unseen(request.url):
                refuse_private(request.url)
            response = self._send(request, deadline)
            first = time.monotonic() - began
            headers, body = self.whole.read(response, request.most)
        except NOT_WHOLE as error:
            late = time.monotonic() >= began + deadline
            raise failure(error, late=late, proxy=self.proxy_named_by) from None
        if response.status_code == 407 and self.proxies:
            raise FetchFailed(
                f"the proxy of {self.proxy_named_by} wants another password", kind=failures.CONNECTION
            )
        wait = (time.monotonic() - began) - (time.thread_time() - cpu)
        connect = asked.connected - began if asked.connected else 0.0
        cookies = response.raw.headers.getlist("set-cookie") if "set-cookie" in headers else ()
        return Response(request.url, response.status_code, headers, body, wait, connect, first, cookies)

    def close(self) -> None:
        """Nothing is open that its thread would not close."""

    def _goes_unseen(self, url: str) -> bool:
        """Whether the peer of a request is not the one that answers it, or nobody looks at it."""
        return self.proxies is not None

    def _send(self, request: Request, deadline: float) -> requests.Response:
        connect, read = self.timeout
        timeout = (min(connect, deadline), min(read, deadline))
        prepared = self._prepare(request)
        asked.connected = 0.0
        try:
            return self._exchange(prepared, timeout)
        except requests.ConnectionError as error:
            if asked.connected or reason(error) not in DROPPED:
                raise
        # A kept connection that the server had just closed: nobody's failure. RFC 9112, 9.3.1 lets a safe request be
        # sent again, once, on a new one.
        return self._exchange(prepared, timeout)

    def _prepare(self, request: Request) -> PreparedRequest:
        """A prepared request without the cost of preparing: the URL is canonical, the headers are ours."""
        prepared = PreparedRequest()
        prepared.method = request.method
        prepared.url = request.url
        prepared.headers = CaseInsensitiveDict(request.headers)
        prepared.body = request.body
        if request.body is not None:
            prepared.headers["Content-Length"] = str(len(request.body))
        return prepared

    def _exchange(self, prepared: PreparedRequest, timeout: tuple[float, float]) -> requests.Response:
        adapter = self._adapter(asked.private)
        return adapter.send(prepared, stream=True, timeout=timeout, verify=self.verify, proxies=self.proxies)


def refuse_private(url: str) -> None:
    """Raise PrivatePeer for a URL that names a private address itself."""
    name = admit(url).name
    if is_private(name):
        raise PrivatePeer(name)
