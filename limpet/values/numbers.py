"""Numbers as people write them: `1,299.00`, `1.299,00`, `1 299,00`, `1'299.50`, `1,23,456`.

A wrong factor of 1000 is worse than no number, so that nothing here guesses: `1,234` is refused until somebody
says which sign is the decimal one.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Literal

from limpet.values.plain import NotRead, fold

DecimalSign = Literal[".", ","]
_MARKS = ".,' ٫٬"
_NUMERAL = re.compile(rf"[0-9]+(?:[{_MARKS}][0-9]+)*")
_THOUSANDS = re.compile(r"[1-9][0-9]{0,2}(?:\|[0-9]{3})+")
_LAKHS = re.compile(r"[1-9][0-9]?(?:\|[0-9]{2})+\|[0-9]{3}")  # as in India
_LONGEST = 30  # digits
_SHOWN = 40


def number(text: str, decimal: DecimalSign | None = None) -> int | float:
    """The one number that `text` consists of: an int if no fraction is written, else the float of the same digits.

    Raises NotRead for anything else: words or signs besides the number, several numbers, a number that can be
    read in two ways while `decimal` (`"."` or `","`) does not say how, and one with more digits than a float holds.
    """
    before, amount, after = split(text, decimal)
    sign = before[-1:] if before[-1:] in ("-", "+") else ""
    rest = (before.removesuffix(sign) + " " + after).strip()
    if rest:
        raise NotRead(text, f"{rest[:_SHOWN]!r} besides the number")
    if amount.as_tuple().exponent == 0:
        return -int(amount) if sign == "-" else int(amount)
    value = float(amount)
    if Decimal(repr(value)) != amount:
        raise NotRead(text, "more digits than a float holds")
    return -value if sign == "-" and value else value


def split(text: str, decimal: DecimalSign | None = None) -> tuple[str, Decimal, str]:
    """What stands before the only number in `text`, its amount with all digits written, and what stands behind.

    A sign belongs to what stands before. Raises NotRead.
    """
    if decimal not in (None, ".", ","):
        raise ValueError(f'decimal={decimal!r}: "." or ","')
    plain = fold(text)
    found = list(_NUMERAL.finditer(plain))
    if not found:
        raise NotRead(text, "no number in it")
    if len(found) > 1:
        shown = " and ".join(repr(match.group()[:_SHOWN]) for match in found[:2])
        raise NotRead(text, f"more than one number: {shown}")
    numeral = found[0].group()
    if sum(map(str.isdigit, numeral)) > _LONGEST:
        raise NotRead(text, f"more than {_LONGEST} digits")
    amount = _amount(text, numeral, decimal)
    return plain[: found[0].start()], amount, plain[found[0].end() :]


def _amount(text: str, numeral: str, decimal: DecimalSign | None) -> Decimal:
    marks = [char for char in numeral if not char.isdigit()]
    sign = _decimal_sign(text, numeral, marks, decimal)
    whole, _, fraction = numeral.partition(sign) if sign else (numeral, "", "")
    if fraction and not fraction.isdigit():
        raise NotRead(text, f"{numeral[:_SHOWN]!r}: something follows the fraction")
    return Decimal(_ungrouped(text, whole) + ("." + fraction if fraction else ""))


def _decimal_sign(text: str, numeral: str, marks: list[str], decimal: DecimalSign | None) -> str:
    """The mark in `numeral` before its fraction; "" if it has none."""
    if not marks:
        return ""
    last = marks[-1]
    if decimal is not None:
        return decimal if decimal in marks else "٫" if last == "٫" else ""
    if last == "٫" or (last in ".," and marks.count(last) == 1 and len(marks) > 1):
        return last
    if last not in ".," or len(marks) > 1:
        return ""
    whole, _, tail = numeral.partition(last)
    if len(tail) != 3 or len(whole) > 3 or whole == "0":
        return last
    raise NotRead(text, f'{whole + tail} or {whole}.{tail}? Say decimal="." or decimal=","')


def _ungrouped(text: str, whole: str) -> str:
    marks = {char for char in whole if not char.isdigit()}
    if not marks:
        if len(whole) > 1 and whole.startswith("0"):
            raise NotRead(text, "begins with a zero, like a code")
        return whole
    groups = re.sub(r"[^0-9]", "|", whole)
    if len(marks) > 1 or not (_THOUSANDS.fullmatch(groups) or (marks == {","} and _LAKHS.fullmatch(groups))):
        raise NotRead(text, f"{whole[:_SHOWN]!r}: digits are not grouped like that in one number")
    return groups.replace("|", "")
