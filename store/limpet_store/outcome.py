"""What came of an attempt: the value that consumers decide and the store writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from limpet_store.admission import Discovery
from limpet_store.attempts import Attempt
from limpet_store.items import Rejection
from limpet_store.records import PartWrite


class Kind(Enum):
    """What came of an attempt."""

    DONE = "done"  # 2xx, extracted
    UNCHANGED = "unchanged"  # 304
    MISSING = "missing"  # 404 of a page seen before: looked at again in the next round
    ALIAS = "alias"  # redirected; the target is a page of its own
    GONE = "gone"  # 410, or missing twice
    DEAD = "dead"  # will not be tried again this round
    RETRY = "retry"  # failed, and may work later
    REFUSED = "refused"  # the token in its URL is not taken any more: the way to it must be found again
    BLOCKED = "blocked"  # 429, 503, 403: the host wants to be left alone
    PUT_BACK = "put back"  # no request was sent, or its answer is not wanted any more


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A decision about one attempt, complete and encoded; nothing of it can be refused inside a transaction."""

    attempt: Attempt
    kind: Kind
    status: int | None = None
    reason: str | None = None  # one of `failures`, for counting
    error: str | None = None
    host_failed: bool = False  # the failure may be the host's: time-out, connection, 5xx
    retry_after: int | None = None  # milliseconds
    jitter: float = 0.0  # 0..1, drawn by the caller
    discoveries: Sequence[Discovery] = ()
    parts: Sequence[PartWrite] = ()
    rejections: Sequence[Rejection] = ()
    dropped: Mapping[str, int] = field(default_factory=dict)
    complete: bool = (
        False  # its handler gives all that it has: what it gave and gives no more is gone by and by
    )
    cut: bool = False  # its handler ended early: what it no longer hands down is not taken back
    etag: str | None = None
    modified: str | None = None  # its Last-Modified
    other_kind: bool = False  # it redirects to a page that another handler reads
    last_request: int | None = (
        None  # ms, of the last one that was sent within its lease, where there were several
    )
    code: str | None = None
    robots: str | None = None  # the rules that a robots page found
    crawl_delay: int = 0  # milliseconds, from the rules
    pace: int | None = None  # ms, median of the host's response times, where it differs from what is known
    scope: int | None = None  # hosts in scope when links were left out; with more by now it is read again
    logged_in: bool = False  # it has shown that a login works
    login_failed: str | None = None  # why one did not, of a page that is put back
    login_final: bool = False  # and the next one would not either


@dataclass(frozen=True, slots=True)
class Limits:
    """What bounds retries; the site's knobs as the store needs them."""

    max_attempts: int = 5
    max_lost: int = 10
    time_scale: float = 1.0
