"""Records that a class describes: what fits is stored in its types, what does not is rejected by its field."""

import datetime
import enum
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Literal, NotRequired, TypedDict

import msgspec
import pytest

from limpet import Record, Rejection, Site, SiteError
from limpet.load import load_site
from limpet.values import Price
from limpet_store.items import Fetched


def extracted(site, give):
    site.page("/")(give)
    site.codes()
    headers = {"content-type": "text/html"}
    return site.extract(Fetched("http://h/", 200, headers, b"<b>5</b>", handler=give.__name__))


def shop():
    return Site("shop", ["http://h/"])


class Condition(enum.Enum):
    NEW = "new"


@dataclass
class Seller:
    name: str
    stars: float = 0


@dataclass
class Product:
    sku: str
    price: Decimal
    stock: int | None = None
    condition: Condition = Condition.NEW
    since: datetime.date | None = None
    seller: Seller | None = None
    tags: list[str] = ()
    rating: Annotated[float, msgspec.Meta(ge=0, le=5)] = 0


def products(**options):
    site = shop()
    site.record("product", key="sku", **options)(Product)
    return site


def one(site, give):
    """The only record or rejection that `give` leads to."""
    found = extracted(site, give)
    (only,) = [*found.records, *found.rejections]
    return only


def test_an_instance_is_a_record_in_the_types_of_its_fields():
    def give(page):
        yield Product(
            "S-1", Decimal("12.50"), 3, since=datetime.date(2025, 1, 2), seller=Seller("Ann", 5), tags=["a"]
        )

    assert one(products(schema=2, volatile=["stock"], requires=["stock"]), give) == Record(
        "product",
        "S-1",
        {
            "sku": "S-1",
            "price": "12.50",
            "stock": 3,
            "condition": "new",
            "since": "2025-01-02",
            "seller": {"name": "Ann", "stars": 5.0},
            "tags": ["a"],
            "rating": 0.0,
        },
        requires=("stock",),
        volatile=("stock",),
        schema=2,
    )


def test_a_record_of_the_type_is_held_against_the_class_too():
    def give(page):
        yield Record("product", data={"sku": "S-1", "price": 12})

    assert one(products(), give) == Record("product", "S-1", {"sku": "S-1", "price": "12"})


@pytest.mark.parametrize(
    ("data", "field", "reason"),
    [
        ({"price": 1}, "sku", "missing"),
        ({"sku": "1"}, "price", "missing"),
        ({"sku": 1, "price": 1}, "sku", "Expected str, got int"),
        ({"sku": "1", "price": "x"}, "price", "Invalid decimal string"),
        ({"sku": "1", "price": 1, "stock": "5"}, "stock", "Expected int | null, got str"),
        ({"sku": "1", "price": 1, "stock": True}, "stock", "Expected int | null, got bool"),
        ({"sku": "1", "price": 1, "condition": "old"}, "condition", "Invalid enum value 'old'"),
        ({"sku": "1", "price": 1, "seller": {"stars": 1}}, "seller", "Object missing required field name"),
        ({"sku": "1", "price": 1, "tags": ["a", 1]}, "tags", "Expected str, got int - at $[1]"),
        ({"sku": "1", "price": 1, "rating": 6}, "rating", "Expected float <= 5.0"),
        ({"sku": "1", "price": 1, "colour": "red"}, "colour", "Product has no such field"),
        ({"sku": "1", "price": "x", "stock": "y"}, "price", "Invalid decimal string (wrong too: stock)"),
        ({"sku": "1", "price": float("nan")}, "price", "data.price: nan is not JSON"),
        ({"sku": " ", "price": 1}, "key", "key: empty"),
        ({"sku": "NaN", "price": 1}, "key", "key: 'NaN' is what a missing value looks like"),
    ],
)
def test_what_does_not_fit_is_rejected_by_its_field(data, field, reason):
    def give(page):
        yield Record("product", data=data)

    found = one(products(), give)
    assert isinstance(found, Rejection)
    assert (found.type, found.field, found.reason) == ("product", field, reason)


def test_a_rejection_says_which_record_it_was():
    def give(page):
        yield Product("S-1", "cheap")
        yield Product("S-2", page.one(".price"))

    found = extracted(products(), give)
    assert [(each.key, each.field, each.value) for each in found.rejections] == [
        ("S-1", "price", "cheap"),
        ("S-2", "price", ""),
    ]


def test_a_typed_dict_says_which_fields_a_record_must_have():
    class Offer(TypedDict):
        shop: str
        price: float
        kind: NotRequired[Literal["new", "used"]]

    site = shop()
    site.record("offer", key="shop")(Offer)

    def give(page):
        yield Record("offer", data=Offer(shop="a", price=1))
        yield Record("offer", data=Offer(shop="b"))
        yield Record("offer", data=Offer(shop="c", price=1, kind="old"))

    found = extracted(site, give)
    assert found.records == [Record("offer", "a", {"shop": "a", "price": 1.0})]
    assert [(each.key, each.field) for each in found.rejections] == [("b", "price"), ("c", "kind")]


def priced(price):
    site = Site("shop", hosts=["h"])

    @site.record("offer", key="sku")
    @dataclass
    class Offer:
        sku: str
        price: Price | None

    def give(page):
        yield Record("offer", data={"sku": "S-1", "price": price})

    return one(site, give)


@pytest.mark.parametrize("price", [Price(Decimal("12.50"), "EUR"), Price(Decimal("3"), None), None])
def test_a_field_may_be_a_price(price):
    assert priced(price) == Record("offer", "S-1", {"sku": "S-1", "price": price and dict(price)})


