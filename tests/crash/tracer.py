"""Calls back at each line of limpet's own packages. The callback itself is not traced: tracing does not nest."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import limpet
import limpet_consumers
import limpet_producer
import limpet_store

ROOTS = tuple(
    f"{Path(package.__file__).parent}/"
    for package in (limpet, limpet_consumers, limpet_producer, limpet_store)
    if package.__file__
)
AtLine = Callable[[str, int], None]


class Tracer:
    """`with Tracer(callback):` calls `callback("file.py", line)` before each line of ours in this thread."""

    def __init__(self, at_line: AtLine) -> None:
        self._at_line = at_line
        self._ours: dict[CodeType, str] = {}

    def __enter__(self) -> Tracer:
        self._before = sys.gettrace()
        sys.settrace(self._call)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(self._before)

    def stop(self) -> None:
        """No more of it; may be called from the callback."""
        sys.settrace(None)

    def _call(self, frame: FrameType, event: str, arg: Any) -> Any:
        name = self._ours.get(frame.f_code)
        if name is None:
            file = frame.f_code.co_filename
            name = self._ours[frame.f_code] = Path(file).name if file.startswith(ROOTS) else ""
        return self._line if name else None

    def _line(self, frame: FrameType, event: str, arg: Any) -> Any:
        if event == "line":
            self._at_line(self._ours[frame.f_code], frame.f_lineno)
        return self._line
