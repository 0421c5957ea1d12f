"""Proxies, authorities and secrets, as commands take them and tell of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from e2e.helpers import Crawl
from front_helpers import limpet
from small_proxy import proxy
from small_site import small_site

from limpet import Site, SiteError, UsageError, settings

SITE = """
from limpet import Page, Record, Site, secret

site = Site("way", ["{url}/"], robots=False, {more})


@site.page("/")
def page(page: Page):
    yield Record("thing", "1", {{"name": page.one("h1")}})
"""
WORD = "proxy-pass-word"


def load(**environ: str) -> settings.Settings:
    return settings.load("shop", environ={f"LIMPET_{name}": value for name, value in environ.items()})


def test_a_proxy_and_a_bundle_are_read_and_a_bad_one_is_not_quoted(tmp_path: Path) -> None:
    bundle = tmp_path / "bundle.pem"
    bundle.touch()
    found = load(PROXY="http://me:x@proxy:3128", CA_BUNDLE=str(bundle))
    assert (found.proxy, found.ca_bundle) == ("http://me:x@proxy:3128", bundle)
    for wrong in (
        f"me:{WORD}@proxy:3128",
        f"socks5://me:{WORD}@proxy",
        "http://",
        f"http://me:{WORD}@proxy:x",
    ):
        with pytest.raises(UsageError, match="environment LIMPET_PROXY: not the URL of a proxy") as error:
            load(PROXY=wrong)
        assert WORD not in str(error.value)
    with pytest.raises(UsageError, match=r"LIMPET_CA_BUNDLE: /no/such.pem: no such file of certificates"):
        load(CA_BUNDLE="/no/such.pem")


def test_doctor_shows_the_proxy_without_its_password(tmp_path: Path) -> None:
    ran = limpet("doctor", cwd=tmp_path, env={"LIMPET_PROXY": f"http://me:{WORD}@127.0.0.1:3128"})
    assert "http://me:***@127.0.0.1:3128" in ran.out
    assert WORD not in ran.out + ran.err


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"cookies": ["a"]}, "cookies: a dict, not a list"),
        ({"cookies": {"a b": "c"}}, "cookie 'a b': a name"),
        ({"cookies": {"a": "b; c"}}, "cookie 'a': a name, and ASCII without"),
        ({"cookies": {"a": 1}}, "cookie 'a'"),
        ({"proxy": f"proxy:{WORD}"}, "proxy: not the URL of a proxy"),
        ({"session": 1}, "session: a function that makes one, not int"),
    ],
)
def test_a_site_says_what_is_wrong(given: dict[str, Any], words: str) -> None:
    with pytest.raises(SiteError, match=words) as error:
        Site("way", ["http://way.example/"], **given)
    assert WORD not in str(error.value)


def test_a_site_has_one_login_and_it_is_a_plain_function() -> None:
    site = Site("way", ["http://way.example/"])
    usual = site.knobs.slice

    async def waits(session: Any) -> None: ...

    for decorator in (site.login, site.logged_out):
        with pytest.raises(SiteError, match=r"@site\.log.*: a plain function"):
            decorator(waits)
        decorator(lambda given: None)
        with pytest.raises(SiteError, match=r"a second @site\.log"):
            decorator(lambda given: None)
    assert site.knobs.slice > usual, "a slice begins with a login"


@pytest.mark.parametrize(
    "more",
    ['headers={"X-Key": secret("NO_SUCH")}', 'cookies={"a": secret("NO_SUCH")}', 'proxy=secret("NO_SUCH")'],
)
def test_a_secret_that_every_request_needs_is_missed_before_anything_begins(
    tmp_path: Path, more: str
) -> None:
    path = tmp_path / "way.py"
    path.write_text(SITE.format(url="http://way.example", more=more))
    ran = limpet("crawl", path)
    assert ran.code == 2
    assert "the secret NO_SUCH is not there: set NO_SUCH, or NO_SUCH_FILE" in ran.err
    assert "Traceback" not in ran.err
    assert not (tmp_path / ".limpet").exists()


@pytest.mark.parametrize("command", ["crawl", "try"])
@pytest.mark.parametrize(
    ("more", "what"),
    [('headers={"X-Key": secret("K")}', "header X-Key"), ('cookies={"a": secret("K")}', "cookie a")],
)
def test_a_secret_with_a_line_end_is_refused_before_anything_begins_and_never_shown(
    tmp_path: Path, command: str, more: str, what: str
) -> None:
    path = tmp_path / "way.py"
    path.write_text(SITE.format(url="http://127.0.0.1:9", more=more))
    page = ["http://127.0.0.1:9/"] if command == "try" else []
    ran = limpet(command, path, *page, env={"K": f"{WORD}\n"})
    assert (ran.code, len(ran.said)) == (2, 1), ran.err
    assert f"{what}: its secret is not one line of ASCII" in ran.err
    assert WORD not in ran.out + ran.err
    assert not (tmp_path / ".limpet").exists()


def crawled(folder: Path, url: str, more: str = "", **environment: str) -> Crawl:
    return Crawl(folder, SITE.format(url=url, more=more), name="way", workers=1, environment=environment)


def leaks(crawl: Crawl) -> list[str]:
    files = [path for path in crawl.home.rglob("*") if path.is_file() and WORD.encode() in path.read_bytes()]
    return [str(path) for path in files] + (["said"] if WORD in crawl.said else [])


def test_a_crawl_goes_through_the_machines_proxy_or_the_sites_own(tmp_path: Path) -> None:
    with small_site({"/": "<h1>There</h1>"}) as there, proxy(password=WORD) as (url, log):
        known = url.replace("http://", f"http://me:{WORD}@")
        with crawled(tmp_path / "a", there.url, LIMPET_PROXY=known) as crawl:
            assert crawl.run() == 0, crawl.said
            assert leaks(crawl) == []
        with crawled(
            tmp_path / "b", there.url, 'proxy=secret("OWN")', OWN=known, LIMPET_PROXY="http://127.0.0.1:1"
        ) as crawl:
            assert crawl.run() == 0, crawl.said
            assert leaks(crawl) == []
    assert log == [f"GET {there.url}/"] * 2


def test_a_proxy_that_is_away_is_named_and_its_password_is_nowhere(tmp_path: Path) -> None:
    with (
        small_site({"/": "<h1>There</h1>"}) as there,
        crawled(tmp_path, there.url, LIMPET_PROXY=f"http://me:{WORD}@127.0.0.1:1") as crawl,
    ):
        assert crawl.run("--wait", "0.01") == 4, crawl.said
        assert "no connection through the proxy of LIMPET_PROXY: connection refused" in crawl.said
        assert leaks(crawl) == []
        assert there.asked == []
