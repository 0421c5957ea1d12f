"""Pages that are more than a GET of their URL: a POST search, a JSON API, GraphQL, a header, a key of their own."""

from __future__ import annotations

import json as json_
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Unpack
from urllib.parse import urlencode

from limpet import arguments, clean, links
from limpet.arguments import Text
from limpet.missing import MissingValue
from limpet.operations import operations
from limpet_consumers.headers import trouble
from limpet_store.content import canonical_json, storable
from limpet_store.errors import UsageError
from limpet_store.items import JSON, Ask, Link
from limpet_store.secret import Secret

MAX_BODY = 65_536  # bytes
READS = ("GET", "QUERY")  # methods that say by themselves that nothing is changed


class BadRequest(UsageError):
    """A request that cannot be made; the text says what to change."""


def request(
    url: str,
    *,
    method: str | None = None,
    json: JSON = None,
    form: Mapping[str, str] | None = None,
    body: bytes | str | None = None,
    headers: Mapping[str, Text] | None = None,
    params: Mapping[str, Text] | None = None,
    vary: Sequence[str] = (),
    key: str | None = None,
    safe: bool = False,
    to: str | Callable[..., Any] | None = None,
    data: JSON = None,
    priority: int = 0,
    merge: str | None = None,
) -> Link:
    """A page to ask for, with everything that a GET of its URL does not say; for `seeds=` and, as `page.request`, in
    handlers.

    `method` is GET, or POST where there is a body; `QUERY` is possible. A page may be asked for again after a kill, so
    a POST has to be a read: `safe=True` says that it is. The body is one of `json`, `form` (a dict of text) and `body`
    (bytes or text), at most 64 KB; it is kept in the store, so it must hold no secret. `headers` and `params`
    (parameters of the URL) take text or `secret("NAME")`; of a secret only the name is stored, and it is put in
    when the page is sent.

    The page's identity is its method, URL, canonical body and the headers that `vary` names; or `key`, a text of your
    own. `to`, `data`, `priority` and `merge` are those of `page.link`; a seed
    has no `merge`.

    Raises BadRequest, and MissingValue for a value that `page.one` did not find.
    """
    given = [name for name, value in (("json", json), ("form", form), ("body", body)) if value is not None]
    if len(given) > 1:
        raise BadRequest(f"{' and '.join(given)}: a request has one body")
    method = (method or ("POST" if given else "GET")).upper()
    _check_method(method, safe, bool(given))
    content, identity, kind = _body(json, form, body)
    sent = _headers(headers or {})
    if kind and "content-type" not in {name.lower() for name in sent}:
        sent = {"Content-Type": kind, **sent}
    added = _texts("params", params or {})
    plain = {name: value for name, value in added.items() if isinstance(value, str)}
    secrets = {name: value for name, value in added.items() if not isinstance(value, str)}
    ask = Ask(method, content, identity, sent, secrets, _vary(vary, sent))
    return Link(_with(url, plain), handler_name(to), data, priority, ask, _key(key), merge=merges(merge))


def graphql(
    url: str,
    query: str,
    variables: Mapping[str, JSON] | None = None,
    *,
    operation: str | None = None,
    **more: Unpack[arguments.Keyed],
) -> Link:
    """A GraphQL query as a page: a POST of `query`, `variables` and `operationName`. `more` is that of `request`.

    Raises BadRequest for a mutation or a subscription: a page may be asked for again.
    """
    arguments.check("graphql", more, arguments.Keyed, ("query", "variables", "operation"))
    words = set(operations(_plain(query, "query"))) if isinstance(query, str) else set()
    if words & {"mutation", "subscription"}:
        raise BadRequest("graphql: a page may be asked for again after a kill, so it has to be a query")
    if "query" not in words or words - {"query", "fragment"}:
        raise BadRequest("graphql: the text of a query, beginning with `query` or `{`")
    sent: dict[str, JSON] = {"query": query}
    if variables is not None:
        sent["variables"] = variables
    if operation is not None:
        sent["operationName"] = operation
    return request(url, json=sent, safe=True, **more)


def handler_name(to: str | Callable[..., Any] | None) -> str | None:
    """`to=` of a link: a handler or its name."""
    return to if to is None or isinstance(to, str) else to.__name__


