"""The messages straight from the store, and the positions that readers keep."""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path

from front_helpers import Ran, edit, limpet, running

from limpet.demo.shop import ShopServer


def position(ran: Ran) -> str:
    assert ran.said[-1].startswith("position: ")
    return ran.said[-1].removeprefix("position: ")


def ids(ran: Ran) -> list[str]:
    return [known_as(json.loads(line)) for line in ran.out.splitlines()]


def known_as(message: dict[str, str]) -> str:
    """Its key without the epoch, which is a time."""
    return re.sub(r":[0-9]+\.", ".", message["id"])


def test_all_messages_come_out_each_once_with_their_versions_in_order(crawled: Path) -> None:
    ran = limpet("changes", crawled)

    assert ran.code == 0
    kinds = [json.loads(line)["type"].removeprefix("limpet.") for line in ran.out.splitlines()]
    assert kinds[:6] == ["record.created"] * 6
    assert kinds[6] == "round.finished"
    assert kinds[7:9] == ["record.changed"] * 2
    assert kinds[9:] == ["round.finished"]
    assert len(set(ids(ran))) == 10


def test_a_reader_goes_on_after_its_position(crawled: Path, shop: ShopServer) -> None:
    first = limpet("changes", crawled)

    again = limpet("changes", crawled, "--since", position(first))
    assert (again.code, again.out, position(again)) == (0, "", position(first))

    assert limpet("crawl", crawled, "--workers", 1, "--refresh").code == 0
    later = limpet("changes", crawled, "--since", position(first))
    assert ids(later) == ["round.3"]
    assert ids(limpet("changes", crawled)) == ids(first) + ids(later)


def test_every_message_has_a_position_to_go_on_from(crawled: Path) -> None:
    lines = [json.loads(line) for line in limpet("changes", crawled, "--positions").out.splitlines()]

    for n, line in enumerate(lines):
        rest = limpet("changes", crawled, "--since", line["position"])
        assert ids(rest) == [known_as(later["message"]) for later in lines[n + 1 :]]


def test_a_row_of_several_messages_is_read_only_with_the_last(crawled: Path) -> None:
    edit(
        crawled,
        """INSERT INTO outbox (mark, kind, ops, messages, at) VALUES ('ab', 'x', '[]', '{"id":1}\n{"id":2}', 0)""",
    )

    before, first, second = [
        json.loads(line) for line in limpet("changes", crawled, "--positions").out.splitlines()
    ][-3:]

    assert first["position"] == before["position"]
    assert second["position"].endswith(".ab")


def test_a_position_from_before_the_first_message_is_0(crawled: Path) -> None:
    assert limpet("changes", crawled, "--since", "0").out == limpet("changes", crawled).out


def test_a_position_that_was_never_printed_is_wrong_use(crawled: Path) -> None:
    ran = limpet("changes", crawled, "--since", "yesterday")

    assert ran.code == 2
    assert "'yesterday' is no position" in ran.err
    assert len(ran.said) == 1


def test_a_store_that_went_back_in_time_is_noticed(crawled: Path) -> None:
    kept = position(limpet("changes", crawled))
    edit(crawled, f"DELETE FROM outbox WHERE seq = {kept.split('.')[0]}")

    gone = limpet("changes", crawled, "--since", kept)

    assert (gone.code, gone.out) == (2, "")
    assert "the store went back in time" in gone.err

    edit(crawled, f"INSERT INTO outbox VALUES ({kept.split('.')[0]}, 'another', 'x', '[]', '', 0, 0)")
    assert "the store went back in time" in limpet("changes", crawled, "--since", kept).err


def test_what_retention_removed_is_said(crawled: Path) -> None:
    early = json.loads(limpet("changes", crawled, "--positions").out.splitlines()[0])["position"]
    upto = int(early.split(".")[0]) + 1
    edit(crawled, f"UPDATE meta SET pruned = {upto}", f"DELETE FROM outbox WHERE seq <= {upto}")

    late, anew = limpet("changes", crawled, "--since", early), limpet("changes", crawled)

    assert (late.code, late.out) == (2, "")
    assert "removed by retention" in late.err
    assert limpet("changes", crawled, "--since", "0").code == 2
    assert anew.code == 0
    assert anew.said[0] == f"messages up to {upto} were removed by retention; these are the later ones"


def test_following_shows_what_is_committed_meanwhile(crawled: Path, shop: ShopServer) -> None:
    since = position(limpet("changes", crawled))
    with running("changes", crawled, "--follow", "--since", since) as reader:
        assert limpet("crawl", crawled, "--workers", 1, "--refresh").code == 0
        assert reader.stdout is not None
        assert known_as(json.loads(reader.stdout.readline())) == "round.3"
        reader.send_signal(signal.SIGINT)
        out, said = reader.communicate(timeout=10)

    assert reader.returncode == 130
    assert out == ""
    assert said.splitlines() == [limpet("changes", crawled).said[-1]]
