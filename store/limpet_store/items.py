"""What a handler yields and what a page hands to it: the values that cross the layers."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

# JSON as Python has it: None, bool, int, float, str, list, dict.
JSON = Any


@dataclass(frozen=True, slots=True)
class Ask:
    """How a page is asked for, where that is more than a GET of its URL.

    `body` is what is sent, at most 64 KB; `identity` is what of it tells two pages apart (of JSON its canonical form).
    `headers` and `query` (parameters added to the URL) join when it is sent; their values are text or secrets, which
    are stored by name. `vary` names the headers whose values make another page.
    """

    method: str = "GET"
    body: bytes | None = None
    identity: str = ""
    headers: Mapping[str, Any] = field(default_factory=dict)
    query: Mapping[str, Any] = field(default_factory=dict)
    vary: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Link:
    """A page to visit. A known page is a no-op: the first discovery wins and its data stays.

    `url` is absolute, as found. `to` is the name of the handler (None: by pattern). `data` is JSON of up to
    16 KB, kept in the child's row; with `merge` the page collects the data of all pages that link it, as a list. A
    higher `priority` is visited earlier. `key` is the page's identity instead of its URL; with `position` it stands
    for a place in a listing, and its URL may be replaced by a newer one. `kind` is "page" or "sitemap"; `lastmod` is
    what a sitemap says of it.
    """

    url: str
    to: str | None = None
    data: JSON = None
    priority: int = 0
    ask: Ask | None = None
    key: str | None = None
    position: bool = False
    merge: bool = False
    kind: str = "page"
    lastmod: str | None = None


@dataclass(frozen=True, slots=True)
class Record:
    """One thing that was found, identified by `type` and natural `key` within the crawl.

    `key` is a non-empty string or an integer, or a list of them (a variant: `["123", "red"]`), stable at the source;
    None where `@site.record` names the field that holds it. `data` is a JSON object. `part` names the part of the
    record that this page contributes; the record is the merge of its parts, and its version steps when the merge
    changes. `requires` names parts without which the record is not shown to anybody yet. `volatile` names fields that
    alone make no version; `schema` is the version of the record's shape. The same key seen again with the same data
    changes nothing.
    """

    type: str
    key: str | int | Sequence[str | int] | None = None
    data: Mapping[str, JSON] = field(default_factory=dict)
    part: str = ""
    requires: Collection[str] = ()
    volatile: Collection[str] = ()
    schema: int = 1


@dataclass(frozen=True, slots=True)
class Rejection:
    """A record that was not stored, and why; the previous version is untouched. `field` is the one to blame."""

    type: str
    key: str
    reason: str
    value: str = ""
    field: str = ""


@dataclass(frozen=True, slots=True)
class Fetched:
    """A page as it arrived whole: what `SiteRuntime.extract` reads.

    `url` is the page's canonical URL; `base` is what answered where a redirect was followed within its lease, else "".
    `headers` have lower-case names. `body` is decoded from its content encoding, never from its charset.
    """

    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes
    handler: str | None = None
    data: JSON = None
    depth: int = 0
    base: str = ""


@dataclass(frozen=True, slots=True)
class Extracted:
    """What one page gave. `dropped` counts links that were left out, by reason, before scope was looked at. `cut`: the
    handler ended early, so what it did not give may be there all the same."""

    links: Sequence[Link] = ()
    records: Sequence[Record] = ()
    rejections: Sequence[Rejection] = ()
    dropped: Mapping[str, int] = field(default_factory=dict)
    cut: bool = False
