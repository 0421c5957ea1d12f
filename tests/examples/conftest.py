"""The sites that the examples read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from examples.served import Served

Serve = Callable[[str], Served]


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """`serve("classic_shop")` serves that site until the test's end."""
    with ExitStack() as stack:
        yield lambda name: stack.enter_context(Served(name, tmp_path / "site.log"))
