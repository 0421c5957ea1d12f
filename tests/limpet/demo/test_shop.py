"""The demo shop: what it shows, and what it witnesses."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
import requests
from lxml import html

from limpet.demo.shop import Shop, ShopServer, read_log


def fetch(url: str) -> html.HtmlElement:
    return html.document_fromstring(requests.get(url, timeout=10).content)


def shown(shop: ShopServer, n: int) -> dict[str, str | None]:
    page = fetch(f"{shop.url}/product/{n}")
    return {name: page.findtext(f".//*[@class='{name}']") for name in ("sku", "name", "price")}


def test_every_product_is_linked_from_exactly_one_listing() -> None:
    shop = Shop(listings=7, products=45)
    pages = [shop.page(f"/list/{n}") for n in range(7)]
    linked = [
        href for page in pages if page for href in html.document_fromstring(page[1]).xpath("//li/a/@href")
    ]
    assert linked == [f"/product/{n}" for n in range(45)]


def test_the_listings_are_a_chain_from_the_first_to_the_last(shop: ShopServer) -> None:
    seen, url = [], shop.first_page
    while url:
        seen.append(url.removeprefix(shop.url))
        following = fetch(url).xpath("//a[@rel='next']/@href")
        url = shop.url + following[0] if following else ""
    assert seen == ["/list/0", "/list/1", "/list/2"]


def test_a_full_crawl_of_the_demo_is_525_requests() -> None:
    assert Shop().pages == 525


def test_a_product_page_shows_what_a_correct_crawl_is_expected_to_hold(shop: ShopServer) -> None:
    expected = shop.expected()
    assert len(expected) == 10
    for n in range(10):
        values = shown(shop, n)
        assert expected[str(values["sku"])] == {
            "name": values["name"],
            "price": values["price"],
            "url": f"{shop.url}/product/{n}",
        }


def test_only_the_prices_that_are_changed_change(shop: ShopServer) -> None:
    before = shop.expected()
    shop.change_prices([2, 5])
    after = shop.expected()
    assert [sku for sku in before if before[sku] != after[sku]] == ["LP-00002", "LP-00005"]
    assert [shown(shop, n)["price"] for n in range(10)] == [values["price"] for values in after.values()]


def test_no_price_is_the_same_as_the_one_before() -> None:
    shop = Shop()
    for _ in range(50):
        before = [shop.values(n)["price"] for n in range(500)]
        shop.change_prices(range(500))
        assert all(shop.values(n)["price"] != price for n, price in enumerate(before))


def test_a_shop_that_is_opened_again_at_its_port_shows_the_same_prices(tmp_path: Path) -> None:
    with ShopServer(Shop(1, 5), log_path=tmp_path / "log") as first:
        first.change_prices([3])
        expected = first.expected()
    with ShopServer(first.shop, log_path=tmp_path / "log", port=first.port) as again:
        assert shown(again, 3)["price"] == expected["LP-00003"]["price"]
        assert again.expected() == expected


@pytest.mark.parametrize("path", ["/list/3", "/product/10", "/product/x", "/product/-1", "/product/²"])
def test_what_the_shop_does_not_have_is_not_found(shop: ShopServer, path: str) -> None:
    assert requests.get(shop.url + path, timeout=10).status_code == 404


def test_robots_may_visit_everything(shop: ShopServer) -> None:
    assert requests.get(f"{shop.url}/robots.txt", timeout=10).text == "User-agent: *\nAllow: /\n"


def test_the_log_holds_every_request_in_order_with_its_connection_and_answer(shop: ShopServer) -> None:
    with requests.Session() as session:
        for path in ("/list/0", "/product/1?from=list", "/nothing"):
            session.get(shop.url + path, timeout=10)
    requests.get(f"{shop.url}/list/0", timeout=10)
    log = shop.log()
    assert [(seen.path, seen.status) for seen in log] == [
        ("/list/0", 200),
        ("/product/1?from=list", 200),
        ("/nothing", 404),
        ("/list/0", 200),
    ]
    assert [seen.connection for seen in log] == [1, 1, 1, 2]
    assert sorted(seen.at for seen in log) == [seen.at for seen in log]


def test_a_request_is_in_the_log_before_it_is_answered(shop: ShopServer) -> None:
    shop.delay_answers(60)
    with socket.create_connection(("127.0.0.1", shop.port)) as client:
        client.sendall(b"GET /list/0 HTTP/1.1\r\nHost: shop\r\n\r\n")
        assert shop.wait_for_request(since=0).path == "/list/0"
        client.setblocking(False)
        with pytest.raises(BlockingIOError):
            client.recv(1)


def test_a_mark_separates_what_came_before_from_what_came_after(shop: ShopServer) -> None:
    requests.get(f"{shop.url}/list/0", timeout=10)
    mark = shop.mark()
    assert shop.requests_since(mark) == []
    requests.get(f"{shop.url}/list/1", timeout=10)
    assert shop.wait_for_request(mark).path == "/list/1"
    assert [seen.path for seen in shop.requests_since(mark)] == ["/list/1"]


def test_waiting_for_a_request_that_does_not_come_ends(shop: ShopServer) -> None:
    with pytest.raises(TimeoutError, match="no request reached"):
        shop.wait_for_request(shop.mark(), timeout=0.01)


def test_a_line_that_is_still_being_written_is_not_a_request(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("1.5\t1\t200\t/list/0\n2.5\t1\t20")
    assert [seen.path for seen in read_log(tmp_path / "log")] == ["/list/0"]


def test_a_shop_that_fails_answers_500_to_everything_until_it_is_mended(shop: ShopServer) -> None:
    def statuses() -> set[int]:
        paths = ("/robots.txt", "/list/0", "/product/1")
        return {requests.get(shop.url + path, timeout=10).status_code for path in paths}

    shop.fail()
    assert statuses() == {500}
    shop.fail(False)
    assert statuses() == {200}


def test_answers_that_are_held_back_come_whole_and_in_order(shop: ShopServer) -> None:
    shop.delay_answers(0.02)
    with socket.create_connection(("127.0.0.1", shop.port), timeout=10) as client:
        client.sendall(b"GET /robots.txt HTTP/1.1\r\n\r\nGET /nothing HTTP/1.1\r\nConnection: close\r\n\r\n")
        answers = b"".join(iter(lambda: client.recv(4096), b""))
    whole = rb"HTTP/1.1 200 OK\r\n.*\r\n\r\nUser-agent: \*\nAllow: /\nHTTP/1.1 404 .*\r\n\r\nno such page\n"
    assert re.fullmatch(whole, answers, re.DOTALL)


def test_a_client_that_vanishes_before_its_answer_harms_nobody(shop: ShopServer) -> None:
    shop.delay_answers(0.01)
    mark = shop.mark()
    for _ in range(20):
        with socket.create_connection(("127.0.0.1", shop.port)) as client:
            # Linger 0: closing sends a reset, as the kernel does for a killed process with unread data.
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            client.sendall(b"GET /list/0 HTTP/1.1\r\n\r\n")
            shop.wait_for_request(mark)
    assert requests.get(f"{shop.url}/list/0", timeout=10).status_code == 200


def test_a_request_that_would_change_something_is_refused(shop: ShopServer) -> None:
    assert requests.post(f"{shop.url}/list/0", data={"a": "b"}, timeout=10).status_code == 405


def test_a_port_that_is_taken_is_an_error_that_says_so(shop: ShopServer, tmp_path: Path) -> None:
    second = ShopServer(log_path=tmp_path / "second.log", port=shop.port)
    with pytest.raises(OSError, match="in use"):
        second.__enter__()


def test_the_shop_does_not_outlive_the_process_that_opened_it(tmp_path: Path) -> None:
    opening = (
        "import sys, time; from pathlib import Path; from limpet.demo.shop import ShopServer\n"
        "with ShopServer(log_path=Path(sys.argv[1])) as shop:\n"
        "    print(shop.pid, shop.port, flush=True); time.sleep(600)\n"
    )
    command = [sys.executable, "-c", opening, str(tmp_path / "log")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        pid, port = map(int, owner.stdout.readline().split())
        os.kill(owner.pid, signal.SIGKILL)
    deadline = time.monotonic() + 10
    while is_served(port):
        assert time.monotonic() < deadline, f"the shop, pid {pid}, is still there"
        time.sleep(0.005)


def is_served(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def test_who_comes_to_the_door_is_shown_in(tmp_path):
    with ShopServer(Shop(listings=2, products=2), log_path=tmp_path / "log") as shop:
        answer = requests.get(f"{shop.url}/", allow_redirects=False, timeout=10)
        assert (answer.status_code, answer.headers["Location"]) == (302, "/list/0")
        assert requests.get(f"{shop.url}/", timeout=10).url == shop.first_page
