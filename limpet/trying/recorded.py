"""Saved pages: a response as it came, and what the site makes of it, in files that belong into version control.

    list-0.html        the body, to the byte
    list-0.page.json   its URL, status and headers, what the page that linked it handed down, and `expected`

Only headers that a handler may need are kept; no cookie, no date, nothing that was sent but the method and body.
"""

from __future__ import annotations

import json
import mimetypes
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from limpet import encoding
from limpet.site import Site
from limpet.trying.lab import Lab
from limpet.trying.trial import Trial, row_for
from limpet_consumers.http import Request, Response
from limpet_store.attempts import PageRow
from limpet_store.content import content_hash
from limpet_store.errors import UsageError
from limpet_store.outcome import Kind
from limpet_store.records import steady
from limpet_store.secret import hidden

SUFFIX = ".page.json"
HEADERS = re.compile(
    r"content-(type|language|location|disposition)|link|location|retry-after|last-modified|"
    r"x-[\w-]*(total|page|count|next|cursor|offset|limit)[\w-]*"
)
EXTENSIONS = {"text/html": ".html", "application/xhtml+xml": ".html", "application/json": ".json"}
WIDE = 110  # columns of a line of JSON


@dataclass(frozen=True, slots=True)
class Saved:
    """A page that can be tried without a network. `expected` is None for a file that was never saved by us."""

    path: Path
    site: str
    row: PageRow
    response: Response
    expected: Mapping[str, Any] | None = None

    @property
    def name(self) -> str:
        return self.path.name.removesuffix(SUFFIX)


class _Replay:
    """A transport whose every answer is known."""

    def __init__(self, response: Response) -> None:
        self._response = response

    def fetch(self, request: Request, deadline: float) -> Response:
        return self._response


def replay(site: Site, saved: Saved) -> Trial:
    """Try a saved page; nothing is sent."""
    return Lab(site, _Replay(saved.response), offline=True).visit(saved.row)


def save(site: Site, trial: Trial, folder: Path) -> Path | None:
    """Keep the page and what it gives in `folder`, in the place of an older copy of it. None where there is nothing to
    keep: no answer, or a redirect. Raises UsageError for a page that shows a secret."""
    response = trial.response
    if response is None or trial.outcome is None or trial.outcome.kind is Kind.ALIAS:
        return None
    _refuse_secrets(trial, response.body)
    folder.mkdir(parents=True, exist_ok=True)
    row = trial.row
    path = _path(folder, row)
    body = path.with_name(path.name.removesuffix(SUFFIX) + _extension(response))
    about = {
        "site": site.name,
        "url": row.canonical,
        "kind": None if row.kind == "page" else row.kind,
        "method": None if row.method == "GET" else row.method,
        "request": row.body.decode("utf-8", "replace") if row.body else None,
        "to": row.handler,
        "data": json.loads(row.data) if row.data else None,
        "depth": row.depth or None,
        "status": response.status,
        "headers": {name: value for name, value in response.headers.items() if HEADERS.fullmatch(name)},
        "body": body.name,
        "expected": given(trial),
    }
    body.write_bytes(response.body)
    _write(path, {name: value for name, value in about.items() if value is not None})
    return path


def _refuse_secrets(trial: Trial, body: bytes) -> None:
    """What a site sends back of what it was sent must not get into version control."""
    text = body.decode("utf-8", "replace") + trial.url
    if hidden(text) != text:
        raise UsageError(f"{hidden(trial.url)}: the page shows a secret that was sent, so it is not saved")


def accept(saved: Saved, trial: Trial) -> None:
    """What the page gives now is what is expected of it."""
    _write(saved.path, {**_read(saved.path), "expected": given(trial)})


def given(trial: Trial) -> dict[str, Any]:
    """What the page gave, as it is compared: without times, and in plain JSON."""
    outcome = trial.outcome
    assert outcome is not None
    found = {
        "handler": trial.handler,
        "outcome": outcome.kind.value,
        "error": (outcome.error or "").split("\n")[0] or None,
        "records": [
            {
                "type": part.type,
                "key": part.key,
                "part": part.part,
                "data": json.loads(steady(part.data, part.volatile)),
            }
            for part in outcome.parts
        ],
        "rejections": [asdict(rejection) for rejection in outcome.rejections],
        "links": [
            _link(kept.handler, kept.page.method, kept.page.key, kept.page.data) for kept in trial.kept
        ],
        "dropped": dict(sorted(outcome.dropped.items())),
    }
    return {name: value for name, value in found.items() if value not in (None, [], {})}


