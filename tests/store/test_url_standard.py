"""Canonical URLs against the cases of the URL standard's own tests (web-platform-tests).

A case is a link: `input` as it stands in an href, on a page of the URL `base`. It becomes a page under the URL that the
standard says, without its fragment; or it becomes none, for a reason that stands in a table here.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from limpet.links import resolve
from limpet_store.canonical import admit
from limpet_store.errors import URLRejected

DATA = Path(__file__).parents[2].parent / "shared/data/urltestdata.json"
CASES = 873  # in the data, each of which is looked at below

# What the standard takes and we do not, by the reason: the last table says which, one by one.
SAME_PAGE = "a link into the page that it is on"
CREDENTIALS = "credentials in URL"  # they would be stored and shown; a site file has its own place for them
NO_HOST_NAME = "no host name"  # no resolver knows such a name
NOT_HTTP = "not http"
BLANK = " \t\r\n\f"
NAMES_THAT_NOBODY_HAS = {
    "http://./",
    "http://../",
    "http://foo.09../",
    "http://!\"$&'()*+,-.;=_`{}~/",
}


def cases() -> list[dict[str, Any]]:
    if not DATA.exists():
        if os.environ.get("CI") == "true":
            pytest.fail(f"{DATA} is missing: the URL standard's cases belong beside the project")
        pytest.skip("the URL standard's cases (shared/data/urltestdata.json) do not lie beside the project")
    return [case for case in json.loads(DATA.read_text("utf-8")) if isinstance(case, dict)]


def link(base: str | None, href: str) -> str:
    """The canonical URL that a link leads to, or why it leads to none."""
    try:
        if base is None:
            return admit(href).canonical
        url, why = resolve(base, href)
        if why == "":
            return SAME_PAGE if href.strip(BLANK)[:1] in ("", "#") else NOT_HTTP
        return {"malformed": "not a URL", "scheme": NOT_HTTP}[why] if why else admit(url).canonical
    except URLRejected as error:
        return error.reason


def wanted(case: dict[str, Any]) -> set[str]:
    """What may come of a case: the standard's URL, or a reason of ours where the table says so."""
    if case["base"] is not None and case["input"].strip(BLANK)[:1] in ("", "#"):
        return {SAME_PAGE}
    if case.get("failure"):
        return {"not a URL", NOT_HTTP, NO_HOST_NAME}
    url = case["href"].partition("#")[0]
    if not url.startswith(("http://", "https://")):
        return {NOT_HTTP}
    if case["username"] or case["password"]:
        return {CREDENTIALS}
    return {NO_HOST_NAME} if url in NAMES_THAT_NOBODY_HAS else {url}


def test_every_case_of_the_standard_is_as_it_says_or_has_its_reason() -> None:
    seen: Counter[str] = Counter()
    wrong = []
    for case in cases():
        came = link(case["base"], case["input"])
        seen["a page" if came.startswith("http") else came] += 1
        if came not in wanted(case):
            wrong.append((case["base"], case["input"], wanted(case), came))
    assert wrong == []
    assert seen == {
        "a page": 193, SAME_PAGE: 24, CREDENTIALS: 25, NO_HOST_NAME: 11, NOT_HTTP: 355, "not a URL": 265,
    }  # fmt: skip
    assert seen.total() == CASES


def test_what_the_standard_gives_is_canonical_already() -> None:
    urls = {case["href"].partition("#")[0] for case in cases() if not case.get("failure")}
    admitted = 0
    for url in urls:
        try:
            address = admit(url)
        except URLRejected:
            continue
        admitted += 1
        assert address.canonical == url
    assert admitted == 135
