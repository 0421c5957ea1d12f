"""What a page that is tried notes of what was looked for in vain."""

from __future__ import annotations

from limpet.trying.watching import Nothing, Watched
from limpet_store.items import Fetched


def test_a_path_that_leads_nowhere_is_noted_and_one_that_leads_to_a_default_like_value_is_not() -> None:
    page = Watched(Fetched("http://h.example/", 200, {}, b'{"stock": 0, "seller": null}'))
    for path, default in (("stock", 0), ("seller", None)):
        assert page.pick(path, default) == default
    page.pick("name")
    page.pick("sku", of={"sku": 1})
    assert page.missed == [
        Nothing("pick", "name", None, required=True),
        Nothing("pick", "seller", None, required=False),
    ]
    assert page.nearest(page.missed[0]) == ""
