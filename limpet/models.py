"""pydantic models as shapes of records. pydantic itself is never imported: who has a model has it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from limpet import clean
from limpet_store.items import JSON, Record, Rejection


def is_model(cls: type) -> bool:
    """Whether it is a pydantic model."""
    return hasattr(cls, "model_fields") and hasattr(cls, "model_validate")


def validated(model: Any, record: Record) -> dict[str, JSON] | Rejection:
    """The record's data as the model has them, or why not."""
    try:
        found: dict[str, JSON] = model.model_validate(dict(record.data)).model_dump(mode="json")
    except ValueError as error:
        rejection = refused(error, record.type)
        if rejection is None:
            raise
        return rejection
    return found


def refused(error: Any, type_: str) -> Rejection | None:
    """A model's refusal of its values as a rejection; None for other errors."""
    if not hasattr(error, "errors"):
        return None
    each = [
        Rejection(type_, "", clean.printable(item["msg"]), clean.printable(item.get("input", "")),
                  clean.printable(".".join(map(str, item["loc"]))))
        for item in error.errors(include_url=False)
    ]  # fmt: skip
    return first_of(each) if each else None


def first_of(wrong: Sequence[Rejection]) -> Rejection:
    """One rejection for one record: the first field, and the names of the others."""
    first, *others = wrong
    if not others:
        return first
    names = ", ".join(each.field for each in others[:5]) + (" ..." if len(others) > 5 else "")
    return dataclasses.replace(first, reason=f"{first.reason} (wrong too: {names})")
