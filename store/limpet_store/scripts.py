"""The Lua scripts: one verb a file in `lua/`, read once, each with the common head before it."""

from __future__ import annotations

from functools import cache
from importlib import resources

from limpet_store.server import Script


@cache
def load(name: str) -> Script:
    """The script of a verb, by its file name without `.lua`."""
    folder = resources.files("limpet_store") / "lua"
    text = (folder / "_common.lua").read_text("utf-8") + (folder / f"{name}.lua").read_text("utf-8")
    return Script(name, text, above_maxmemory=name != "lease")  # above it nothing new is begun
