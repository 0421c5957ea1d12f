"""A declared site in every command, against the demo shop: worker processes find the same file."""

import json

import pytest
from front_helpers import limpet

from limpet.demo.shop import Shop, ShopServer
from limpet.finding import site_here, sites_in

SITE = """[site]
name = "shop"
seeds = ["{seed}"]
allow_private = true

[[page]]
name = "listing"
pattern = "/list/{{n}}"
follow = ["a[rel=next]", {{ css = "li a", to = "product", data = {{ list = {{ param = "n" }} }} }}]

[[page]]
name = "product"
pattern = "/product/{{n:int}}"

[page.record]
type = "product"
key = "sku"

[page.record.fields]
sku = ".sku"
price = ".price"
list = {{ data = "list", optional = true }}
"""


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    with ShopServer(Shop(listings=2, products=6), log_path=tmp_path_factory.mktemp("shop") / "log") as server:
        yield server


@pytest.fixture
def site(shop, tmp_path):
    path = tmp_path / "shop.toml"
    path.write_text(SITE.format(seed=shop.first_page))
    return path


def exported(site):
    ran = limpet("export", site)
    assert ran.code == 0, ran.err
    return {record["key"]: record["data"] for record in map(json.loads, ran.out.splitlines())}


def wanted(shop):
    return {
        sku: {"sku": sku, "price": product["price"], "list": str(n * 2 // 6)}
        for n, (sku, product) in enumerate(shop.expected().items())
    }


def test_it_is_crawled_by_worker_processes_and_known_to_every_command(site, shop):
    assert limpet("crawl", site, "--workers", 2).code == 0
    assert exported(site) == wanted(shop)
    status = json.loads(limpet("status", site, "--json").out)
    assert (status["records"], status["pages"]["done"]) == (6, 8)
    assert limpet("status", cwd=site.parent).said[0] == "status of shop.toml"
    assert limpet("verify", site).code == 0
    assert "product" in limpet("show", site, f"{shop.url}/product/3").out
    assert "handlers: listing, product" in limpet("doctor", site).out


def test_a_sample_leaves_out_products_and_no_listing(tmp_path):
    with ShopServer(Shop(listings=4, products=40), log_path=tmp_path / "log") as server:
        site = tmp_path / "shop.toml"
        site.write_text(SITE.format(seed=server.first_page))
        limpet("crawl", site, "--workers", 1, "--sample", "1%")
        states = json.loads(limpet("status", site, "--json").out)["pages"]
        assert "done" in limpet("show", site, f"{server.url}/list/3").out, "the last listing is reached"
    assert states["held"] > 20


def test_a_page_may_be_enqueued_to_a_handler_and_consumed(site, shop):
    assert limpet("enqueue", site, "--to", "product", f"{shop.url}/product/5").code == 0
    assert limpet("consume", site, "--until-done", "--workers", 1).code == 0
    (found,) = exported(site).values()
    assert found == {**list(wanted(shop).values())[5], "list": None}


def test_a_page_is_tried_saved_and_checked(site, shop):
    saved = site.parent / "pages"
    tried = limpet("try", site, f"{shop.url}/product/1", "--save", saved)
    assert (tried.code, "product LP-00001" in tried.out) == (0, True)
    assert limpet("check", site, saved).code == 0
    site.write_text(site.read_text().replace('price = ".price"', 'price = ".prize"'))
    assert limpet("check", site, saved).code == 1
    missed = limpet("try", site, f"{shop.url}/product/1")
    assert missed.code == 3
    assert ".prize" in missed.out
    assert "did you mean" in missed.out or ".price" in missed.out


def test_a_changed_table_is_noticed_and_a_changed_layout_is_not(site, shop):
    assert limpet("crawl", site, "--workers", 1).code == 0
    site.write_text(
        "# a comment\n" + site.read_text().replace('price = ".price"', 'price = { css = ".price" }')
    )
    assert "have changed since" not in limpet("crawl", site, "--workers", 1).err
    site.write_text(site.read_text().replace('{ css = ".price" }', '{ css = ".price", type = "number" }'))
    assert (
        "6 pages were read by handlers that have changed since" in limpet("crawl", site, "--workers", 1).err
    )
    assert limpet("crawl", site, "--workers", 1, "--refresh").code == 0
    assert {type(record["price"]) for record in exported(site).values()} == {float}


def test_a_mistake_is_wrong_use(site):
    site.write_text(
        site.read_text().replace("/product/{n:int}", "product").replace('key = "sku"', 'key = "skv"')
    )
    ran = limpet("crawl", site)
    assert ran.code == 2
    assert "shop.toml: page 'product': pattern 'product': must begin" in ran.err
    assert "shop.toml: page 'product', record: key 'skv' is no field; did you mean 'sku'?" in ran.err


def test_only_what_declares_a_site_is_taken_for_one(site):
    (site.parent / "pyproject.toml").write_text('[project]\nname = "x"\n')
    (site.parent / "broken.toml").write_text("[site")
    (site.parent / "site.toml").write_text("site = 5")
    (site.parent / "one.py").write_text('from limpet import Site\nsite = Site("one", ["http://h/"])\n')
    assert sites_in(site.parent) == [(site.parent / "one.py", "one"), (site, "shop")]
    (site.parent / "one.py").unlink()
    assert site_here(site.parent) == site
