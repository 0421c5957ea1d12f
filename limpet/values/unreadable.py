"""What a reader of numbers, prices and dates gives where there is something it cannot read."""

from __future__ import annotations

from limpet.missing import Missing

_LONGEST = 80  # characters of the text in a message


class Unreadable(Missing):
    """What is there and is not what was asked for. It spoils the record it ends up in as a `Missing` does, and
    says what stands there (`shown`) and why that cannot be read (`reason`)."""

    reason: str

    def __new__(cls, selector: str, shown: object = "", reason: str = "") -> Unreadable:
        self = super().__new__(cls, selector)
        assert isinstance(self, Unreadable)
        self.shown = shown
        self.reason = reason
        return self

    @property
    def problem(self) -> str:
        """What is wrong, with the text as it was found."""
        text = repr(self.shown)
        place = f" at {self.selector!r}" if self.selector else ""
        return f"{text if len(text) <= _LONGEST else text[:_LONGEST] + '...'}{place}: {self.reason}"
