"""What must hold when a crawl has come to rest, whatever happened to it (the invariants I-1 to I-18)."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from crash.fingerprint import redis
from crash.world import Process, World, keyspace, place

from limpet_store import verify, verify_frontier


@dataclass
class Truth:
    """How a crawl ends when nothing goes wrong. A version of None is any; data of None is a record that is gone."""

    records: Mapping[tuple[str, str], tuple[int | None, Mapping[str, Any] | None]]
    states: Mapping[str, str]
    requests: Counter[str] = field(default_factory=Counter)  # most by path, before any excuse
    quiet: bool = True  # no page is left pending
    rejected: Sequence[tuple[str, str]] = ()  # (path, field)


def violations(world: World, truth: Truth) -> list[str]:
    """One line for each invariant that does not hold."""
    checks = (_records, _rejections, _pages, _requests, _messages, _stream, _frontier, _verified)
    return [*world.broken, *(line for check in checks for line in check(world, truth))]


def _records(world: World, truth: Truth) -> Iterator[str]:
    rows = world.read("SELECT type, key, version, data, gone FROM records")
    found = {
        (type_, key): (version, None if gone else json.loads(data))
        for type_, key, version, data, gone in rows
    }
    for name in sorted(found.keys() | truth.records.keys()):
        have, want = found.get(name), truth.records.get(name)
        if have is None or want is None:
            yield f"I-7 record {name}: {have} is stored, {want} is true"
        elif have[1] != want[1]:
            yield f"I-2 record {name} is {have[1]}, the site says {want[1]}"
        elif want[0] is not None and have[0] != want[0]:
            yield f"I-8 record {name} has version {have[0]}, not {want[0]}"


def _rejections(world: World, truth: Truth) -> Iterator[str]:
    rows = world.read(
        "SELECT p.canonical, r.field FROM rejections r JOIN pages p ON p.id = r.page ORDER BY 1, 2"
    )
    found = [(place(url), field) for url, field in rows]
    if found != sorted(truth.rejected):
        yield f"R-2 rejected are {found}, not {truth.rejected}"


def _pages(world: World, truth: Truth) -> Iterator[str]:
    rows = world.read("SELECT canonical, state, open, lost FROM pages WHERE kind = 'page'")
    found = {place(url): state for url, state, _, _ in rows}
    for path in sorted(found.keys() | truth.states.keys()):
        if found.get(path) != truth.states.get(path):
            yield f"I-7 page {path} is {found.get(path)}, not {truth.states.get(path)}"
    for url, state, open_, lost in rows:
        if (truth.quiet and state == "pending") or open_:
            yield f"I-12 page {url} is left {state}, open {open_}"
        if lost and state != "dead":
            yield f"R-7 page {url} still counts {lost} losses"
    fences = world.read(
        "SELECT fence, (SELECT max(fence) FROM pages), (SELECT max(fence) FROM parts) FROM meta"
    )
    if fences and fences[0][0] < max(fences[0][1] or 0, fences[0][2] or 0):
        yield f"I-6 the fence counter {fences[0][0]} is behind one it has given out {fences[0][1:]}"


def _requests(world: World, truth: Truth) -> Iterator[str]:
    for path, asked in sorted(world.website.log.items()):
        most = truth.requests[path] + world.allowed[path]
        if asked > most:
            yield f"I-13 {path} was requested {asked} times, at most {most} are excused"


def _messages(world: World, truth: Truth) -> Iterator[str]:
    versions: dict[str, list[dict[str, Any]]] = defaultdict(list)
    ids: Counter[str] = Counter()
    for (messages,) in world.read("SELECT messages FROM outbox WHERE messages <> '' ORDER BY seq"):
        for event in map(json.loads, messages.split("\n")):
            ids[event["id"]] += 1
            if event["type"].startswith("limpet.record."):
                versions[event["subject"]].append(event)
    yield from (f"I-17 message {key} was written {n} times" for key, n in ids.items() if n > 1)
    shown = "SELECT id, version, hash, data FROM records WHERE version > 0"
    records = {row[0]: row[1:] for row in world.read(shown)}
    for record in sorted(records.keys() | versions.keys()):
        events = versions[record]
        numbers = [event["data"]["version"] for event in events]
        if numbers != list(range(1, len(numbers) + 1)):
            yield f"I-1 record {record} has messages of versions {numbers}"
        if any(a["contenthash"] == b["contenthash"] for a, b in pairwise(events)):
            yield f"I-3 record {record} has neighbouring versions with the same content"
        last = events[-1] if events else None
        want = (last["data"]["version"], last["contenthash"], last["data"]["record"]) if last else None
        version, hash_, data = records.get(record, (None, None, "null"))
        if want != (version, hash_, json.loads(data)):
            yield f"I-4 record {record} is at {version} {hash_} {data}, its last message says {want}"


def _stream(world: World, truth: Truth) -> Iterator[str]:
    rows = world.read("SELECT seq, mark, messages FROM outbox ORDER BY seq")
    meta = world.read("SELECT store_id, life, crawl FROM meta")
    if not rows:
        return
    store_id, life, crawl = meta[0]
    prefix = f"{{{crawl}:{store_id}}}"
    held = {key.decode(): value for key, value in redis(world)}
    stream = [(f"{key.ts}-{key.seq}", fields[1].decode()) for key, fields in held.get(f"{prefix}:stream", [])]
    want = [
        (f"{seq}-{n}", message)
        for seq, _, messages in rows
        if messages and seq > life
        for n, message in enumerate(messages.split("\n"))
    ]
    if stream != want:
        yield f"I-18 the stream has {[i for i, _ in stream]}, the outbox {[i for i, _ in want]}"
    keys = Counter(json.loads(event)["id"] for _, event in stream)
    yield from (f"I-17 {key} is {n} times in the stream" for key, n in keys.items() if n > 1)
    numbers = [tuple(map(int, i.split("-"))) for i, _ in stream]
    if numbers != sorted(set(numbers)):
        yield f"I-17 stream ids do not rise: {numbers}"
    cursor = dict(held.get(f"{prefix}:cursor", []))
    if (cursor.get("b'seq'"), cursor.get("b'mark'")) != (str(rows[-1][0]).encode(), rows[-1][1].encode()):
        yield f"I-18 the cursor is {cursor}, the outbox ends at {rows[-1][:2]}"


def _frontier(world: World, truth: Truth) -> Iterator[str]:
    (store_id, crawl) = (world.read("SELECT store_id, crawl FROM meta") or [("", "")])[0]
    prefix = f"{{{crawl}:{store_id}}}".encode()
    if truth.quiet:
        for key in keyspace(world):
            if key.startswith(prefix) and key[len(prefix) :].startswith(
                (b":p:", b":l:", b":nonces", b":hosts")
            ):
                yield f"I-9 the frontier is not empty: {key.decode()}"
    if b":cursor" in b"".join(keyspace(world)) and keyspace(world).get(f"limpet:{crawl}".encode()) is None:
        yield "R-9 the frontier stands, and nothing tells subscribers which store speaks"


def _verified(world: World, truth: Truth) -> Iterator[str]:
    """What `limpet verify` says: it must see nothing that the checks above do not see."""
    with Process(world, "judge") as process:
        found = [*verify.verify(process.store, quiet=True)]
        found += verify_frontier.verify(process.store, process.frontier, process.server)
    yield from (f"limpet verify: {each.name}: {each.text}" for each in found if each.ok is False)
