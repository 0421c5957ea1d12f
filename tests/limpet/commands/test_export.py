"""Records as text: stable, whole, and safe to open in a spreadsheet."""

from __future__ import annotations

import csv
import io
import json
import os
from pathlib import Path

import pytest
from front_helpers import edit, limpet, write_site

from limpet import exporting
from limpet.demo.shop import ShopServer
from limpet.exporting import cell
from limpet_store import export
from limpet_store.export import Exported


def test_every_record_is_a_json_line_in_order_of_its_key(crawled: Path, shop: ShopServer) -> None:
    found = [json.loads(line) for line in limpet("export", crawled).out.splitlines()]

    assert [record["key"] for record in found] == sorted(shop.expected())
    assert {record["key"]: record["data"] for record in found} == shop.expected()
    assert [record["version"] for record in found] == [1, 2, 1, 2, 1, 1]
    changed = [record["key"] for record in found if record["last_changed"] > record["first_seen"]]
    assert changed == ["LP-00001", "LP-00003"]
    assert list(found[0]) == ["type", "key", "url", "version", "first_seen", "last_changed", "data"]


def test_the_bytes_are_the_same_when_nothing_changed(crawled: Path) -> None:
    before = {form: limpet("export", crawled, "-f", form).out for form in ("jsonl", "csv")}

    assert limpet("crawl", crawled, "--workers", 1, "--refresh").code == 0

    assert before == {form: limpet("export", crawled, "-f", form).out for form in ("jsonl", "csv")}


def test_csv_has_a_column_for_every_field(crawled: Path, shop: ShopServer) -> None:
    rows = list(csv.DictReader(io.StringIO(limpet("export", crawled, "-f", "csv").out)))

    assert list(rows[0]) == [
        "type", "key", "url", "version", "first_seen", "last_changed", "name", "price", "data.url",
    ]  # fmt: skip
    assert {row["key"]: row["price"] for row in rows} == {k: v["price"] for k, v in shop.expected().items()}


def test_a_spreadsheet_gets_no_formula_from_a_page() -> None:
    for text in ("=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"):
        assert cell(text) == f"'{text}"
    assert cell(-1) == "-1"
    assert cell(-0.5) == "-0.5"
    assert cell("1-1") == "1-1"


def test_cells_hold_json_where_text_would_not_do() -> None:
    assert [cell(value) for value in (None, True, {"b": 1, "a": ["é"]}, [])] == [
        "",
        "true",
        '{"a":["é"],"b":1}',
        "[]",
    ]


def record(key: str, data: str) -> Exported:
    return Exported("t", key, "http://h/", 1, 0, 0, data)


def test_fields_are_the_union_over_all_records_and_headings_are_guarded() -> None:
    rows = [record("1", '{"=b":1,"data.key":2,"key":3}'), record("2", '{"a":"x\\ny"}')]

    lines = "".join(exporting.table(lambda: rows))

    header, one, two = csv.reader(io.StringIO(lines))
    assert header[6:] == ["'=b", "a", "data.key", "data.data.key"]
    assert one[6:] == ["1", "", "2", "3"]
    assert two[6:] == ["", "x\ny", "", ""]


def test_gone_records_are_left_out(crawled: Path) -> None:
    edit(crawled, "UPDATE records SET gone = 1 WHERE key = 'LP-00002'")

    assert [json.loads(line)["key"][-1] for line in limpet("export", crawled).out.splitlines()] == list(
        "01345"
    )


def test_one_type_can_be_asked_for(crawled: Path) -> None:
    assert len(limpet("export", crawled, "--type", "product").out.splitlines()) == 6
    other = limpet("export", crawled, "--type", "seller")
    assert (other.code, other.out, other.said) == (
        2,
        "",
        ["limpet: no records of type seller; there are: product"],
    )


def test_more_records_than_one_read_takes_all_come_out(
    crawled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = limpet("export", crawled).out
    for name in ("ALL", "OF_TYPE"):
        monkeypatch.setattr(export, name, getattr(export, name).replace(str(export.CHUNK), "2"))

    assert limpet("export", crawled).out == whole
    assert limpet("export", crawled, "--type", "product").out == whole


def test_a_file_appears_whole_or_not_at_all(crawled: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    target.write_text("before")
    edit(crawled, "UPDATE records SET data = '{broken' WHERE key = 'LP-00005'")

    with pytest.raises(ValueError, match="Expecting"):
        limpet("export", crawled, "-f", "csv", "-o", target)

    assert target.read_text() == "before"
    assert os.listdir(tmp_path) == ["crawled", "out.csv"] or sorted(os.listdir(tmp_path)) == [
        "crawled",
        "out.csv",
    ]


def test_a_file_is_what_stdout_would_have_been(crawled: Path, tmp_path: Path) -> None:
    (tmp_path / "real").touch()
    (tmp_path / "link").symlink_to("real")

    assert limpet("export", crawled, "-o", tmp_path / "link").out == ""

    assert (tmp_path / "real").read_text() == limpet("export", crawled).out
    assert (tmp_path / "link").is_symlink()


def test_a_file_that_cannot_be_written_is_wrong_use(crawled: Path, tmp_path: Path) -> None:
    ran = limpet("export", crawled, "-o", tmp_path / "nowhere" / "out")

    assert ran.code == 2
    assert ran.said == [f"limpet: cannot write {tmp_path}/nowhere/out: No such file or directory"]


def test_an_export_of_no_records_is_empty(shop: ShopServer, tmp_path: Path) -> None:
    site = write_site(tmp_path / "site", shop.first_page)
    limpet("enqueue", site, f"{shop.url}/product/1")

    assert limpet("export", site) == limpet("export", site, "-f", "jsonl")
    assert limpet("export", site).out == ""
    assert limpet("export", site, "-f", "csv").out == "type,key,url,version,first_seen,last_changed\n"
