"""Every row of the tables: what a server does, and the pages, records, links and requests that must come of it."""

from __future__ import annotations

import logging
from importlib import import_module
from pathlib import Path

import pytest
from hostile.case import Case
from hostile.harness import check

from limpet_store.server import Server

SUBJECTS = (
    "again",
    "codings",
    "framing",
    "headers",
    "links",
    "reading",
    "redirects",
    "robots",
    "secrets",
    "statuses",
)
TABLES = [import_module(f"hostile.cases_{subject}") for subject in SUBJECTS]
CASES: list[Case] = [case for table in TABLES for case in table.CASES]


@pytest.mark.parametrize("case", CASES, ids=repr)
def test_a_hostile_server(
    case: Case,
    new_store: Path,
    server: Server,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    caplog.set_level(logging.INFO)
    for name, value in case.env.items():
        monkeypatch.setenv(name, value)
    check(case, new_store, server, lambda: caplog.text)


def test_the_table_has_enough_rows_and_each_its_own_name() -> None:
    assert len(CASES) >= 120
    assert len({case.name for case in CASES}) == len(CASES)
