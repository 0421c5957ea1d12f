"""The invariants that live in the schema: each is broken on purpose and holds."""

from __future__ import annotations

import pytest
from store_making import enqueue, part, visit

from limpet_store.errors import StoreError
from limpet_store.store import Store

URL = "http://127.0.0.1/a"


@pytest.mark.parametrize(
    ("statement", "name"),
    [
        ("UPDATE records SET version = version + 2, hash = 'x'", "records_version_steps"),
        ("UPDATE records SET version = version, hash = 'x'", "records_version_steps"),
        ("UPDATE records SET version = version + 1", "records_content_differs"),
        ("UPDATE records SET version = version + 1, hash = 'x', first_seen = 1", "records_first_seen"),
        (
            "INSERT INTO records SELECT 'other', source, type, 'k', url, 2, hash, data, 1, gone, 1, 1 FROM records",
            "records_begin_at_1",
        ),
        (
            "INSERT INTO records SELECT 'other', source, type, key, url, 1, hash, data, 1, gone, 1, 1 FROM records",
            "UNIQUE",
        ),
        ("UPDATE meta SET fence = fence - 1", "meta_fence_rises"),
        ("INSERT INTO meta SELECT 2, schema, 1, crawl, 'x', 1, 0, 0, 0, NULL, NULL, 0, NULL FROM meta", "meta_one_row"),
        ("UPDATE pages SET fence = 0", "pages_fence_rises"),
        ("UPDATE pages SET open = 1", "pages_open_is_pending"),
        ("UPDATE pages SET state = 'lost'", "pages_state"),
        ("UPDATE pages SET lost = -1", "pages_lost"),
        ("INSERT INTO pages SELECT 99, key, kind, url, canonical, method, body, headers, query, host, handler, data,"
         " merges, led, lastmod, parent, depth, hops, priority, state, due_at, refresh_at, round, fence, nonce, open,"
         " attempted_at, failures, rereads, lost, status, reason, error, fetched_at, etag, modified, missed, missed_at,"
         " code, dropped, forgotten FROM pages", "UNIQUE"),
        ("UPDATE parts SET fence = fence - 1", "parts_fence_rises"),
        ("UPDATE outbox SET mark = 'x'", "outbox_append_only"),
        ("DELETE FROM outbox", "outbox_no_early_purge"),
        ("UPDATE hosts SET delay = -1", "hosts_delay"),
    ],
)  # fmt: skip
def test_the_schema_refuses(store: Store, statement: str, name: str) -> None:
    enqueue(store, URL)
    visit(store, URL, part(price=1))
    with pytest.raises(StoreError, match=name), store.db.write():
        store.db.run(statement)


def test_the_payload_of_a_message_may_be_blanked(store: Store) -> None:
    enqueue(store, URL)
    visit(store, URL, part(price=1))
    with store.db.write():
        assert store.db.run("UPDATE outbox SET messages = ''") > 0
