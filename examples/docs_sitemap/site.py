"""A documentation site by its sitemaps: every page that they list is a record, and so is each of its sections.

DOCS_URL says where it is. In a later round (`limpet crawl --refresh`, or `--every 24h`) the sitemaps are read again,
and of the pages those alone whose `lastmod` has changed. That is for sites whose lastmod can be trusted.
"""

import os

from limpet import Page, Record, Site

DOCS = os.environ.get("DOCS_URL", "http://127.0.0.1:8000")

site = Site(
    "docs",
    sitemaps=[f"{DOCS}/sitemap.xml"],  # an index is followed to its sitemaps, packed ones too
    lastmod=True,
    allow_private=True,
)


# Of what the sitemaps list, pages that no pattern fits (a blog, for one) are left out.
@site.page("/docs/{path:path}")
def document(page: Page):
    path = page.params["path"]
    yield Record(
        "page",
        key=path,
        data={"title": page.one("h1"), "breadcrumbs": page.all(".breadcrumbs li")},
    )
    for section in page.css("section[id]"):
        yield Record(
            "section",
            key=[path, page.one("::attr(id)", of=section)],
            data={"heading": page.one("h2", of=section), "text": page.one("p", of=section)},
        )
