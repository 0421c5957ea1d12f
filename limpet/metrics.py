"""Metrics for Prometheus, on a port that is asked for: what the workers of this process have counted, and how the
crawl stands when it is scraped.

Workers and their work-horses send what they counted through the pipe that their supervisor reads (see
`limpet_consumers.tally`), so the counters of a process are those of its own workers, whatever became of them. They
begin at 0 with it, as Prometheus expects of counters.
"""

from __future__ import annotations

import logging
import platform
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate

from prometheus_client import start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import CollectorRegistry
from prometheus_client.utils import floatToGoString

from limpet.gauges import Sample
from limpet.site import VERSION
from limpet_consumers.tally import BUCKETS, SUM, Key, reported
from limpet_store.errors import UsageError

log = logging.getLogger("limpet.metrics")

COUNTERS = {  # name, without `limpet_` and `_total`: (help, labels besides the crawl)
    "pages": ("Outcomes of pages that were committed.", ("outcome", "reason")),
    "requests": ("Requests by class of status; none: without a whole answer.", ("status",)),
    "body_bytes": ("Bytes of bodies, after unpacking.", ()),
    "messages": ("Messages committed.", ()),
    "leases": ("Pages leased.", ()),
    "lease_losses": ("Leases lost while their page was in hand.", ()),
    "repeats": ("Attempts of pages whose last attempt was lost with its worker or lease.", ()),
    "refused": ("Outcomes refused, since a newer attempt exists.", ()),
    "relayed_rows": ("Outbox rows applied to the frontier.", ()),
    "rebuilds": ("Rebuilds of the frontier.", ()),
    "worker_deaths": ("Worker processes that ended unasked.", ()),
    "refused_jobs": ("Jobs in the queue that were none of ours; kept in Redis.", ("reason",)),
}
HISTOGRAMS = {
    "fetch_seconds": "Duration of a request.",
    "commit_seconds": "Duration of a transaction of a turn, the wait for others included.",
    "group_pages": "Outcomes in one transaction.",
}
GAUGES = {
    "build_info": ("1; the version of limpet and of Python.", ("version", "python")),
    "store_up": ("1 if the store can be read.", ()),
    "redis_up": ("1 if Redis answers.", ()),
    "stored_pages": ("Pages in the store, by state.", ("state",)),
    "hosts": ("Hosts, by what may be asked of them.", ("state",)),
    "frontier_pages": ("Pages in the frontier: ready, leased, or due later.", ("state",)),
    "counted_timestamp_seconds": ("When pages and hosts were counted.", ()),
    "outbox_lag_rows": ("Outbox rows that the frontier has not seen.", ()),
    "workers": ("Workers alive, on all machines.", ()),
    "slices": ("Slices at work, on all machines.", ()),
    "queued_tickets": ("Tickets that wait for a worker.", ()),
    "failed_tickets": ("Tickets whose slice failed within the last hour.", ()),
    "round_open": ("1 while a round is open.", ()),
    "crawl_paused": ("1 while the crawl is paused.", ()),
}


class Totals:
    """What was counted since this process began. Any thread may add and read."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        unlabelled = [(name,) for name, (_, labels) in COUNTERS.items() if not labels]
        self._counts: dict[Key, float] = dict.fromkeys(unlabelled, 0)

    def add(self, *key: str, by: float = 1) -> None:
        """Count; a name that is no metric is left out."""
        if key[0] in COUNTERS or key[0] in HISTOGRAMS:
            with self._lock:
                self._counts[key] = self._counts.get(key, 0) + by

    def take(self, report: str) -> None:
        """Add what a worker sent."""
        try:
            counts = reported(report)
        except ValueError as error:
            log.warning("a worker's report cannot be read: %s", error)
            return
        for key, by in counts.items():
            self.add(*key, by=by)

    def now(self) -> dict[Key, float]:
        """All counts."""
        with self._lock:
            return dict(self._counts)


@dataclass(frozen=True, slots=True)
class Exposition:
    """One crawl's metrics as a registry wants them: put together anew for each scrape."""

    crawl: str
    totals: Totals
    gauges: Callable[[], Iterable[Sample]]

    def collect(self) -> Iterator[Metric]:
        """Every family, those without a sample too."""
        counts = self.totals.now()
        seen = [*self.gauges(), ("build_info", (VERSION, platform.python_version()), 1)]
        counted = [(key[0], key[1:], value) for key, value in counts.items() if key[0] in COUNTERS]
        for name, (told, labels) in COUNTERS.items():
            counter = CounterMetricFamily(f"limpet_{name}", told, labels=("crawl", *labels))
            for values, value in _of(name, [*counted, *seen]):
                counter.add_metric((self.crawl, *values), value)
            yield counter
        for name, told in HISTOGRAMS.items():
            histogram = HistogramMetricFamily(f"limpet_{name}", told, labels=("crawl",))
            histogram.add_metric((self.crawl,), _buckets(name, counts), counts.get((name, SUM), 0))
            yield histogram
        for name, (told, labels) in GAUGES.items():
            gauge = GaugeMetricFamily(f"limpet_{name}", told, labels=("crawl", *labels))
            for values, value in _of(name, seen):
                gauge.add_metric((self.crawl, *values), value)
            yield gauge


def _of(name: str, samples: Iterable[Sample]) -> Iterator[tuple[tuple[str, ...], float]]:
    return ((labels, value) for named, labels, value in samples if named == name)


def _buckets(name: str, counts: dict[Key, float]) -> list[tuple[str, float]]:
    """Bounds with how many values were not above each, as Prometheus has them."""
    bounds = [*map(floatToGoString, BUCKETS[name]), "+Inf"]
    return list(
        zip(bounds, accumulate(counts.get((name, str(n)), 0) for n in range(len(bounds))), strict=True)
    )


def serve(exposition: Exposition, address: str, port: int) -> tuple[str, Callable[[], None]]:
    """Answer scrapes from a thread of its own; the URL, and what ends it. Raises UsageError when the port is taken."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(exposition)
    try:
        server, thread = start_http_server(port, address, registry)
    except OSError as error:
        raise UsageError(
            f"--metrics-port {port}: {address} cannot be listened on: {error.strerror or error}"
        ) from error

    def close() -> None:
        server.shutdown()
        server.server_close()
        thread.join()

    host = f"[{address}]" if ":" in address else address
    return f"http://{host}:{server.server_port}/metrics", close
