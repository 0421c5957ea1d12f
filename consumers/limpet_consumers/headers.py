"""What may stand in the headers of a request: one place for sites, for pages, and for what secrets turn out to be."""

from __future__ import annotations

import re
from typing import Any

from limpet_store.secret import Secret

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_OURS = frozenset({"accept-encoding", "connection", "content-length", "host", "transfer-encoding"})


def is_token(name: Any) -> bool:
    """Whether it can be the name of a header or cookie."""
    return isinstance(name, str) and bool(_TOKEN.fullmatch(name))


def one_line(value: Any) -> bool:
    """Whether it can be sent as the value of a header."""
    return isinstance(value, str) and value.isascii() and value.isprintable()


def trouble(name: Any, value: Any) -> str:
    """Why a site or a page cannot set this header, "" when it can; the value of a secret is not looked at."""
    if not is_token(name) or not (isinstance(value, Secret) or one_line(value)):
        return f"header {name!r}: a name, and one ASCII line or secret(...)"
    if name.lower() in _OURS:
        return f"header {name!r}: it belongs to the connection and is not to be set"
    if name.lower() == "user-agent":
        return "header 'User-Agent': the site says user_agent=..."
    return ""
