"""Numbers, prices and dates out of text, for handlers that have the text already (JSON, for one).

    from limpet import values
    Record("product", item["id"], {"price": values.price(item["price"], currency="EUR")})

Like `page.number`, `page.price` and `page.date` they never guess; a number that is one already is taken as it is. What
cannot be read comes back as an `Unreadable`, which rejects the record it is put in and no other.
`values.numbers.number`, `values.prices.price` and `values.dates.date` raise `NotRead`, a ValueError, instead; raised in
a handler it would fail the page.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, TypeVar

from limpet.values import dates, numbers, prices
from limpet.values.dates import Order
from limpet.values.numbers import DecimalSign
from limpet.values.plain import NotRead
from limpet.values.prices import Price
from limpet.values.unreadable import Unreadable

__all__ = ["DecimalSign", "NotRead", "Order", "Price", "Unreadable", "date", "number", "price"]

T = TypeVar("T")


def number(text: str | float, *, decimal: DecimalSign | None = None) -> int | float:
    """`numbers.number`, an `Unreadable` where that raises NotRead."""
    return _spoiling(lambda: numbers.number(*_written(text, decimal)))


def price(text: str | float, *, decimal: DecimalSign | None = None, currency: str | None = None) -> Price:
    """`prices.price`, an `Unreadable` where that raises NotRead."""
    return _spoiling(lambda: prices.price(*_written(text, decimal), currency))


def date(
    text: str,
    *,
    format: str | None = None,
    order: Order | None = None,
    languages: Sequence[str] | None = None,
    timezone: str | None = None,
) -> str:
    """`dates.date`, an `Unreadable` where that raises NotRead."""
    return _spoiling(
        lambda: dates.date(text, format=format, order=order, languages=languages, timezone=timezone)
    )


def _written(given: Any, decimal: DecimalSign | None) -> tuple[Any, DecimalSign | None]:
    """A number of JSON's as it would be written, with its decimal sign; text as it is."""
    if isinstance(given, (int, float)) and not isinstance(given, bool):
        return format(Decimal(str(given)), "f"), "."
    return given, decimal


def _spoiling(read: Callable[[], T]) -> T:
    try:
        return read()
    except NotRead as error:
        return Unreadable("", error.text, error.reason)  # type: ignore[return-value]
