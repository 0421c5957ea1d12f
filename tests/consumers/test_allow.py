"""What a worker agrees to run: exactly what `Tickets.ensure` writes. The worker itself is in test_worker."""

from __future__ import annotations

import json
import pickle
import zlib

import pytest
from consumers.pool_helpers import FUNCTION  # noqa: TID251

from limpet_consumers.allow import MAX_DATA, inspect, inspect_id
from limpet_consumers.tickets import Tickets

pytest_plugins = ["consumers.pool_helpers"]

PLAIN = {
    b"data": zlib.compress(json.dumps([FUNCTION, None, ["shop"], {}]).encode()),
    b"origin": b"limpet:shop:1",
    b"timeout": b"120",
    b"result_ttl": b"0",
    b"failure_ttl": b"3600",
    b"status": b"queued",
    b"success_callback_name": b"",
}


def reason(changes: dict[bytes, bytes]) -> str | None:
    refusal = inspect({**PLAIN, **changes}, queue="limpet:shop:1", crawl="shop", function=FUNCTION)
    return refusal.reason if refusal else None


def call(*parts: object) -> dict[bytes, bytes]:
    return {b"data": zlib.compress(json.dumps(parts).encode())}


def test_a_plain_ticket_passes() -> None:
    assert reason({}) is None


def test_what_ensure_writes_passes(tickets: Tickets) -> None:
    tickets.ensure(1)
    (job_id,) = tickets.client.lrange(f"rq:queue:{tickets.queue_name}", 0, -1)
    raw = tickets.client.hgetall(b"rq:job:" + job_id)
    assert inspect_id(job_id) is None
    assert inspect(raw, queue=tickets.queue_name, crawl="shop", function=FUNCTION) is None
    assert inspect(raw, queue=tickets.queue_name, crawl="shop") is not None


@pytest.mark.parametrize(
    "name",
    [
        "success_callback_name",
        "failure_callback_name",
        "stopped_callback_name",
        "dependency_id",
        "dependency_ids",
        "allow_dependency_failures",
        "retries_left",
        "retry_intervals",
        "number_of_retries",
        "repeats_left",
        "repeat_intervals",
        "webhooks",
        "meta",
        "group_id",
        "rate_limit_key",
        "result",
        "exc_info",
        "worker_name",
        "started_at",
        "enqueue_at_front",
        "success_callback_timeout",
        "a field that RQ will have next year",
    ],
)
def test_any_other_field_is_refused(name: str) -> None:
    assert reason({name.encode(): b"1"}) == "field"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        (b"origin", b"limpet:other:1"),
        (b"status", b"failed"),
        (b"result_ttl", b"500"),
        (b"result_ttl", b""),
        (b"failure_ttl", b""),
        (b"failure_ttl", b"-1"),
        (b"timeout", b"-1"),
        (b"timeout", b"1h"),
        (b"timeout", b"999999999"),
        (b"ttl", b"\xff"),
        (b"description", b"\x1b[2J"),
    ],
)
def test_a_known_field_with_another_value_is_refused(field: bytes, value: bytes) -> None:
    assert reason({field: value}) == "field"


@pytest.mark.parametrize(
    "parts",
    [("os.system", None, ["shop"], {}), ("limpet.job", None, ["shop"], {}), (None, None, ["shop"], {}), ()],
)
def test_another_function_is_refused(parts: tuple[object, ...]) -> None:
    assert reason(call(*parts)) == "function"


@pytest.mark.parametrize(
    "parts",
    [
        (FUNCTION, None, ["other"], {}),
        (FUNCTION, None, [], {}),
        (FUNCTION, None, ["shop", 1], {}),
        (FUNCTION, None, ["shop"], {"limit": 1}),
        (FUNCTION, "an instance", ["shop"], {}),
        (FUNCTION, None, {"shop": 1}, {}),
        (FUNCTION, None, ["shop"], {}, "more"),
    ],
)
def test_other_arguments_are_refused(parts: tuple[object, ...]) -> None:
    assert reason(call(*parts)) == "arguments"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"not packed",
        json.dumps([FUNCTION, None, ["shop"], {}]).encode(),
        pickle.dumps((FUNCTION, None, ("shop",), {})),
        zlib.compress(pickle.dumps((FUNCTION, None, ("shop",), {}))),
        zlib.compress(b"\xff\xfe"),
        zlib.compress(b"[" * MAX_DATA),
        PLAIN[b"data"] + b"more",
        PLAIN[b"data"][:-3],
        zlib.compress(b" " * 10_000_000),
    ],
    ids=["none", "raw", "unpacked", "pickle", "packed pickle", "no UTF-8", "deep", "tail", "cut", "bomb"],
)
def test_data_that_is_not_one_packed_call_is_refused(data: bytes) -> None:
    assert reason({b"data": data}) == "data"


@pytest.mark.parametrize("job_id", [b"", b"\xff\xfe", b"a:b", b"a b", b"x" * 101, b"../x", "\u00e9".encode()])
def test_an_id_that_is_none_is_refused(job_id: bytes) -> None:
    refusal = inspect_id(job_id)
    assert refusal is not None
    assert refusal.reason == "id"
