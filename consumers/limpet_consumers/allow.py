"""The allow-list of the queue: what a worker agrees to run.

An RQ job is code execution for whoever can write to Redis: its hash names functions to call (the job's own,
three callbacks), and its data may be a pickle. So a worker looks at the raw hash, before anything in it is
unpacked or imported, and runs only what `Tickets.ensure` writes; every other field, known to RQ or not, is a
refusal.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass

JOB_FUNCTION = "limpet.job.run_slice"

MAX_DATA = 4096  # bytes, packed and unpacked; a ticket has about 60
MAX_SECONDS = 86_400

# Without them RQ has its defaults: a failed job stays for a year.
_REQUIRED = (b"origin", b"timeout", b"result_ttl", b"failure_ttl")

_ID = re.compile(rb"[A-Za-z0-9_-]{1,100}")
_NUMBER = re.compile(rb"[0-9]{1,9}")
_PRINTABLE = re.compile(rb"[ -~]{0,200}")


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a job is not run: `reason` is one of a few words, for counting; `detail` is one line for people."""

    reason: str
    detail: str


def inspect_id(job_id: bytes) -> Refusal | None:
    """Judge an entry of the queue's list before it is made into a key."""
    if _ID.fullmatch(job_id):
        return None
    return Refusal("id", repr(job_id[:60]))


def inspect(
    raw: Mapping[bytes, bytes], *, queue: str, crawl: str, function: str = JOB_FUNCTION
) -> Refusal | None:
    """Judge a job's raw hash: None means that it is a ticket of this queue and crawl, and nothing besides.

    Nothing is imported, no callable is looked up, and no more than `MAX_DATA` bytes are unpacked.
    """
    for name in _REQUIRED:
        if not raw.get(name):
            return Refusal("field", f"no {name.decode()}")
    for name, value in raw.items():
        if value and not _field_is_plain(name, value, queue):
            return Refusal("field", f"{name[:40]!r}: {value[:60]!r}")
    return _inspect_data(raw.get(b"data", b""), [function, None, [crawl], {}])


def _field_is_plain(name: bytes, value: bytes, queue: str) -> bool:
    match name:
        case b"data" | b"created_at" | b"enqueued_at":
            return True  # data is judged apart; a date that is none is met when the job is built
        case b"origin":
            return value == queue.encode()
        case b"description":
            return bool(_PRINTABLE.fullmatch(value))
        case b"status":
            return value == b"queued"
        case b"result_ttl":
            return value == b"0"
        case b"timeout" | b"ttl" | b"failure_ttl":
            return bool(_NUMBER.fullmatch(value)) and 0 < int(value) <= MAX_SECONDS
        case _:
            return False  # callbacks, dependencies, retries, repeats, webhooks, meta, what is yet to come


def _inspect_data(packed: bytes, wanted: list[object]) -> Refusal | None:
    try:
        call = json.loads(_unpack(packed).decode("utf-8"))
    except (ValueError, RecursionError, zlib.error) as error:
        return Refusal("data", f"{type(error).__name__}: {packed[:60]!r}")
    if call == wanted:
        return None
    if not isinstance(call, list) or call[:1] != wanted[:1]:
        return Refusal("function", repr(call)[:100])
    return Refusal("arguments", repr(call)[:100])


def _unpack(packed: bytes) -> bytes:
    """Exactly one complete zlib stream of bounded size: no bomb, no second reading of the same bytes."""
    if len(packed) > MAX_DATA:
        raise ValueError("too long")
    stream = zlib.decompressobj()
    data = stream.decompress(packed, MAX_DATA)
    if not stream.eof or stream.unused_data:
        raise ValueError("not one whole stream")
    return data
