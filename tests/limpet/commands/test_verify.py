"""Each invariant is broken on purpose, and found."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from front_helpers import Ran, ask, edit, limpet

from limpet.demo.shop import ShopServer
from limpet.engine import Engine

CHANGED = "(SELECT id FROM records WHERE key = 'LP-00001')"


def failed(ran: Ran) -> list[str]:
    return [line[8:].partition(":")[0] for line in ran.out.splitlines() if line.startswith("FAILED")]


def test_a_sound_crawl_passes(crawled: Path) -> None:
    ran = limpet("verify", crawled)

    assert (ran.code, failed(ran)) == (0, [])
    assert [line[:8].strip() for line in ran.out.splitlines()] == ["ok"] * 10 + ["skipped"] * 2


BROKEN = {
    "the file is sound, its constraints hold": [
        "PRAGMA writable_schema = ON",
        "DELETE FROM sqlite_master WHERE name = 'pages_due'",
    ],
    "messages hold what they announce": [
        "UPDATE outbox SET messages = replace(messages, '\"name\":\"', '\"name\":\"x') WHERE seq < 9",
    ],
    "versions of a record step by one": [
        f"DELETE FROM outbox WHERE seq = (SELECT min(seq) FROM outbox WHERE messages LIKE '%' || {CHANGED} || '%')",
    ],
    "neighbouring versions differ": [
        "INSERT INTO outbox (mark, kind, ops, messages, at) SELECT 'ab', 'x', '[]',"
        " replace(replace(messages, '.1\",\"source', '.2\",\"source'), '\"version\":1', '\"version\":2'), 0"
        " FROM outbox WHERE messages LIKE '%LP-00000%'",
    ],
    "a record, its hash and its last message agree": ["UPDATE records SET version = 3 WHERE key = 'LP-00001'"],
    "a record is the merge of its parts": [f"UPDATE parts SET data = '{{}}' WHERE record = {CHANGED}"],
    "URLs of pages are canonical": ["UPDATE pages SET canonical = upper(canonical) WHERE id = 2"],
    "attempts never go back": ["UPDATE meta SET fence = 1"],
    "pages in flight are pending": ["UPDATE pages SET state = 'pending', open = 1, nonce = NULL WHERE id = 2"],
    "the outbox only grows": ["UPDATE meta SET life = 1000000"],
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_broken_is_found_with_an_example(crawled: Path, name: str) -> None:
    edit(crawled, *BROKEN[name])

    ran = limpet("verify", crawled)

    assert ran.code == 1
    assert name in failed(ran)
    example = next(line for line in ran.out.splitlines() if name in line)
    assert len(example.partition(": ")[2]) > 10


@pytest.mark.parametrize(
    ("statement", "name", "words"),
    [
        ("UPDATE records SET data = '{}' WHERE key = 'LP-00001'", "a record, its hash", "content of another hash"),
        ("UPDATE records SET key = 'x' WHERE key = 'LP-00001'", "a record, its hash", "is not the id of product x"),
        ("UPDATE records SET gone = 1 WHERE key = 'LP-00001'", "a record, its hash", "is marked gone"),
        ("UPDATE pages SET open = 1 WHERE id = 2", "pages in flight", "page 2 is done and in flight"),
        ("UPDATE pages SET open = 1 WHERE id = 2", "the file is sound", "CHECK constraint failed"),
        ("DELETE FROM records WHERE key = 'LP-00001'", "a record is the merge", "which is not there"),
        (f"DELETE FROM parts WHERE record = {CHANGED}", "a record is the merge", "live and has no parts"),
        (f"UPDATE parts SET fence = 9999 WHERE record = {CHANGED}", "attempts never", "is of attempt 9999"),
        ("DELETE FROM pages WHERE url LIKE '%/product/1'", "attempts never", "is not there"),
        ("UPDATE pages SET key = 'http://x/' WHERE id = 2", "URLs of pages", "has the key http://x/"),
        ("UPDATE pages SET url = 'http://x/' WHERE id = 2", "URLs of pages", "and is stored as"),
        ("UPDATE outbox SET messages = '{' WHERE messages <> ''", "messages hold", "not a message"),
        ("UPDATE sqlite_sequence SET seq = 1 WHERE name = 'outbox'", "the outbox only", "the last number given out"),
        ("UPDATE outbox SET messages = '' WHERE messages LIKE '%LP-00000%'", "a record, its", "last message is none"),
    ],
)  # fmt: skip
def test_the_example_says_what_is_wrong(crawled: Path, statement: str, name: str, words: str) -> None:
    edit(crawled, statement)

    ran = limpet("verify", crawled)

    assert ran.code == 1
    assert any(line.startswith(f"FAILED  {name}") and words in line for line in ran.out.splitlines()), ran.out


def test_a_record_without_a_message_is_right_when_retention_removed_it(crawled: Path) -> None:
    edit(
        crawled,
        "UPDATE meta SET pruned = (SELECT max(seq) - 1 FROM outbox)",
        "DELETE FROM outbox WHERE seq <= (SELECT pruned FROM meta)",
    )

    assert limpet("verify", crawled).code == 0


def test_keys_of_another_version_of_the_url_rules_are_not_judged(crawled: Path) -> None:
    edit(crawled, "UPDATE meta SET canonicaliser = 99", "UPDATE pages SET key = 'x' WHERE id = 2")

    assert "skipped URLs of pages are canonical: " in limpet("verify", crawled).out


@pytest.fixture
def living(crawled: Path, shop: ShopServer) -> Iterator[Engine]:
    """The crawl with a page to do, and its server up."""
    assert limpet("enqueue", crawled, f"{shop.url}/product/5?again").code == 0
    with Engine(crawled) as engine:
        engine.relay()
        yield engine


def test_frontier_and_stream_agree_with_the_store(living: Engine) -> None:
    ran = limpet("verify", living.site_file)

    assert ran.code == 0
    assert [line[:8].strip() for line in ran.out.splitlines()] == ["ok"] * 12


def test_a_page_that_the_frontier_lost_is_found_and_a_rebuild_mends_it(living: Engine) -> None:
    page, host = ask(living.site_file, "SELECT id, host FROM pages WHERE state = 'pending'")[0]
    assert living.client.zrem(f"{living.frontier.prefix}:p:{host}", str(page)) == 1

    assert failed(limpet("verify", living.site_file)) == ["pages that are due are in the frontier"]

    assert limpet("rebuild", living.site_file).code == 0
    assert limpet("verify", living.site_file).code == 0


def test_a_stream_that_says_something_else_is_found(living: Engine) -> None:
    stream = f"{living.frontier.prefix}:stream"
    last = living.client.xrevrange(stream, count=1)[0][0]
    living.client.xdel(stream, last)

    found = limpet("verify", living.site_file)

    assert failed(found) == ["the stream is the end of the outbox"]
    assert last.decode() in found.out

    living.client.xadd(stream, {"event": "another"}, id="999999-0")
    assert failed(limpet("verify", living.site_file)) == ["the stream is the end of the outbox"]


def test_a_frontier_that_lags_is_not_judged(living: Engine) -> None:
    url = ask(living.site_file, "SELECT url FROM pages WHERE state = 'pending'")[0][0]
    edit(
        living.site_file,
        "INSERT INTO pages (key, kind, url, canonical, host, depth, state, due_at, round)"
        f" SELECT key || '2', kind, url || '2', canonical || '2', host, 0, state, due_at, round"
        f" FROM pages WHERE url = '{url}'",
        "INSERT INTO outbox (mark, kind, ops, messages, at) VALUES ('ab', 'x', '[]', '', 0)",
    )

    ran = limpet("verify", living.site_file)

    assert ran.code == 0
    assert "skipped pages that are due are in the frontier: the frontier lags behind" in ran.out
