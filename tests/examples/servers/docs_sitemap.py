"""A documentation site: an index of packed sitemaps, one for each part, and pages with breadcrumbs and sections.

The sitemaps list more than documentation: a blog, a page of another host, and one page that is not there any more.
"""

from __future__ import annotations

import gzip
from typing import Any

from serving import NOWHERE, Answer, Asked, SiteOfOurs, html, serve

PARTS = ("install", "guide", "reference", "recipes", "history")
PAGES = 56  # in each part
GONE = "guide/55"
FIRST, LATER = "2024-05-0{}T10:00:00+00:00", "2025-02-0{}T12:30:00+00:00"
WORDS = ["rock", "storm", "limpet", "tide", "shell", "foot", "rasp", "scar", "salt", "wave", "kelp", "pool"]


def names(part: str) -> list[str]:
    return [f"{part}/{n}" for n in range(PAGES)]


class Docs(SiteOfOurs):
    robots = "User-agent: *\nAllow: /\nSitemap: {url}/sitemap.xml\n"

    def __init__(self) -> None:
        self.changes: dict[str, int] = {}  # of the pages that had any
        self.pages = {part: names(part) for part in PARTS}

    def answer(self, asked: Asked) -> Answer:
        if asked.path == "/sitemap.xml":
            return self._index()
        kind, _, rest = asked.path.strip("/").partition("/")
        if kind == "sitemaps" and rest.removesuffix(".xml.gz") in PARTS:
            return self._sitemap(rest.removesuffix(".xml.gz"))
        name = rest.removesuffix(".html")
        known = kind == "docs" and name in self.pages.get(name.partition("/")[0], ()) and name != GONE
        return self._page(name) if known else NOWHERE

    def _index(self) -> Answer:
        maps = "".join(f"<sitemap><loc>{self.url}/sitemaps/{part}.xml.gz</loc></sitemap>\n" for part in PARTS)
        return Answer(f"{XML}<sitemapindex {NAMESPACE}>\n{maps}</sitemapindex>\n", type="application/xml")

    def _sitemap(self, part: str) -> Answer:
        listed = [(f"{self.url}/docs/{name}.html", self._lastmod(name)) for name in self.pages[part]]
        listed += [
            (f"{self.url}/blog/{part}", FIRST.format(1)),
            (f"http://docs.invalid/{part}", FIRST.format(1)),
        ]
        entries = "".join(f"<url><loc>{loc}</loc><lastmod>{when}</lastmod></url>\n" for loc, when in listed)
        text = f"{XML}<urlset {NAMESPACE}>\n{entries}</urlset>\n"
        return Answer(gzip.compress(text.encode(), mtime=0), type="application/gzip")

    def _lastmod(self, name: str) -> str:
        form = LATER if name in self.changes else FIRST
        return form.format(1 + int(name.partition("/")[2]) % 9)

    def _page(self, name: str) -> Answer:
        part = name.partition("/")[0]
        sections = "".join(
            f'<section id="{anchor}"><h2>{anchor.title()}</h2>\n<p>{text}</p></section>\n'
            for anchor, text in self._sections(name)
        )
        crumbs = f'<li><a href="/">Docs</a></li><li><a href="/docs/{part}/0.html">{part.title()}</a></li>'
        return html(
            f"{self._title(name)} - Docs",
            f'<ol class="breadcrumbs">{crumbs}</ol><main><h1>{self._title(name)}</h1>\n{sections}</main>',
        )

    def _title(self, name: str) -> str:
        return f"On {WORDS[len(name) % 12]} and {WORDS[sum(name.encode()) % 12]}"

    def _sections(self, name: str) -> list[tuple[str, str]]:
        seed = sum(name.encode())
        said = self.changes.get(name, 0)
        return [(WORDS[(seed + at) % 12], f"Of {WORDS[(seed + at + said) % 12]}, {name}.") for at in range(3)]

    def change(self, changed: list[str], new: list[str]) -> None:
        """These pages say something else from now on, and those are new; the sitemaps tell of both."""
        for name in changed:
            self.changes[name] = self.changes.get(name, 0) + 1
        for name in new:
            self.pages[name.partition("/")[0]].append(name)

    def expected(self) -> Any:
        everything = [name for part in PARTS for name in self.pages[part] if name != GONE]
        pages = [["page", f"{name}.html", self._data(name)] for name in everything]
        return pages + [
            ["section", [f"{name}.html", anchor], {"heading": anchor.title(), "text": text}]
            for name in everything
            for anchor, text in self._sections(name)
        ]

    def _data(self, name: str) -> dict[str, Any]:
        return {"title": self._title(name), "breadcrumbs": ["Docs", name.partition("/")[0].title()]}


XML = '<?xml version="1.0" encoding="UTF-8"?>\n'
NAMESPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'

if __name__ == "__main__":
    serve(Docs())
