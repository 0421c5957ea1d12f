"""Outages: what is one, how long is waited, and that a pool speaks of each once."""

from __future__ import annotations

import errno
import json

import pytest

from limpet_consumers import outage
from limpet_consumers.outage import REDIS, SILENCE, STORE, Backoff, Outages, in_words, patiently, what_fails
from limpet_store.errors import FrontierUnavailable, ServerRefused, StoreError, StoreUnavailable

DOWN = "Redis does not answer (refused)"


class Clock:
    now = 0.0


@pytest.fixture
def lines() -> list[str]:
    return []


@pytest.fixture
def outages(lines: list[str]) -> Outages:
    Clock.now = 0.0
    return Outages(lines.append, lambda: Clock.now)


@pytest.mark.parametrize(
    ("error", "what"),
    [
        (FrontierUnavailable("away"), REDIS),
        (StoreUnavailable("locked"), STORE),
        (OSError(errno.ENOSPC, "No space left on device", "/x"), STORE),
        (OSError(errno.EMFILE, "Too many open files"), STORE),
        (OSError(errno.ENOENT, "No such file"), None),
        (StoreError("malformed"), None),
        (ServerRefused("no password"), None),
        (ValueError("a bug"), None),
    ],
)
def test_what_may_pass_is_told_from_what_will_not(error: Exception, what: str | None) -> None:
    assert what_fails(error) == what


def test_an_error_of_the_system_names_the_file() -> None:
    assert in_words(OSError(errno.ENOSPC, "No space left on device", "/x")) == "/x: No space left on device"


def test_the_wait_doubles_to_ten_seconds_and_begins_anew() -> None:
    backoff = Backoff()
    assert [backoff() for _ in range(6)] == [1, 2, 4, 8, 10, 10]
    backoff.over()
    assert backoff() == 1


def test_an_outage_that_all_meet_is_told_once_and_is_over_when_it_is_over_for_all(
    outages: Outages, lines: list[str]
) -> None:
    for who in ("w1 slice", "w2 slice", "w1 tickets", "front Redis"):
        outages.tell(who, REDIS, DOWN)
        outages.tell(who, REDIS, "Redis does not answer (timed out)")
    assert lines == [f"{DOWN}: waiting, work goes on by itself"]
    assert REDIS in outages
    Clock.now = 7.4
    for who in ("w1 slice", "w2 slice", "w1 tickets"):
        outages.tell(who, REDIS, None)
    assert len(lines) == 1, "the front is in trouble still"
    outages.tell("front Redis", REDIS, None)
    assert lines[1:] == ["Redis works again after 7 s"]
    assert REDIS not in outages


def test_another_kind_of_trouble_within_it_is_told_too(outages: Outages, lines: list[str]) -> None:
    outages.tell("a", REDIS, DOWN)
    outages.tell("a", REDIS, "Redis is loading its data")
    outages.tell("a", REDIS, DOWN)
    assert [line.partition(":")[0] for line in lines] == [DOWN, "Redis is loading its data"]


def test_the_store_and_redis_are_in_trouble_apart(outages: Outages, lines: list[str]) -> None:
    outages.tell("a", REDIS, DOWN)
    outages.tell("a", STORE, "shop.db: database is locked (SQLITE_BUSY)")
    outages.tell("a", STORE, None)
    assert len(lines) == 3
    assert REDIS in outages
    assert STORE not in outages


def test_who_dies_or_falls_silent_holds_no_outage_open(outages: Outages, lines: list[str]) -> None:
    outages.tell("w1 slice", REDIS, DOWN)
    outages.tell("w2 slice", REDIS, DOWN)
    outages.forget("w1")
    assert REDIS in outages
    Clock.now = SILENCE + 1
    outages.look()
    assert REDIS not in outages
    assert len(lines) == 2


def test_the_end_of_a_pool_whose_last_words_were_heard_ends_its_outages(
    outages: Outages, lines: list[str]
) -> None:
    outages.tell("w1 tickets", REDIS, DOWN)
    outages.end()
    assert lines[1:] == ["Redis works again after 0 s"]
    outages.end()
    assert len(lines) == 2


def test_a_report_is_heard_and_anything_else_is_left_to_others(outages: Outages, lines: list[str]) -> None:
    assert outages.heard(json.dumps({"outage": REDIS, "of": "w1 slice", "complaint": DOWN}))
    assert len(lines) == 1
    for other in ("", "[]", "{}", '[["pages", "done", "", 1]]', '{"outage": 1}', "null"):
        assert not outages.heard(other)


def test_a_reporter_says_it_in_one_line_with_its_workers_mark(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[bytes] = []
    monkeypatch.setattr(outage, "to_supervisor", sent.append)
    outage.Reporter("w1", "slice")(REDIS, "two\nlines")
    (line,) = sent
    assert line.count(b"\n") == 1
    assert line.endswith(b"\n")
    assert b'"of": "w1 slice"' in line


def test_what_cannot_be_done_now_is_done_later(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []
    monkeypatch.setattr(outage.time, "sleep", waited.append)
    tries = iter([StoreUnavailable("locked"), FrontierUnavailable("away"), None])
    told: list[tuple[str, str | None]] = []

    def do() -> None:
        if error := next(tries):
            raise error

    assert patiently(do, lambda what, complaint: told.append((what, complaint)))
    assert waited == [1, 2]
    assert told == [(STORE, "locked"), (REDIS, "away"), (STORE, None)]
    assert not patiently(do, lambda *_: None, stopping=lambda: True)

    def wrong() -> None:
        raise ValueError("a bug")

    with pytest.raises(ValueError, match="a bug"):
        patiently(wrong, lambda *_: None)
