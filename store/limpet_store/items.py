"""What a handler yields and what a page hands to it: the values that cross the layers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

# JSON as Python has it: None, bool, int, float, str, list, dict.
JSON = Any


@dataclass(frozen=True, slots=True)
class Link:
    """A page to visit. A known page is a no-op: the first discovery wins and its data stays.

    `url` is absolute, as found. `to` is the name of the handler (None: by pattern). `data` is JSON of up to
    16 KB, kept in the child's row. A higher `priority` is visited earlier.
    """

    url: str
    to: str | None = None
    data: JSON = None
    priority: int = 0


@dataclass(frozen=True, slots=True)
class Record:
    """One thing that was found, identified by `type` and natural `key` within the crawl.

    `key` is a non-empty string or an integer, stable at the source. `data` is a JSON object. `part` names the
    part of the record that this page contributes; the record is the merge of its parts, and its version steps
    when the merge changes. The same key seen again with the same data changes nothing.
    """

    type: str
    key: str | int
    data: Mapping[str, JSON] = field(default_factory=dict)
    part: str = ""


@dataclass(frozen=True, slots=True)
class Rejection:
    """A record that was not stored, and why; the previous version is untouched."""

    type: str
    key: str
    reason: str
    value: str = ""


@dataclass(frozen=True, slots=True)
class Fetched:
    """A page as it arrived whole: what `SiteRuntime.extract` reads.

    `url` is the page's URL as it was requested. `headers` have lower-case names. `body` is decoded from its
    content encoding, never from its charset.
    """

    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes
    handler: str | None = None
    data: JSON = None
    depth: int = 0


@dataclass(frozen=True, slots=True)
class Extracted:
    """What one page gave. `dropped` counts links that were left out, by reason, before scope was looked at."""

    links: Sequence[Link] = ()
    records: Sequence[Record] = ()
    rejections: Sequence[Rejection] = ()
    dropped: Mapping[str, int] = field(default_factory=dict)
