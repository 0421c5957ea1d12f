"""A JSON API: a POST search in pages, details that want a token, and stock by GraphQL.

API_URL says where it is. The token is read from CATALOGUE_TOKEN, or from the file that CATALOGUE_TOKEN_FILE names;
it is looked up when a request is sent, and neither stored nor shown.
"""

import os
from dataclasses import dataclass
from datetime import datetime

from limpet import Page, Site, request, secret
from limpet.values import Price

API = os.environ.get("API_URL", "http://127.0.0.1:8000")
TOKEN = {"Authorization": "Bearer " + secret("CATALOGUE_TOKEN")}
STOCK = "query Stock($id: ID!) { product(id: $id) { stock { warehouse quantity } } }"


def first_page(category: str):
    # safe=True says that this POST only reads: after a crash it may be sent a second time.
    data = {"category": category, "place": 0}
    return request(f"{API}/api/search", json={"category": category}, data=data, safe=True)


site = Site("json-api", seeds=map(first_page, ["tea", "pots"]), allow_private=True)


@site.record("product", key="id", part="detail", requires=["detail", "stock"])
@dataclass
class Product:
    id: str
    name: str
    price: Price
    added: datetime
    tags: list[str]


@site.record("product", key="id", part="stock", requires=["detail", "stock"])
@dataclass
class Stock:
    id: str
    stock: dict[str, int]  # by warehouse


@site.page("/api/search")
def search(page: Page):
    for found in page.pick("results"):
        id = page.pick("id", of=found)
        yield page.request(f"/api/products/{id}", headers=TOKEN)
        yield page.graphql("/graphql", STOCK, {"id": id}, headers=TOKEN, data=id)
    cursor = page.pick("next", None)
    if cursor:
        # The cursor will have expired by tomorrow, or sooner; the place in the list is what lasts.
        category, place = page.data["category"], page.data["place"] + 1
        again = {"json": {"category": category, "cursor": cursor}, "safe": True}
        yield page.follow("", key=f"{category}/{place}", data={"category": category, "place": place}, **again)


@site.page("/api/products/{id}")
def product(page: Page):
    # A key that is missing one day rejects this record; the one of before stands.
    yield Product(**{name: page.pick(name) for name in ("id", "name", "price", "added", "tags")})


@site.page("/graphql")
def stock(page: Page):
    # result() tries an answer with errors again, though its status is 200.
    rows = page.pick("product.stock", of=page.result())
    yield Stock(page.data, {row["warehouse"]: row["quantity"] for row in rows})
