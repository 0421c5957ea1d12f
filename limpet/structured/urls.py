"""URLs that stand in data, made absolute."""

from __future__ import annotations

from collections.abc import Callable

import ada_url

from limpet import links

Absolute = Callable[[str], str]


def absolute(base: str, codec: str) -> Absolute:
    """A function from a URL as it is written to the absolute one; "" for what is none."""

    def resolve(written: str) -> str:
        url, reason = links.resolve(base, written, codec)
        if reason is None:
            return url
        try:
            joined: str = ada_url.join_url(base, written)  # what is no page, such as data: and #fragments
        except ValueError:
            return ""
        return joined

    return resolve
