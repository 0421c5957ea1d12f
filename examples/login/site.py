"""A club whose prices are for members: a login by form, and sessions that end when the club likes.

CLUB_URL says where the club is. The password is read from CLUB_PASSWORD, or from the file that CLUB_PASSWORD_FILE
names. Each worker logs in for itself, one after the other, and again when a page shows that it is logged out; such a
page is never taken for what it should have been. After three logins that fail in a row nobody knocks any more.
"""

import os
from dataclasses import dataclass

from parsel import Selector

from limpet import Page, Site, secret
from limpet.values import Price

CLUB = os.environ.get("CLUB_URL", "http://127.0.0.1:8000")

site = Site("club", seeds=[f"{CLUB}/offers"], allow_private=True)


@site.login
def login(session):
    # A requests.Session of this worker's own, which keeps the cookies. The form's token goes back with it.
    form = Selector(session.get(f"{CLUB}/login").text)
    fields = {
        "csrf": form.css("[name=csrf]::attr(value)").get(),
        "name": "ann",
        "password": secret("CLUB_PASSWORD").reveal(),
    }
    return "Log out" in session.post(f"{CLUB}/login", data=fields).text  # False: it has failed


@site.logged_out
def logged_out(page: Page):
    # Lists send strangers to the form; an offer is there for them too, but for its price.
    return "/login" in page.headers.get("location", "") or bool(page.css(".members"))


@site.record("offer", key="lot")
@dataclass
class Offer:
    lot: str
    title: str
    price: Price


@site.page("/offers")
def offers(page: Page):
    yield from page.links("a[rel=next]")
    yield from page.links(".offers a")


@site.page("/offer/{n}")
def offer(page: Page):
    yield Offer(page.one(".lot"), page.one("h1"), page.price(".price"))
