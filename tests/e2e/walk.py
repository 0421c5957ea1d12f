"""A link walk by the standard library alone, to be compared with a crawl: `python walk.py URL` prints JSON.

Paths are below URL. `html`: path to (title, SHA-256); `other`: what is not HTML; `broken`: what was not found;
`moved`: what redirects.
"""

from __future__ import annotations

import hashlib
import json
import sys
from html.parser import HTMLParser
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote, unquote, urldefrag, urljoin, urlsplit
from urllib.request import HTTPRedirectHandler, build_opener


class _Stay(HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


_open = build_opener(_Stay).open


class _Links(HTMLParser):
    """The `href` of every anchor, and the text of the first title."""

    def __init__(self) -> None:
        super().__init__()
        self.hrefs: list[str] = []
        self.title = ""
        self._in_title = False
        self._had_title = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            self.hrefs += [value for name, value in attrs if name == "href" and value is not None]
        self._in_title = tag == "title" and not self._had_title

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "title":
            self._in_title, self._had_title = False, True


def one_spelling(url: str) -> str:
    """The URL's path and query with every percent-escape in one spelling."""
    parts = urlsplit(url)
    path = quote(unquote(parts.path), safe="/:@!$&'()*+,;=~")
    return path + ("?" + parts.query if parts.query else "")


def walk(first: str) -> dict[str, Any]:
    """Everything that can be reached from `first` on its own host."""
    host = urlsplit(first).netloc
    seen, todo = {one_spelling(first)}, [first]
    html: dict[str, tuple[str, str]] = {}
    found: dict[str, list[str]] = {"other": [], "broken": [], "moved": []}
    while todo:
        url = todo.pop()
        path = one_spelling(url)
        try:
            with _open(url) as answer:
                body, is_html = answer.read(), answer.headers.get_content_type() == "text/html"
        except HTTPError as error:
            error.close()
            found["moved" if error.code == 301 else "broken"].append(path)
            hrefs = [error.headers["Location"]] if error.code == 301 else []
        else:
            hrefs = _read(body, path, html) if is_html else []
            if not is_html:
                found["other"].append(path)
        for href in hrefs:
            target = urldefrag(urljoin(url, href.strip())).url
            parts = urlsplit(target)
            if (
                parts.scheme in ("http", "https")
                and parts.netloc == host
                and one_spelling(target) not in seen
            ):
                seen.add(one_spelling(target))
                todo.append(target)
    return {"html": html} | {name: sorted(paths) for name, paths in found.items()}


def _read(body: bytes, path: str, html: dict[str, tuple[str, str]]) -> list[str]:
    reader = _Links()
    reader.feed(body.decode())
    html[path] = (" ".join(reader.title.split()), hashlib.sha256(body).hexdigest())
    return reader.hrefs


if __name__ == "__main__":
    json.dump(walk(sys.argv[1]), sys.stdout)
