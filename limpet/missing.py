"""A value that is not there: what it may still be used for, and what ends the handler."""

from __future__ import annotations

from typing import NoReturn

from limpet_store.errors import ExtractError


class MissingValue(ExtractError):
    """Something was computed from a value that is not there."""


class Missing(str):
    """What `Page.one` found nowhere: a string that spoils the record it ends up in, and no more.

    It is false, and string methods that make text of text give it back. It cannot be computed with: a number of
    it, a split, an f-string, a comparison (but with itself), a search in it, a look-up by it raise MissingValue,
    which ends the handler there and keeps what was yielded before. Its text is one NUL, which no record may
    contain, so that what is joined from it is refused too.
    """

    selector: str
    shown: object = ""  # what stands there instead

    def __new__(cls, selector: str) -> Missing:
        self = super().__new__(cls, "\0")
        self.selector = selector
        return self

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.selector!r})"

    @property
    def problem(self) -> str:
        """What is wrong, for the rejection."""
        return f"nothing at {self.selector!r}"

    def _same(self, *_: object, **__: object) -> Missing:
        return self

    def _is(self, other: object) -> bool:
        return self is other or self._refuse()

    def _is_not(self, other: object) -> bool:
        return self is not other and self._refuse()

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise MissingValue(self.problem)


_SAME = (
    "__str__ __add__ __radd__ __mul__ __rmul__ __mod__ __rmod__ __getitem__ capitalize casefold center "
    "expandtabs format join ljust lower lstrip removeprefix removesuffix replace rjust rstrip strip swapcase "
    "title translate upper zfill "
    "__sub__ __rsub__ __truediv__ __rtruediv__ __floordiv__ __rfloordiv__ __pow__ __rpow__ __neg__ __pos__ __abs__ "
    "__round__"  # of numbers, as those above of text
)
_REFUSE = (
    "__float__ __int__ __index__ __iter__ __format__ __len__ __hash__ __contains__ __lt__ __le__ __gt__ __ge__ "
    "count encode endswith find format_map index isalnum isalpha isascii isdecimal isdigit isidentifier islower "
    "isnumeric isprintable isspace istitle isupper partition rfind rindex rpartition rsplit split splitlines "
    "startswith __divmod__ __rdivmod__ __trunc__ __floor__ __ceil__"
)
for _name in _SAME.split():
    setattr(Missing, _name, Missing._same)
for _name in _REFUSE.split():
    setattr(Missing, _name, Missing._refuse)
for _name in ("amount", "currency"):  # of a price
    setattr(Missing, _name, property(Missing._same))
setattr(Missing, "__eq__", Missing._is)  # noqa: B010 - in the class it would take __hash__ with it
setattr(Missing, "__ne__", Missing._is_not)  # noqa: B010
