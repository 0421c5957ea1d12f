"""A catalogue's API: a POST search with cursors that live in memory, details for who has the token, stock by GraphQL.

Now and then it forgets all cursors (410 or 400 for whoever has one), wants to be left alone (429) or fails inside
GraphQL, which is a 200; each a few times, so that whoever goes on gets to the end.
"""

from __future__ import annotations

import itertools
import re
from typing import Any

from serving import NOWHERE, Answer, Asked, SiteOfOurs, as_json, serve

CATEGORIES = {"tea": 35, "pots": 22}
PER_PAGE = 6
TOKEN = "let-me-in"
FORGETS = (5, 13, 22)  # at which search, counted from 1
LIMITS = (20, 61)  # at which request with the token
FAILS = (9, 30)  # at which GraphQL query
WAREHOUSES = ("north", "south", "harbour")


def ids(category: str) -> list[str]:
    return [f"{category[:1].upper()}-{n:03d}" for n in range(CATEGORIES[category])]


def number(id_: str) -> int:
    return int(id_[2:])


def known(id_: str) -> bool:
    return any(id_ in ids(category) for category in CATEGORIES)


def detail(id_: str) -> dict[str, Any]:
    n = number(id_)
    amount = f"{3 + n * 37 % 90}.{n * 7 % 100:02d}"
    return {
        "id": id_,
        "name": f"Fine {'tea' if id_[0] == 'T' else 'pot'} № {n}",
        "price": {"amount": amount, "currency": "EUR"},
        "added": f"2024-{1 + n % 12:02d}-{1 + n % 28:02d}T10:{n % 60:02d}:00Z",
        "tags": [tag for tag, each in (("organic", 2), ("new", 5)) if n % each == 0],
    }


def stock(id_: str) -> dict[str, int]:
    return {place: (number(id_) * (at + 3)) % 11 for at, place in enumerate(WAREHOUSES)}


class Api(SiteOfOurs):
    def __init__(self) -> None:
        self.cursors: dict[str, tuple[str, int]] = {}
        self.given: dict[str, int] = {}  # every cursor there ever was: the place that it stood for
        self.names = itertools.count(1)
        self.searches = self.asked = self.queries = 0
        self.refused: list[int] = []  # the places of cursors that were refused

    def answer(self, asked: Asked) -> Answer:
        if asked.path == "/api/search" and asked.method == "POST":
            return self._search(**asked.json())
        if asked.headers.get("authorization") != f"Bearer {TOKEN}":
            return as_json({"error": "who are you?"}, 401)
        self.asked += 1
        if self.asked in LIMITS:
            return as_json({"error": "slowly"}, 429, headers={"Retry-After": "1"})
        kind, _, id_ = asked.path.rpartition("/")
        if kind == "/api/products" and known(id_):
            return as_json(detail(id_))
        return self._graphql(**asked.json()) if asked.path == "/graphql" else NOWHERE

    def _search(self, category: str, cursor: str | None = None) -> Answer:
        self.searches += 1
        if self.searches in FORGETS:
            self.cursors.clear()
        if cursor is not None and cursor not in self.cursors:
            self.refused.append(self.given[cursor])
            return as_json({"error": "this cursor has expired"}, 410 if len(self.refused) % 2 else 400)
        category, place = self.cursors[cursor] if cursor else (category, 0)
        found = ids(category)[place * PER_PAGE :]
        results = [{"id": id_, "name": detail(id_)["name"]} for id_ in found[:PER_PAGE]]
        following = self._cursor(category, place + 1) if len(found) > PER_PAGE else None
        return as_json({"results": results, "next": following}, page=f"search/{category}/{place}")

    def _cursor(self, category: str, place: int) -> str:
        name = f"c-{next(self.names):04x}"
        self.cursors[name] = (category, place)
        self.given[name] = place
        return name

    def _graphql(self, query: str, variables: dict[str, str]) -> Answer:
        self.queries += 1
        if self.queries in FAILS:
            errors = [{"message": "the warehouse does not answer"}]
            return as_json({"data": None, "errors": errors}, page=f"failure {self.queries}")
        id_ = variables["id"]
        if not re.search(r"product\(id: \$id\) \{ stock \{ warehouse quantity", query) or not known(id_):
            return as_json({"data": None, "errors": [{"message": "unknown field or product"}]})
        rows = [{"warehouse": place, "quantity": count} for place, count in stock(id_).items()]
        return as_json({"data": {"product": {"stock": rows}}}, page=f"graphql/{id_}")

    def walked_again(self) -> int:
        """Pages before the cursors that were refused: whoever has lost one walks from the first page again."""
        return sum(self.refused)

    def expected(self) -> Any:
        everything = [id_ for category in CATEGORIES for id_ in ids(category)]
        return [["product", id_, detail(id_) | {"stock": stock(id_)}] for id_ in everything]


if __name__ == "__main__":
    serve(Api())