@pytest.mark.parametrize(
    ("price", "reason"),
    [
        ("12.50", "Expected Price, got str"),
        ({"amount": "12.50"}, "Expected Price, got dict"),
        ({"amount": "much", "currency": "EUR"}, "Invalid decimal string"),
        ({"amount": "1", "currency": 978}, "Expected str | null, got int"),
    ],
)
def test_what_is_no_price_is_rejected_where_one_belongs(price, reason):
    found = priced(price)
    assert (found.field, found.reason) == ("price", reason)


def test_a_variant_has_several_fields_as_its_key():
    class Variant(TypedDict):
        sku: str
        size: int
        colour: str

    site = shop()
    site.record("variant", key=["sku", "size"])(Variant)

    def give(page):
        yield Record("variant", data={"sku": "7", "size": 42, "colour": "red"})

    assert one(site, give).key == ["7", 42]

    def spoiled(page):
        yield Record("variant", data={"sku": "7", "size": 42, "colour": 0xFF0000})

    assert one(site, spoiled).key == '["7",42]', "as the store has it, and `limpet show` takes it"


def test_a_part_is_held_against_the_whole_and_may_lack_fields():
    def give(page):
        yield Record("product", "S-1", {"stock": 5}, part="stock")
        yield Record("product", "S-1", {"stock": "many"}, part="stock")

    found = extracted(products(), give)
    assert found.records == [Record("product", "S-1", {"stock": 5}, part="stock")]
    assert [each.field for each in found.rejections] == ["stock"]


def test_a_part_with_a_shape_of_its_own_is_whole_by_that():
    site = products()

    @site.record("product", key="sku", part="stock")
    @dataclass
    class Stock:
        sku: str
        stock: int

    def give(page):
        yield Stock("S-1", 5)
        yield Record("product", data={"sku": "S-2"}, part="stock")

    found = extracted(site, give)
    assert found.records == [Record("product", "S-1", {"sku": "S-1", "stock": 5}, part="stock")]
    assert [(each.key, each.field) for each in found.rejections] == [("S-2", "stock")]


def test_a_record_of_a_type_without_a_shape_is_left_as_it_is():
    def give(page):
        yield Record("seller", 7, {"since": datetime.date(2025, 1, 2), "rate": Decimal("1.10")})

    assert one(products(), give) == Record("seller", 7, {"since": "2025-01-02", "rate": "1.10"})


def pydantic_site():
    pydantic = pytest.importorskip("pydantic")
    site = shop()

    @site.record("person", key="id", schema=3)
    class Person(pydantic.BaseModel):
        id: int
        born: datetime.date

    return site, Person


def test_a_pydantic_model_is_stored_as_it_dumps_itself():
    site, person = pydantic_site()

    def give(page):
        yield person(id=5, born="2001-02-03")
        yield Record("person", data={"id": "6", "born": "2001-02-03"})

    assert extracted(site, give).records == [
        Record("person", 5, {"id": 5, "born": "2001-02-03"}, schema=3),
        Record("person", 6, {"id": 6, "born": "2001-02-03"}, schema=3),
    ]


def test_a_pydantic_model_that_refuses_its_values_rejects_the_record():
    site, person = pydantic_site()

    def give(page):
        yield Record("person", data={"id": 1, "born": "some day"})
        yield person(id="x", born="2001-02-03")

    found = extracted(site, give)
    assert found.records == []
    assert [(each.type, each.key, each.field, each.value) for each in found.rejections] == [
        ("person", "1", "born", "some day"),
        ("person", "", "id", "x"),
    ]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"key": "id"}, "key 'id' is no field of Product"),
        ({"key": ["sku", "id"]}, "key 'id' is no field of Product"),
        ({"key": "sku", "volatile": ["seen"]}, "volatile 'seen' is no field of Product"),
    ],
)
def test_a_shape_that_names_a_field_there_is_not_is_a_mistake_in_the_site(options, words):
    site = shop()
    site.record("product", **options)(Product)
    with pytest.raises(SiteError, match=words):
        site.codes()


def test_a_type_is_described_once_and_by_a_class_with_fields():
    site = products()
    with pytest.raises(SiteError, match="record 'product': described twice"):
        site.record("product")(Seller)
    site.record("other")(int)
    with pytest.raises(SiteError, match="a dataclass, a TypedDict or a pydantic model is needed"):
        site.codes()
    with pytest.raises(SiteError, match="schema 0"):
        site.record("third", schema=0)


SITE = """
from __future__ import annotations
from dataclasses import dataclass
from limpet import Page, Record, Site

site = Site("shop", ["http://h/"])

@site.record("product", key="sku", schema={schema})
@dataclass
class Product:
    sku: str
    {more}

@site.page("/")
def product(page: Page):
    yield Record("product", data={{"sku": "1"}})

@site.page("/other")
def other(page: Page):
    yield Record("other", "1")
"""


def test_a_new_shape_is_new_code_for_the_handlers_of_its_records(tmp_path):
    def codes(**options):
        path = tmp_path / "shop.py"
        path.write_text(SITE.format(**{"schema": 1, "more": "price: int = 0"} | options))
        return load_site(path).codes()

    first = codes()
    assert codes() == first
    for changed in (codes(schema=2), codes(more="price: str = ''"), codes(more="stock: int = 0")):
        assert changed["product"] != first["product"]
        assert changed["other"] == first["other"]
