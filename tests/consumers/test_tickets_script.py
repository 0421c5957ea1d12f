"""The script that counts who is at work: the same replies from fakeredis and from a real server."""

from __future__ import annotations

from collections.abc import Iterator

import fakeredis
import pytest
from redis import Redis

from limpet_consumers.tickets import Tickets


@pytest.fixture(params=["twin", "real"])
def tickets(request: pytest.FixtureRequest) -> Iterator[Tickets]:
    if request.param == "twin":
        client: Redis = fakeredis.FakeStrictRedis(server=fakeredis.FakeServer())
    else:
        client = Redis.from_url(request.getfixturevalue("valkey_url"))
        client.flushall()
    yield Tickets(client, "shop", "s1")
    client.close()


def test_the_living_are_counted_until_they_leave(tickets: Tickets) -> None:
    assert tickets.live() == (0, 0)
    tickets.touch_worker("w1")
    tickets.touch_slice("w1/1")
    tickets.touch_slice("w1/1")
    tickets.touch_slice("w2/1")
    assert tickets.live() == (1, 2)
    tickets.forget_slice("w2/1")
    assert tickets.live() == (1, 1)


def test_only_the_holder_of_the_lock_opens_it(tickets: Tickets) -> None:
    tickets.client.set(f"{tickets.prefix}:tickets", "mine")
    assert tickets._script(tickets.client, "unlock", "another's") == 0
    assert tickets._script(tickets.client, "unlock", "mine") == 1
    assert tickets.client.get(f"{tickets.prefix}:tickets") is None
