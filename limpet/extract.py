"""Run one handler on one page and sort what it gives."""

from __future__ import annotations

import inspect
import os
import traceback
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from typing import Any

from limpet import clean, links
from limpet.links import NoLink
from limpet.missing import MissingValue
from limpet.page import Page
from limpet.shapes import Shapes
from limpet_store.errors import ExtractError
from limpet_store.failures import HANDLER, TOO_MANY_LINKS
from limpet_store.items import Extracted, Link, Record, Rejection

Handler = Callable[[Page], Any]
_FRAMES = 5
_WORDS = 500  # characters of a foreign exception's text


def run(
    name: str, handler: Handler, page: Page, names: Container[str], max_links: int, shapes: Shapes
) -> Extracted:
    """What `handler` gives for `page`; records that cannot be stored are among the rejections.

    Raises ExtractError, naming the handler, when it fails or gives something other than links and records.
    """
    basket = _Basket(name, names, max_links, shapes)
    for item in _items(name, handler, page, shapes):
        basket.add(item)
    if page.unread and not basket.records and not basket.rejections:  # there may have been some
        basket.rejections.append(Rejection("", "", clean.printable("; ".join(dict.fromkeys(page.unread)))))
    return Extracted(list(basket.links.values()), basket.records, basket.rejections, basket.dropped, page.cut)


class _Basket:
    def __init__(self, name: str, names: Container[str], max_links: int, shapes: Shapes) -> None:
        self.name = name
        self.shapes = shapes
        self.names = names
        self.max_links = max_links
        self.links: dict[tuple[object, ...], Link] = {}  # the first to a page wins, as in the store
        self.records: list[Record] = []
        self.rejections: list[Rejection] = []
        self.dropped: Counter[str] = Counter()

    def add(self, item: object) -> None:
        if isinstance(item, NoLink):
            self._add_none(item)
        elif isinstance(item, Link):
            self._add_link(item)
        elif isinstance(item, Rejection):
            self.rejections.append(clean.rejection(item))
        elif plain := self.shapes.record(item):
            self.records.append(plain) if isinstance(plain, Record) else self.rejections.append(plain)
        else:
            raise ExtractError(f"{self.name}: gave a {type(item).__name__}, not a Record or page.link()")

    def _add_none(self, link: NoLink) -> None:
        if link.missing:
            self._not_followed(link.url, link.missing)
        elif link.reason:
            self.dropped[link.reason] += 1

    def _not_followed(self, url: object, why: object) -> None:
        self.rejections.append(
            Rejection("", clean.printable(url), clean.printable(f"link not followed: {why}"))
        )

    def _add_link(self, link: Link) -> None:
        try:
            plain = links.plain(link)
            page = _identity(plain)
        except clean.Absent as error:
            return self._not_followed(link.url, error)
        except clean.Refused as error:
            raise ExtractError(f"{self.name}: link to {clean.printable(link.url)}: {error}") from None
        if plain.to is not None and plain.to not in self.names:
            raise ExtractError(f"{self.name}: there is no handler {clean.printable(plain.to)!r} to link to")
        if page in self.links and not plain.merge:
            return
        if len(self.links) >= self.max_links:
            raise ExtractError(
                f"{self.name}: links to more than {self.max_links} pages; see tune(max_links=)",
                TOO_MANY_LINKS,
            )
        if page in self.links:  # it collects what each link hands down
            page = (*page, len(self.links))
        self.links[page] = plain


def _identity(link: Link) -> tuple[object, ...]:
    """Two links with the same are to one page."""
    ask = link.ask
    if link.key is not None:
        return ("key", link.key)
    varied = tuple(ask.headers[name] for name in ask.vary) if ask else ()
    return (link.url.partition("#")[0], *((ask.method, ask.identity, *varied) if ask else ()))


def _items(name: str, handler: Handler, page: Page, shapes: Shapes) -> Iterator[object]:
    """What the handler gives, one by one; what it raises becomes an ExtractError or, for a missing value, a
    rejection at the end."""
    try:
        yield from _iterable(handler(page))
    except MissingValue as error:
        page.cut = True
        yield Rejection("", "", clean.printable(f"{name} ended early: {error}"))
    except MemoryError:
        raise
    except (Exception, SystemExit) as error:
        if rejection := shapes.rejected(error):
            page.cut = True
            yield rejection
            return
        # sys.exit() is the handler's failure, not the end of its worker
        kind = error.kind if isinstance(error, ExtractError) else HANDLER
        raise ExtractError(_story(name, handler, page, error), kind) from error


def _iterable(given: Any) -> Iterable[object]:
    if given is None:
        return ()
    if inspect.iscoroutine(given):
        given.close()
    if isinstance(given, (str, bytes, Mapping)) or not hasattr(given, "__iter__"):
        return (given,)
    return given  # type: ignore[no-any-return]


def _story(name: str, handler: Handler, page: Page, error: BaseException) -> str:
    """The exception in a line, and the lines of the site file that it came through."""
    ours = isinstance(error, ExtractError)
    words = str(error) if ours else traceback.format_exception_only(error)[-1].strip()
    lines = [f"{name}: {words[:_WORDS]}"]
    file = inspect.unwrap(handler).__code__.co_filename
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    lines += [f"  {os.path.basename(file)}:{f.lineno} in {f.name}: {f.line}" for f in frames[-_FRAMES:]]
    if page.missing:
        lines.append(f"  nothing was found at {', '.join(map(repr, dict.fromkeys(page.missing[:_FRAMES])))}")
    return "\n".join(lines).encode("utf_8", "backslashreplace").decode().replace("\0", "\\0")