def _link(handler: str | None, method: str, key: str, data: str | None) -> str:
    """A link in a line: `product http://...`, then what is handed down."""
    return f"{handler or '-'} {key}" + (f" {data}" if data else "")


def saved_in(folder: Path, site: str) -> Iterator[Saved]:
    """The saved pages of this site in `folder` and below, by name. Raises UsageError for a file that is broken."""
    for path in sorted(folder.rglob(f"*{SUFFIX}")):
        found = load(path)
        if found.site == site:
            yield found


def source_of(path: Path, url: str | None, to: str | None, data: object) -> Saved:
    """What `limpet try FILE` means: a saved page by either of its files, or any file with its URL."""
    beside = path.with_name(f"{path.stem}{SUFFIX}")
    if url is None and path.name.endswith(SUFFIX):
        return load(path)
    if url is None and beside.exists():
        return load(beside)
    if not path.exists():
        raise UsageError(f"{path}: neither a file nor a URL (which begins with http:// or https://)")
    if url is None:
        raise UsageError(f"{path}: --url says which URL it was fetched from")
    kind = mimetypes.guess_type(path.name)[0] or ""
    response = Response(url, 200, {"content-type": kind} if kind else {}, path.read_bytes())
    return Saved(path, "", row_for(url, handler=to, data=data), response)


def load(path: Path) -> Saved:
    """One saved page. Raises UsageError."""
    about = _read(path)
    try:
        row = row_for(
            about["url"], handler=about.get("to"), data=about.get("data"), depth=about.get("depth", 0),
            kind=about.get("kind", "page"),
            method=about.get("method", "GET"), body=about["request"].encode() if "request" in about else None,
        )  # fmt: skip
        body = path.with_name(about["body"]).read_bytes()
        response = Response(about["url"], about["status"], about["headers"], body)
        return Saved(path, about["site"], row, response, about["expected"])
    except KeyError as error:
        raise UsageError(f"{path}: no {error} in it; save the page again") from None
    except OSError as error:
        raise UsageError(f"{path}: its body {about['body']} cannot be read: {error.strerror}") from None


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_bytes())
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise UsageError(f"{path}: not JSON: {error}") from None
    if not isinstance(found, dict):
        raise UsageError(f"{path}: no saved page")
    return found


def _path(folder: Path, row: PageRow) -> Path:
    """Where the page is kept: named after its URL's path and query, and by a hash where another has that name."""
    text = row.canonical.split("/", 3)[3]
    words = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:60] or "index"
    key = f"{row.method} {row.canonical} {(row.body or b'').decode('utf-8', 'replace')}"
    path = folder / f"{words}{SUFFIX}"
    if path.exists() and not _same(path, row):
        return folder / f"{words}-{content_hash(key)[:6]}{SUFFIX}"
    return path


def _same(path: Path, row: PageRow) -> bool:
    other = load(path).row
    return (other.method, other.canonical, other.body) == (row.method, row.canonical, row.body)


def _extension(response: Response) -> str:
    kind = encoding.media_type(response.headers.get("content-type", ""))
    if kind in EXTENSIONS:
        return EXTENSIONS[kind]
    if kind.endswith("json"):
        return ".json"
    return ".xml" if kind.endswith("xml") else mimetypes.guess_extension(kind) or ".html"


def _write(path: Path, about: Mapping[str, Any]) -> None:
    path.write_text(pretty(about) + "\n", encoding="utf-8")


def pretty(value: Any, indent: str = "") -> str:
    """JSON for people and for diffs: what fits into a line is one, the rest one line for each item."""
    flat = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, (dict, list)) or not value or (indent and len(indent) + len(flat) <= WIDE):
        return flat
    deeper = indent + "  "
    if isinstance(value, dict):
        items = [
            f"{deeper}{json.dumps(name, ensure_ascii=False)}: {pretty(item, deeper)}"
            for name, item in value.items()
        ]
        return "{\n" + ",\n".join(items) + f"\n{indent}}}"
    return "[\n" + ",\n".join(deeper + pretty(item, deeper) for item in value) + f"\n{indent}]"