def merges(merge: str | None) -> bool:
    """`merge=` of a link."""
    if merge not in (None, "list"):
        raise BadRequest(
            f'merge={merge!r}: "list" collects what all parents hand down; leave it out for the first'
        )
    return merge == "list"


def _with(url: str, query: Mapping[str, str]) -> str:
    """Parameters that are no secret are part of the URL."""
    if not query:
        return url
    path, mark, fragment = url.partition("#")
    return f"{path}{'&' if '?' in path else '?'}{urlencode(query)}{mark}{fragment}"


def _check_method(method: str, safe: bool, has_body: bool) -> None:
    if method not in ("GET", "POST", "QUERY"):
        raise BadRequest(f"method {method!r}: GET, POST or QUERY; a page is read, and may be read again")
    if method == "GET" and has_body:
        raise BadRequest("a GET has no body")
    if method not in READS and safe is not True:
        raise BadRequest(f"{method}: it may be sent again after a kill; say safe=True if it only reads")


def _body(
    json: JSON, form: Mapping[str, str] | None, body: bytes | str | None
) -> tuple[bytes | None, str, str]:
    """(bytes, what of them identifies, content type)."""
    if json is not None:
        plain = _plain(json, "json")
        text = json_.dumps(plain, ensure_ascii=False, separators=(",", ":"))
        return _fits(text.encode()), canonical_json(storable(plain)), "application/json"
    if form is not None:
        fields = _plain(form, "form")
        if not isinstance(fields, dict) or not all(isinstance(value, str) for value in fields.values()):
            raise BadRequest("form: a dict of text")
        text = urlencode(fields)
        return _fits(text.encode()), text, "application/x-www-form-urlencoded"
    if isinstance(body, str):
        body = str(_plain(body, "body")).encode()
    if body is None:
        return None, "", ""
    if not isinstance(body, bytes):
        raise BadRequest(f"body: bytes or text, not {type(body).__name__}")
    return _fits(body), body.hex(), ""


def _plain(value: Any, where: str) -> JSON:
    return _as_said(lambda: clean.tidy(value, where))


def _as_said(read: Callable[[], JSON]) -> JSON:
    """What `read` gives; what it refuses is told as a request's mistake."""
    try:
        return read()
    except clean.Absent as error:
        raise MissingValue(str(error)) from None
    except clean.Refused as error:
        raise BadRequest(str(error)) from None


def _fits(body: bytes) -> bytes:
    if len(body) > MAX_BODY:
        raise BadRequest(f"the body has {len(body)} bytes, at most {MAX_BODY} are kept")
    return body


def _headers(given: Mapping[str, Text]) -> dict[str, Text]:
    found = _texts("headers", given)
    for name, value in found.items():
        if wrong := trouble(name, value):
            raise BadRequest(wrong)
    return found


def _texts(what: str, given: Mapping[str, Text]) -> dict[str, Text]:
    if not isinstance(given, Mapping):
        raise BadRequest(f"{what}: a dict")
    found: dict[str, Text] = {}
    for name, value in given.items():
        if not isinstance(name, str) or not name:
            raise BadRequest(f"{what}: {name!r} is no name")
        found[name] = value if isinstance(value, Secret) else _text(value, f"{what} {name!r}")
    return found


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise BadRequest(f"{where}: text or secret(...), not {type(value).__name__}")
    return str(_plain(value, where))


def _vary(names: Sequence[str], headers: Mapping[str, Text]) -> tuple[str, ...]:
    if isinstance(names, str):
        raise BadRequest("vary: a list of header names")
    own = {name.lower(): name for name in headers}
    missing = [name for name in names if not isinstance(name, str) or name.lower() not in own]
    if missing:
        raise BadRequest(f"vary: {missing[0]!r} is not among this request's headers")
    return tuple(own[name.lower()] for name in names)


def _key(key: str | None) -> str | None:
    return None if key is None else str(_as_said(lambda: links.key(key)))


def position(link: Link, key: str) -> Link:
    """The link as a place in a listing, known by `key`."""
    return replace(link, key=_key(key), position=True)
