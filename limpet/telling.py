"""The story of a page or a record in lines, for `limpet show`: (name, text) each, the most telling first."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from limpet.engine import Engine
from limpet.looking import Glimpse
from limpet.shown import blame, one_line, seconds
from limpet.waiting import reasons
from limpet_consumers import robots
from limpet_store import alike, story
from limpet_store.canonical import Address
from limpet_store.capacity import TOO_MANY
from limpet_store.errors import URLRejected
from limpet_store.message import rfc3339
from limpet_store.scope import TOO_DEEP, Hosts
from limpet_store.store import Store
from limpet_store.story import PageFacts, RecordFacts
from limpet_store.summary import NO_HANDLER, counted

Line = tuple[str, str]
MOST = 10  # records, rejections and the like


def of_page(engine: Engine, facts: PageFacts, seen: Glimpse, now: int) -> Iterator[Line]:
    """Where a page comes from, what became of it, and why it waits if it does."""
    store = engine.existing_store()
    yield "page", f"{'' if facts.method == 'GET' else facts.method + ' '}{facts.canonical}"
    if facts.key != facts.canonical:
        yield "key", facts.key
    yield "state", _state(facts)
    yield from (("waits", reason) for reason in reasons(engine, facts, seen, now))
    if facts.error:
        yield "error" if facts.state != "alias" else "leads to", facts.error
    if facts.state == "alias" and facts.error:
        yield from (("", f"which is {_state(target)}") for target in story.pages(store, facts.error))
    yield from _handler(engine, facts)
    yield from _origin(store, facts)
    if facts.data:
        yield "data", facts.data
    yield "tries", _tries(facts)
    yield from _again(facts, now)
    for part in (found := story.contributions(store, facts.id))[:MOST]:
        yield (
            "record",
            f"{part.type} {part.key}, version {part.version}{_part(part.part)}{' (gone)' * part.gone}",
        )
    if len(found) > MOST:
        yield "", f"and {len(found) - MOST}{'+' * (len(found) == story.MOST_PARTS)} more records"
    for rejected in story.rejections(store, facts.id)[:MOST]:
        yield "rejected", _rejection(rejected)
    if facts.dropped:
        counts = sorted(json.loads(facts.dropped).items())
        yield "dropped", f"links not followed: {', '.join(f'{count} {why}' for why, count in counts)}"


def _state(facts: PageFacts) -> str:
    parts = [f"{facts.state}{f' ({facts.reason})' if facts.reason else ''}"]
    if facts.status:
        parts.append(f"status {facts.status}")
    if facts.fetched_at:
        parts.append(f"read {rfc3339(facts.fetched_at)}")
    return ", ".join([*parts, f"round {facts.round}"])


def _handler(engine: Engine, facts: PageFacts) -> Iterator[Line]:
    site = engine.site
    name = facts.handler or site.match(facts.canonical)
    if facts.kind != "page":
        return
    if name is None:
        yield "handler", "none: no pattern of the site fits its URL"
        return
    pattern, params = site.route(name, facts.canonical)
    named = ", ".join(f"{key}={value}" for key, value in params.items())
    how = "named by the link" if facts.handler else f"by {pattern}"
    yield "handler", f"{name}, {how}{named and f': {named}'}"
    if facts.code and facts.code != f"{name}:{site.code(name)}":
        was = "no handler" if facts.code == NO_HANDLER else "older code"
        yield "", f"but it was read by {was}; `limpet crawl {engine.site_file.name} --refresh` reads it again"


def _origin(store: Store, facts: PageFacts) -> Iterator[Line]:
    above = story.ancestors(store, facts)
    if not above:
        yield "found", "with its host" if facts.kind == "robots" else "as a seed, or enqueued"
        return
    how = f" by {counted(facts.hops, 'redirect')}" if facts.hops else ""
    yield "found", f"on {above[0].canonical}{how}, depth {facts.depth}"
    shown = above[1:] if len(above) < 8 else above[1:4] + above[-2:]
    for page in shown:
        yield "", f"which was found on {page.canonical}"
    yield "", "which is a seed, or was enqueued" if above[-1].parent is None else "and so on"


def _tries(facts: PageFacts) -> str:
    if facts.attempted_at is None:
        return "never attempted"
    parts = [f"last attempt {rfc3339(facts.attempted_at)} (fence {facts.fence})"]
    if facts.failures:
        parts.append(f"{counted(facts.failures, 'failure')} in a row")
    if facts.lost:
        parts.append(f"lost with its worker {counted(facts.lost, 'time')}")
    return ", ".join(parts)


def _again(facts: PageFacts, now: int) -> Iterator[Line]:
    if facts.refresh_at is None or facts.state == "pending":
        return
    left = (facts.refresh_at - now) / 1000
    yield (
        "again",
        f"by itself in {seconds(left)}" if left > 0 else "by itself, as soon as `limpet consume` runs",
    )


def _part(part: str) -> str:
    return f", part {part}" if part else ""


def _rejection(found: dict[str, Any]) -> str:
    name = " ".join(filter(None, (found.get("type"), found.get("key"), found.get("url"))))
    value = f" ({found['value']!r})" if found["value"] else ""
    return f"{name}{name and ': '}{blame(found['field'], found['reason'])}{value}, {rfc3339(found['at'])}"


def of_record(store: Store, facts: RecordFacts) -> Iterator[Line]:
    """What a record is now, what made it so, and each of its versions that is still told of."""
    yield "record", f"{facts.type} {facts.key}"
    if facts.version:
        gone = " (gone)" if facts.gone else ""
        yield "version", f"{facts.version}{gone}, changed {rfc3339(facts.last_changed)}"
    else:
        yield "version", "none yet: it waits for the parts that it requires"
    yield "first", f"seen {rfc3339(facts.first_seen)}"
    for name, value in (json.loads(facts.data) or {}).items():
        yield "", f"{name}: {json.dumps(value, ensure_ascii=False)}"
    for part in story.parts(store, facts.id):
        yield "part", f"{part.part or '(the only one)'} from {part.url}, last seen {rfc3339(part.last_seen)}"
    for rejected in story.rejections_of(store, facts):
        yield "rejected", _rejection(rejected)
    told = 0
    for message in story.versions(store, facts.id):
        told += 1
        yield "told", _version(message)
    if told < facts.version:
        yield "", f"{facts.version - told} earlier versions are not kept any more"
    yield "id", facts.id


def _version(message: dict[str, Any]) -> str:
    data, kind = message["data"], message["type"].rpartition(".")[2]
    why = message.get("reason", "content")
    changed = f": {', '.join(data['changed'])}" if kind == "changed" else ""
    return f"{data['version']}  {message['time']}  {kind}{changed}{'' if why == 'content' else f' ({why})'}"


def of_stranger(engine: Engine, url: str) -> Iterator[Line]:
    """Why the crawl has no page of this URL, as far as that can be known."""
    try:
        address = engine.site.bounds.admit(url)
    except URLRejected as error:
        yield "page", url
        yield "never", f"such a URL cannot be a page: {error.reason}"
        return
    store = engine.existing_store()
    yield "page", address.canonical
    yield "never", "fetched: no page of the crawl has this URL"
    yield from (("why", reason) for reason in _obstacles(engine, store, address))
    for near, state in alike.like_it(store, address):
        yield "near", f"{near} ({state})"


def _obstacles(engine: Engine, store: Store, address: Address) -> Iterator[str]:
    site, host = engine.site, story.host_at(store, address)
    if not (host and host.scope) and address.authority not in Hosts(site.authorities | site.hosts):
        yield f"out of scope: Site(hosts=[{address.authority!r}]) would let links to it be followed"
        for url, count in alike.dropping(store, "out of scope"):
            yield f"{counted(count, 'link')} out of scope on {url}"
    elif reason := site.bounds.against(address.canonical, 0):
        yield f"{reason}: the rules of the site file leave it out"
        for url, count in alike.dropping(store, reason):
            yield f"{counted(count, 'link')} left out so on {url}"
    elif host and host.robots and not robots.allows(host.robots, address.canonical, site.user_agent):
        yield f"robots.txt of {host.origin} forbids it; it would not be fetched if a page linked it"
    else:
        for why in (TOO_MANY, TOO_DEEP):  # which links those were is not kept
            for url, count in alike.dropping(store, why):
                yield f"perhaps one of {counted(count, 'link')} left out on {url}: {why}"
        yield f"no link to it was followed; `limpet try {engine.site_file.name} PAGE` lists what one gives"
        if unread := story.unread(store):
            yield f"{counted(unread, 'page')} still to be read: the crawl is not finished, and one of them may"
    if site.match(address.canonical) is None:
        yield "no pattern of the site fits it: it would be read by nobody, and sitemaps that list it leave it out"
        for url, count in alike.dropping(store, "no handler"):
            yield f"{counted(count, 'page')} without a handler listed by {url}"


def shown(lines: Iterable[Line]) -> Iterator[Line]:
    """The lines as a terminal may have them."""
    return ((name, one_line(text, 400)) for name, text in lines)
