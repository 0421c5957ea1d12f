"""URL patterns: which handler a page goes to, and the pieces of its URL.

    /product/{n}                one piece of the path, not empty, without "/"
    /product/{n:int}            digits
    /docs/{rest:path}           anything, also nothing
    /search?q={words}&page={n}  needs these query parameters, in any order, among others
    //shop.example/{n}          this host only; http:// and https:// name the scheme too

The whole path has to fit; the query counts only where the pattern has a "?".
URLs are expected in canonical form.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import parse_qs, quote, unquote

from limpet_store.errors import SiteError

_URL = re.compile(r"(https?)://([^/?#]*)([^?#]*)(?:\?([^#]*))?")
_PATTERN = re.compile(r"(?:(?:(https?):)?//([^/?#]+))?(/[^?#]*)?(?:\?([^#]*))?")
_FIELD = re.compile(r"\{([^{}]*)\}")
_NAME = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?::(int|path))?")
_KINDS = {"int": "[0-9]+", "path": ".*"}
_PATH_SAFE = "!$%&'()*+,-./:;=@[\\]^_|~"  # what a canonical path keeps as it is


class Pattern:
    """A compiled pattern. Raises SiteError when it is malformed."""

    def __init__(self, text: str) -> None:
        if not isinstance(text, str):
            raise SiteError('a pattern is a string: @site.page("/product/{n}")')
        found = _PATTERN.fullmatch(text)
        if not found or not text.startswith(("/", "http://", "https://")):
            raise SiteError(f"pattern {text!r}: must begin with / or //host or http:// and have no #")
        self.text = text
        self._names: set[str] = set()
        self._scheme: str | None = found[1]
        self._host = self._compile(found[2].lower(), "[^/]+") if found[2] else None
        self._path = self._compile(found[3] or "/", "[^/]+", quoted=True)
        self._query = self._parameters(found[4]) if found[4] is not None else {}

    def params(self, url: str) -> Mapping[str, str] | None:
        """The named pieces of `url`, decoded; None when it does not fit."""
        parts = _URL.match(url)
        if not parts or (self._scheme and self._scheme != parts[1]):
            return None
        found = self._path.fullmatch(parts[3] or "/")
        if not found:
            return None
        params = {name: unquote(value) for name, value in found.groupdict().items()}
        if self._host:
            host = self._host.fullmatch(parts[2])
            if not host:
                return None
            params |= host.groupdict()
        return self._with_query(params, parts[4] or "") if self._query else params

    def _with_query(self, params: dict[str, str], query: str) -> Mapping[str, str] | None:
        given = parse_qs(query, keep_blank_values=True)
        for name, wanted in self._query.items():
            found = wanted.fullmatch(given[name][0]) if name in given else None
            if not found:
                return None
            params |= found.groupdict()
        return params

    def _parameters(self, query: str) -> dict[str, re.Pattern[str]]:
        pairs = [pair.partition("=") for pair in query.split("&")]
        if any(not name or not equals or "{" in name for name, equals, _ in pairs):
            raise SiteError(f"pattern {self.text!r}: after ? it needs name=value pairs")
        return {name: self._compile(value, ".+") for name, _, value in pairs}

    def _compile(self, template: str, piece: str, *, quoted: bool = False) -> re.Pattern[str]:
        regex = ""
        for index, part in enumerate(_FIELD.split(template)):
            if index % 2:
                regex += self._field(part, piece)
            elif "{" in part or "}" in part:
                raise SiteError(f"pattern {self.text!r}: unbalanced braces")
            else:
                regex += re.escape(quote(part, safe=_PATH_SAFE) if quoted else part)
        return re.compile(regex, re.DOTALL)

    def _field(self, field: str, piece: str) -> str:
        found = _NAME.fullmatch(field)
        if not found:
            raise SiteError(f"pattern {self.text!r}: {{{field}}} is not name, name:int or name:path")
        name, kind = found.groups()
        if name in self._names:
            raise SiteError(f"pattern {self.text!r}: {{{name}}} is there twice")
        self._names.add(name)
        return f"(?P<{name}>{_KINDS.get(kind, piece)})"
