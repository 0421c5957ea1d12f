"""Cookies that a site file gives: to the hosts that it names and to no other."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from http.cookiejar import Cookie

_AUTHORITY = re.compile(r"(.*?)(?::(\d+))?")


def of_site(name: str, value: str, authorities: Iterable[str]) -> Iterator[Cookie]:
    """The cookie for each of these hosts alone, at the ports that are named, or at any where none is."""
    for host, ports in _ports(authorities).items():
        domain = host if "." in host else f"{host}.local"  # cookiejar wants a dot in every name
        yield Cookie(
            0, name, value, ports, bool(ports), domain, False, False, "/", True, False, None, True, None, None, {}
        )  # fmt: skip


def _ports(authorities: Iterable[str]) -> dict[str, str | None]:
    """Host to its ports, as cookiejar has them; None for any, and for IPv6, whose ports cookiejar cannot read."""
    found: dict[str, str | None] = {}
    for authority in sorted(authorities):
        host, port = _AUTHORITY.fullmatch(authority).groups()  # type: ignore[union-attr]
        before = found.get(host, "")
        anywhere = port is None or before is None or host.startswith("[")
        found[host] = None if anywhere else f"{before},{port}".strip(",")
    return found
