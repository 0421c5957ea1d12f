"""A documentation tree: every HTML page that links reach becomes a record. DOCS_URL says where it starts."""

import hashlib
import os

from limpet import Page, Record, Site

site = Site(
    "docs-tree",
    seeds=[os.environ.get("DOCS_URL", "http://127.0.0.1:8000/")],
    allow_private=True,  # it runs on this machine
)


@site.page("/{path:path}")
def document(page: Page):
    if not page.is_html:  # images, archives, text: fetched and counted, but no record
        return
    data = {"title": page.one("title", None), "sha256": hashlib.sha256(page.body).hexdigest()}
    yield Record("page", key=page.url, data=data)
    # Links that leave the hosts of the seeds are counted as out of scope and not followed.
    yield from page.links()
