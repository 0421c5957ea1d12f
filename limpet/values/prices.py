"""Prices: an amount of money and its currency."""

from __future__ import annotations

import re
from decimal import Decimal

from limpet.values import currencies
from limpet.values.numbers import DecimalSign, split
from limpet.values.plain import NotRead

_NO_CENTS = re.compile(r"[.,][-–—]{1,2}")  # "5.-" and "5,–" are 5 and nothing
_SHOWN = 40


class Price(dict[str, str | None]):
    """`{"amount": "1299.00", "currency": "EUR"}`, which is how a record stores it.

    `amount` has the digits that were shown, since no float holds 0.1. `currency` is the ISO 4217 code where the
    page leaves no doubt, else the sign as shown (`"$"`, `"kr"`), or None without any.
    """

    def __init__(self, amount: Decimal, currency: str | None) -> None:
        super().__init__(amount=format(amount, "f"), currency=currency)

    @property
    def amount(self) -> Decimal:
        """The amount to compute with. A record stores what comes of it as a string of its digits."""
        return Decimal(self["amount"] or 0)

    @property
    def currency(self) -> str | None:
        """The ISO 4217 code, or the sign that stands for several."""
        return self["currency"]


def price(text: str, decimal: DecimalSign | None = None, currency: str | None = None) -> Price:
    """The one price that `text` consists of.

    `currency` (an ISO 4217 code) says what a price without a sign is in, and which of several a sign like `$`
    means; a page that shows another one is believed. Raises NotRead for anything but an amount and its currency:
    a range, "from", "Free", "99¢", "5 €/kg", and the doubtful numbers of `numbers.number`.
    """
    if currency is not None and currency not in currencies.CODES:
        raise ValueError(f"currency={currency!r}: not an ISO 4217 code")
    before, amount, after = split(text, decimal)
    before, sign = _sign(before.strip())
    no_cents = _NO_CENTS.match(after)
    signs = [
        word for word in (before, after[no_cents.end() :].strip() if no_cents else after.strip()) if word
    ]
    if sign == "-" and amount:
        amount = amount.copy_negate()
    return Price(amount, _currency(text, signs, currency))


def _sign(before: str) -> tuple[str, str]:
    """`before` without the sign at its beginning or end, and that sign."""
    for sign in "-+":
        if before.endswith(sign):
            return before[:-1].strip(), sign
        if before.startswith(sign):
            return before[1:].strip(), sign
    return before, ""


def _currency(text: str, signs: list[str], expected: str | None) -> str | None:
    if not signs:
        return expected
    candidates = [currencies.meanings(sign) for sign in signs]
    for sign, codes in zip(signs, candidates, strict=True):
        if sign in currencies.CENTS:
            raise NotRead(text, f"{sign!r}: an amount in cents")
        if not codes:
            raise NotRead(text, f"{sign[:_SHOWN]!r} besides the amount is no currency")
    codes = frozenset.intersection(*candidates)
    if not codes:
        raise NotRead(text, f"two currencies: {signs[0]!r} and {signs[1]!r}")
    if expected in codes:
        return expected
    return next(iter(codes)) if len(codes) == 1 else _doubtful(text, signs, expected)


def _doubtful(text: str, signs: list[str], expected: str | None) -> str:
    if expected is not None:
        raise NotRead(text, f"{signs[0]!r} does not mean {expected}, and may mean several others")
    return signs[0]
