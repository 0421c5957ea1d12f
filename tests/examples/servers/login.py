"""A buyers' club: prices are for members, and a session lasts for twenty pages.

The form has a token that goes with the visitor's cookie. Who is logged out is sent from lists to the form, and sees
the offers without their prices.
"""

from __future__ import annotations

import itertools
from typing import Any

from serving import NOWHERE, Answer, Asked, SiteOfOurs, html, moved, serve

OFFERS = 60
PER_PAGE = 12
LASTS = 20  # pages
NAME, PASSWORD = "ann", "open-sesame"


def cents(n: int) -> int:
    return 450 + n * 331 % 9000


class Club(SiteOfOurs):
    def __init__(self) -> None:
        self.names = itertools.count(1)
        self.tokens: dict[str, str] = {}  # visit -> the token in its form
        self.left: dict[str, int] = {}  # session -> pages that it lasts
        self.logins = self.strangers = 0

    def answer(self, asked: Asked) -> Answer:
        if asked.path == "/login":
            return self._log_in(asked) if asked.method == "POST" else self._form()
        if asked.path == "/":
            body = '<h1>Welcome</h1><a href="/offers">Offers</a> <a href="/logout">Log out</a>'
            return html("Club", body, page=f"welcome {next(self.names)}")  # a part of a login
        member = self._is_member(asked)
        kind, _, number = asked.path.strip("/").partition("/")
        if kind == "offers" and not number:
            return (
                self._list(int(asked.query.get("page", "1")))
                if member
                else self._out(moved("/login?next=/offers"))
            )
        if kind == "offer" and number.isdigit() and int(number) < OFFERS:
            return self._offer(int(number), member)
        return NOWHERE

    def _is_member(self, asked: Asked) -> bool:
        session = asked.cookies.get("session", "")
        left = self.left.get(session, 0)
        self.left[session] = left - 1
        return left > 0

    def _out(self, answer: Answer) -> Answer:
        """What a stranger gets is in the log as no page."""
        self.strangers += 1
        return Answer(answer.body, answer.status, answer.type, answer.headers, f"stranger {self.strangers}")

    def _form(self, words: str = "") -> Answer:
        visit, token = f"visit-{next(self.names)}", f"token-{next(self.names)}"
        self.tokens[visit] = token
        fields = (
            f'<input type="hidden" name="csrf" value="{token}"><input name="name"><input name="password">'
        )
        form = f'<form method="post" action="/login">{fields}</form>'
        cookie = {"Set-Cookie": f"visit={visit}; Path=/; HttpOnly"}
        return html("Log in", f"<h1>Log in</h1><p>{words}</p>{form}", headers=cookie, page=f"form {visit}")

    def _log_in(self, asked: Asked) -> Answer:
        form = asked.form
        token = self.tokens.pop(asked.cookies.get("visit", ""), None)
        if token is None or token != form.get("csrf"):
            return self._form("This form is no longer valid.")
        if (form.get("name"), form.get("password")) != (NAME, PASSWORD):
            return self._form("No such member.")
        self.logins += 1
        session = f"session-{next(self.names)}"
        self.left[session] = LASTS
        cookie = {"Set-Cookie": f"session={session}; Path=/; HttpOnly"}
        return moved("/", 303, headers=cookie, page=f"login {self.logins}")

    def _list(self, page: int) -> Answer:
        shown = range((page - 1) * PER_PAGE, min(OFFERS, page * PER_PAGE))
        items = "".join(f'<li><a href="/offer/{n}">Offer {n}</a></li>' for n in shown)
        following = f'<a rel="next" href="/offers?page={page + 1}">next</a>' if shown.stop < OFFERS else ""
        return html("Offers", f'<ul class="offers">{items}</ul>{following}')

    def _offer(self, n: int, member: bool) -> Answer:
        shown = (
            f'<p class="price">€{cents(n) / 100:.2f}</p>' if member else '<p class="members">For members</p>'
        )
        answer = html(f"Offer {n}", f'<h1>Offer {n}</h1><p class="lot">L-{n:03d}</p>{shown}')
        return answer if member else self._out(answer)

    def counts(self) -> dict[str, int]:
        return {"logins": self.logins, "strangers": self.strangers}

    def expected(self) -> Any:
        return [["offer", f"L-{n:03d}", self._data(n)] for n in range(OFFERS)]

    def _data(self, n: int) -> dict[str, Any]:
        price = {"amount": f"{cents(n) // 100}.{cents(n) % 100:02d}", "currency": "EUR"}
        return {"lot": f"L-{n:03d}", "title": f"Offer {n}", "price": price}


if __name__ == "__main__":
    serve(Club())
