"""Messages: CloudEvents 1.0 whose bytes are made once, in the commit, and never again.

`id` is the idempotency key: `<record id>:<epoch>.<version>`, ASCII by construction. A consumer that keeps the key
with its effect applies each version once; (epoch, version) is compared as a pair.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime

from limpet_store.content import canonical_json, shown_key


@dataclass(frozen=True, slots=True)
class Source:
    """Who speaks: the crawl in one life of its store."""

    crawl: str
    store_id: str
    epoch: int

    @property
    def uri(self) -> str:
        return f"/limpet/{self.crawl}/{self.store_id}"


def rfc3339(ms: int) -> str:
    """Milliseconds since 1970 as RFC 3339 in UTC."""
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def record_message(
    source: Source, *, kind: str, record: str, type_: str, key: str, url: str, version: int, hash_: str,
    content: str, before: str | None, at: int, reason: str, schema: int,
    volatile: str | None = None,
) -> str:  # fmt: skip
    """The message of one record version. `content` is the merged data as canonical JSON, `before` the last one's.

    `reason` is why there is this version: "content" (the site's), "schema" (the record's shape has a new number) or
    "re-extract" (other code read the page). `volatile` is a JSON list: the fields that the content hash leaves out.
    """
    body = {
        "type": type_,
        "key": shown_key(key),
        "url": url,
        "version": version,
        "changed": changed(before, content),
    }
    left_out = f'"volatile":{volatile},' if volatile else ""
    head = canonical_json(body)[:-1]  # the data is encoded already: it is joined, not encoded again
    return (
        f'{{"specversion":"1.0","id":"{record}:{source.epoch}.{version}","source":{json.dumps(source.uri)},'
        f'"type":"limpet.record.{kind}","subject":"{record}","time":"{rfc3339(at)}",'
        f'"datacontenttype":"application/json","contenthash":"{hash_}","reason":"{reason}","schema":{schema},'
        f'"data":{head},{left_out}"record":{content}}}}}'
    )


def changed(before: str | None, after: str) -> list[str]:
    """The top-level fields that differ between two versions; all of them for the first one."""
    old = json.loads(before) if before else None
    new = json.loads(after)
    old, new = old or {}, new or {}
    return sorted(
        name
        for name in old.keys() | new.keys()
        if (name in old, old.get(name)) != (name in new, new.get(name))
    )


def round_message(source: Source, *, number: int, why: str, started_at: int, at: int) -> str:
    """The message that a round is finished."""
    data = {"round": number, "why": why, "started": rfc3339(started_at), "finished": rfc3339(at)}
    return (
        f'{{"specversion":"1.0","id":"round:{source.epoch}.{number}","source":{json.dumps(source.uri)},'
        f'"type":"limpet.round.finished","time":"{rfc3339(at)}","datacontenttype":"application/json",'
        f'"data":{canonical_json(data)}}}'
    )


def gap_message(source: Source, *, before: str, at: int) -> str:
    """The first message of a new life of the store: what came before may have lost versions."""
    return (
        f'{{"specversion":"1.0","id":"gap:{source.epoch}","source":{json.dumps(source.uri)},'
        f'"type":"limpet.gap","time":"{rfc3339(at)}","datacontenttype":"application/json",'
        f'"data":{canonical_json({"before": before, "epoch": source.epoch})}}}'
    )
