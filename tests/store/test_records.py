"""Records: versions, parts, fences, and the messages that say so."""

from __future__ import annotations

import json
from typing import Any

import pytest
from store_making import NOW, attempt, done, enqueue, make_due, part, turn, visit

from limpet_store import outbox, records
from limpet_store.content import GONE_HASH, NotStorable, record_id
from limpet_store.items import Record
from limpet_store.outcome import Kind, Outcome
from limpet_store.store import Store

A, B = "http://127.0.0.1/a", "http://127.0.0.1/b"
NEXT = NOW + 1_000


def messages(store: Store) -> list[dict[str, Any]]:
    found = [json.loads(text) for row in outbox.after(store.db, 0, 10_000) for text in row.messages]
    return [message for message in found if message["type"].startswith("limpet.record")]


def row(store: Store) -> tuple[Any, ...]:
    return store.db.rows("SELECT version, data, first_seen, last_changed, gone FROM records")[0]


@pytest.fixture
def shop(store: Store) -> Store:
    enqueue(store, A, B)
    return store


def test_the_first_version_is_1_and_says_created(shop: Store) -> None:
    visit(shop, A, part(price=5))
    (message,) = messages(shop)
    rid = record_id("shop", "product", "1")
    assert message["id"] == f"{rid}:{shop.source.epoch}.1"
    assert message["type"] == "limpet.record.created"
    assert message["data"] == {
        "type": "product", "key": "1", "url": A, "version": 1, "changed": ["price"], "record": {"price": 5},
    }  # fmt: skip
    assert row(shop) == (1, '{"price":5}', NOW, NOW, 0)


def test_the_same_content_again_changes_nothing(shop: Store) -> None:
    visit(shop, A, part(price=5))
    visit(shop, B)
    make_due(shop, NEXT)
    visit(shop, A, part(price=5), now=NEXT)
    assert len(messages(shop)) == 1
    assert row(shop) == (1, '{"price":5}', NOW, NOW, 0)
    assert shop.db.value("SELECT last_seen FROM parts") == NEXT


def test_other_content_is_the_next_version_and_names_the_fields(shop: Store) -> None:
    visit(shop, A, part(price=5, name="x"))
    visit(shop, B)
    make_due(shop, NEXT)
    visit(shop, A, part(price=6, name="x"), now=NEXT)
    assert row(shop) == (2, '{"name":"x","price":6}', NOW, NEXT, 0)
    last = messages(shop)[-1]
    assert (last["type"], last["data"]["version"], last["data"]["changed"]) == (
        "limpet.record.changed",
        2,
        ["price"],
    )


def test_a_record_is_the_merge_of_its_parts_under_one_version(shop: Store) -> None:
    visit(shop, A, part(part="listing", price=5))
    visit(shop, B, part(part="detail", title="x"))
    assert row(shop)[:2] == (2, '{"price":5,"title":"x"}')


def test_two_parts_on_one_page_are_told_apart(shop: Store) -> None:
    visit(shop, A, part(part="a", x=1), part(part="b", y=2))
    assert row(shop)[1] == '{"x":1,"y":2}'


def test_a_part_with_a_newer_fence_is_left_alone(shop: Store) -> None:
    early = attempt(shop, A)
    visit(shop, B, part(price=6))
    turn(shop, done=[done(early, part(price=5))])
    assert row(shop)[:2] == (1, '{"price":6}')


def test_products_and_sellers_of_one_number_are_two_records(shop: Store) -> None:
    visit(shop, A, part("123", type_="product", x=1), part("123", type_="seller", x=1))
    assert shop.db.value("SELECT count(*) FROM records") == 2


def test_ids_are_unambiguous() -> None:
    assert record_id("s", "a:b", "c") != record_id("s", "a", "b:c")


def test_a_page_that_is_gone_takes_its_parts_and_a_record_without_parts_is_gone(shop: Store) -> None:
    visit(shop, A, part("1", price=5), part("2", part="listing", price=7))
    visit(shop, B, part("2", part="detail", title="x"))
    make_due(shop, NEXT)
    turn(shop, done=[Outcome(attempt=attempt(shop, A, now=NEXT), kind=Kind.GONE, status=410)], now=NEXT)
    assert shop.db.rows("SELECT key, version, data, gone FROM records ORDER BY key") == [
        ("1", 2, "null", 1),
        ("2", 3, '{"title":"x"}', 0),
    ]
    gone = next(m for m in messages(shop) if m["type"] == "limpet.record.gone")
    assert (gone["contenthash"], gone["data"]["record"]) == (GONE_HASH, None)


def test_a_gone_record_that_comes_back_is_its_next_version(shop: Store) -> None:
    visit(shop, A, part(price=5))
    visit(shop, B)
    make_due(shop, NEXT)
    turn(shop, done=[Outcome(attempt=attempt(shop, A, now=NEXT), kind=Kind.GONE)], now=NEXT)
    visit(shop, B, now=NEXT)
    make_due(shop, NEXT)
    visit(shop, A, part(price=5), now=NEXT)
    assert row(shop)[:2] == (3, '{"price":5}')
    assert row(shop)[4] == 0
    assert [m["id"].rpartition(".")[2] for m in messages(shop)] == ["1", "2", "3"]


@pytest.mark.parametrize(
    "data",
    [
        {"x": float("nan")},
        {"x": float("inf")},
        {"x": "\ud800"},
        {"x": "a\0b"},
        {"x": object()},
        {1: "x"},
        {"x": [{2: 3}]},
    ],
    ids=["nan", "infinity", "lone surrogate", "NUL", "object", "number as a key", "deep down"],
)
def test_what_cannot_be_stored_is_refused_before_any_transaction(data: dict[Any, Any]) -> None:
    with pytest.raises(NotStorable):
        records.prepare("shop", Record("product", "1", data))


def test_strings_are_stored_composed_so_that_two_spellings_are_one_content() -> None:
    composed = records.prepare("shop", Record("product", "1", {"x": "é"}))
    decomposed = records.prepare("shop", Record("product", "1", {"x": "e\u0301"}))
    assert composed == decomposed
