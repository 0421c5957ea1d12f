"""What a record's parts, volatile fields and shape mean for its versions and messages."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from store_making import attempt, done, enqueue, make_due, part, turn, visit

from limpet_store import verify
from limpet_store.content import NotStorable, key_text, shown_key
from limpet_store.items import Record
from limpet_store.records import prepare
from limpet_store.store import Store

A, B = "http://127.0.0.1/a", "http://127.0.0.1/b"


@pytest.fixture
def shop(store: Store) -> Store:
    enqueue(store, A, B)
    return store


@pytest.fixture
def page(store: Store) -> Store:
    enqueue(store, A)
    return store


def write(data: dict[str, object], **more: object):
    return prepare("shop", Record("product", "1", data, **more))


def messages(store: Store) -> list[tuple[str, str, dict[str, object] | None]]:
    """(kind, reason, record) of each, in order."""
    lines = [
        line
        for (text,) in store.db.rows("SELECT messages FROM outbox WHERE n > 0")
        for line in text.split("\n")
    ]
    each = map(json.loads, lines)
    return [
        (m["type"].rpartition(".")[2], m["reason"], m["data"]["record"])
        for m in each
        if "record" in m["data"]
    ]


def sound(store: Store) -> bool:
    return all(found.ok for found in verify.verify(store, quiet=True))


def test_a_record_is_shown_when_the_parts_that_it_requires_are_there(shop: Store) -> None:
    needs = ["detail", "stock"]
    visit(shop, A, write({"title": "Tea"}, part="detail", requires=needs))
    assert messages(shop) == []
    assert shop.db.rows("SELECT version, gone FROM records") == [(0, 1)]
    assert sound(shop)
    visit(shop, B, write({"stock": 5}, part="stock", requires=needs))
    assert messages(shop) == [("created", "content", {"title": "Tea", "stock": 5})]
    assert shop.db.rows("SELECT version, gone FROM records") == [(1, 0)]
    assert sound(shop)


def test_a_record_that_lost_a_part_while_it_waited_goes_on_waiting(shop: Store) -> None:
    from limpet_store.outcome import Kind, Outcome

    needs = ["detail", "stock"]
    visit(shop, A, write({"title": "Tea"}, part="detail", requires=needs))
    visit(shop, B)
    make_due(shop)
    turn(shop, done=[Outcome(attempt=attempt(shop, A), kind=Kind.GONE)])
    visit(shop, B, write({"stock": 5}, part="stock", requires=needs))
    assert messages(shop) == []
    assert sound(shop)


def test_a_record_that_was_shown_stays_when_a_part_that_it_requires_goes(shop: Store) -> None:
    from limpet_store.outcome import Kind, Outcome

    needs = ["detail", "stock"]
    visit(shop, A, write({"title": "Tea"}, part="detail", requires=needs))
    visit(shop, B, write({"stock": 5}, part="stock", requires=needs))
    make_due(shop)
    turn(shop, done=[Outcome(attempt=attempt(shop, B), kind=Kind.GONE)])
    assert messages(shop)[1:] == [("changed", "content", {"title": "Tea"})]
    assert sound(shop)


def test_a_record_that_is_gone_comes_back_when_all_required_parts_do(shop: Store) -> None:
    from limpet_store.outcome import Kind, Outcome

    needs = ["detail", "stock"]

    def both() -> None:
        visit(shop, A, write({"title": "Tea"}, part="detail", requires=needs))
        visit(shop, B, write({"stock": 5}, part="stock", requires=needs))

    both()
    make_due(shop)
    for url in (A, B):
        turn(shop, done=[Outcome(attempt=attempt(shop, url), kind=Kind.GONE)])
    make_due(shop)
    both()
    assert [kind for kind, _, _ in messages(shop)] == ["created", "changed", "gone", "created"]
    assert shop.db.value("SELECT version FROM records") == 4
    assert sound(shop)


def test_what_one_part_requires_holds_for_the_others(shop: Store) -> None:
    visit(shop, A, write({"title": "Tea"}, part="detail", requires=["detail", "stock"]))
    visit(shop, B, write({"picture": "x"}, part="picture"))
    assert messages(shop) == []
    assert sound(shop)


def test_a_record_that_waits_for_parts_is_forgotten_with_the_last_of_them(shop: Store) -> None:
    from limpet_store.outcome import Kind, Outcome

    visit(shop, A, write({"title": "Tea"}, part="detail", requires=["stock"]))
    visit(shop, B)
    make_due(shop)
    turn(shop, done=[Outcome(attempt=attempt(shop, A), kind=Kind.GONE)])
    assert shop.db.rows("SELECT * FROM records") == []
    assert sound(shop)


def test_a_version_shows_the_volatile_fields_as_they_were_last_read(shop: Store) -> None:
    visit(shop, A, write({"price": 1, "seen": "mon"}, volatile=["seen"]))
    visit(shop, B, write({"stock": 5}, part="stock"))
    make_due(shop)
    visit(shop, A, write({"price": 1, "seen": "tue"}, volatile=["seen"]))
    visit(shop, B, write({"stock": 6}, part="stock"))
    assert messages(shop)[-1] == ("changed", "content", {"price": 1, "seen": "tue", "stock": 6})
    assert sound(shop)


def test_a_volatile_field_alone_makes_no_version(page: Store) -> None:
    visit(page, A, write({"price": 1, "seen": "mon"}, volatile=["seen"]))
    make_due(page)
    visit(page, A, write({"price": 1, "seen": "tue"}, volatile=["seen"]))
    assert messages(page) == [("created", "content", {"price": 1, "seen": "mon"})]
    make_due(page)
    visit(page, A, write({"price": 2, "seen": "wed"}, volatile=["seen"]))
    assert messages(page)[1:] == [("changed", "content", {"price": 2, "seen": "wed"})]
    assert sound(page)


def test_volatile_fields_are_left_out_of_the_merge_of_parts_too(shop: Store) -> None:
    visit(shop, A, write({"price": 1, "seen": "mon"}, volatile=["seen"]))
    visit(shop, B, write({"stock": 5}, part="stock"))
    make_due(shop)
    visit(shop, A, write({"price": 1, "seen": "tue"}, volatile=["seen"]))
    visit(shop, B, write({"stock": 5}, part="stock"))
    assert [kind for kind, _, _ in messages(shop)] == ["created", "changed"]
    assert sound(shop)


def test_a_change_that_comes_with_a_new_schema_says_so(page: Store) -> None:
    visit(page, A, write({"price": 1}))
    make_due(page)
    visit(page, A, write({"price": 1, "currency": "EUR"}, schema=2))
    assert [(kind, reason) for kind, reason, _ in messages(page)] == [
        ("created", "content"),
        ("changed", "schema"),
    ]
    assert page.db.value("SELECT schema FROM records") == 2


def test_a_new_schema_without_another_content_makes_no_version_and_is_not_said_later(page: Store) -> None:
    visit(page, A, write({"price": 1}))
    make_due(page)
    visit(page, A, write({"price": 1}, schema=2))
    make_due(page)
    visit(page, A, write({"price": 2}, schema=2))
    assert [(kind, reason) for kind, reason, _ in messages(page)] == [
        ("created", "content"),
        ("changed", "content"),
    ]


def test_a_change_after_the_code_changed_is_a_re_extraction(page: Store) -> None:
    visit(page, A, part(price=1))
    make_due(page)
    again = done(attempt(page, A), part(price=2))
    turn(page, done=[replace(again, code="h:2")])
    assert [(kind, reason) for kind, reason, _ in messages(page)] == [
        ("created", "content"),
        ("changed", "re-extract"),
    ]


def test_the_message_names_schema_and_volatile_fields(shop: Store) -> None:
    visit(shop, A, write({"price": 1, "seen": 1}, volatile=["seen"], schema=3))
    (text,) = shop.db.rows("SELECT messages FROM outbox WHERE n > 0")[0]
    message = json.loads(text)
    assert (message["schema"], message["data"]["volatile"]) == (3, ["seen"])


def test_a_key_of_several_is_another_record_than_its_text(shop: Store) -> None:
    parts = [prepare("shop", Record("v", key, {})) for key in (["1", "red"], ["1,red"], "1,red", [1, "red"])]
    assert len({each.record for each in parts}) == 4
    visit(shop, A, *parts)
    assert [json.loads(m)["data"]["key"] for (t,) in shop.db.rows("SELECT messages FROM outbox WHERE n > 0")
            for m in t.split("\n")] == [["1", "red"], ["1,red"], "1,red", [1, "red"]]  # fmt: skip
    assert sound(shop)


@pytest.mark.parametrize("text", ['["a","b"]', "[1]"])
def test_a_text_that_looks_like_a_list_of_keys_is_refused(text: str) -> None:
    with pytest.raises(NotStorable, match="give a list"):
        key_text(text)


@pytest.mark.parametrize("text", ["a", "[a]", "[]", "[ 1]", "[1.5]", "[[1]]", "[true]", "[", "[" * 2000])
def test_a_text_key_stays_what_it_is(text: str) -> None:
    assert shown_key(key_text(text)) == text
