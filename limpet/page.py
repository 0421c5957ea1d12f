"""A page as its handler sees it: selectors, values that must be there, and links.

page.one(".sku")                   text of the first match; nothing there rejects the record
page.one(".note", None)            the same, optional
page.one(".price::text", of=card)  below `card`, a selector from page.css() or page.xpath()
page.all("li::attr(id)")           every match
page.css("li"), page.xpath("//p")  parsel's own selectors
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Any, NoReturn, TypeVar, overload

from parsel import Selector, SelectorList

from limpet import encoding, links, markup
from limpet_store.errors import ExtractError
from limpet_store.items import JSON, Fetched, Link

T = TypeVar("T")
Below = Selector | SelectorList[Selector]
_REQUIRED: Any = object()


class MissingValue(ExtractError):
    """Something was computed from a value that is not there."""


class Missing(str):
    """What `Page.one` found nowhere: a string that spoils the record it ends up in, and no more.

    It is false, and string methods that make text of text give it back. It cannot be computed with: a number of
    it, a split, an f-string, a comparison (but with itself), a search in it, a look-up by it raise MissingValue,
    which ends the handler there and keeps what was yielded before. Its text is one NUL, which no record may
    contain, so that what is joined from it is refused too.
    """

    selector: str

    def __new__(cls, selector: str) -> Missing:
        self = super().__new__(cls, "\0")
        self.selector = selector
        return self

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return f"Missing({self.selector!r})"

    def _same(self, *_: object, **__: object) -> Missing:
        return self

    def _is(self, other: object) -> bool:
        return self is other or self._refuse()

    def _is_not(self, other: object) -> bool:
        return self is not other and self._refuse()

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise MissingValue(f"nothing at {self.selector!r}")


_SAME = (
    "__str__ __add__ __radd__ __mul__ __rmul__ __mod__ __rmod__ __getitem__ capitalize casefold center "
    "expandtabs format join ljust lower lstrip removeprefix removesuffix replace rjust rstrip strip swapcase "
    "title translate upper zfill"
)
_REFUSE = (
    "__float__ __int__ __index__ __iter__ __format__ __len__ __hash__ __contains__ __lt__ __le__ __gt__ __ge__ "
    "count encode endswith find format_map index isalnum isalpha isascii isdecimal isdigit isidentifier islower "
    "isnumeric isprintable isspace istitle isupper partition rfind rindex rpartition rsplit split splitlines "
    "startswith"
)
for _name in _SAME.split():
    setattr(Missing, _name, Missing._same)
for _name in _REFUSE.split():
    setattr(Missing, _name, Missing._refuse)
setattr(Missing, "__eq__", Missing._is)  # noqa: B010 - in the class it would take __hash__ with it
setattr(Missing, "__ne__", Missing._is_not)  # noqa: B010


class Page:
    """One fetched page. Parsed once, when something is first selected from it.

    `headers` have lower-case names. `params` are the pieces of the URL that the handler's pattern names, as
    decoded strings. `data` is what the page that linked here handed down.
    """

    def __init__(self, fetched: Fetched, params: Mapping[str, str] = MappingProxyType({})) -> None:
        self.url = fetched.url
        self.status = fetched.status
        self.headers = fetched.headers
        self.body = fetched.body
        self.data: JSON = fetched.data
        self.depth = fetched.depth
        self.params = params
        self.missing: list[str] = []  # selectors of `one` that found nothing

    def __repr__(self) -> str:
        return f"<Page {self.url}>"

    @property
    def type(self) -> str:
        """The media type in lower case, `text/html`; "" when the server named none."""
        return encoding.media_type(self._content_type)

    @property
    def is_html(self) -> bool:
        """Whether the server calls this HTML or XHTML (or nothing, and it begins like markup)."""
        if not self.type:
            return self.body.lstrip()[:1] == b"<"
        return self.type in ("text/html", "application/xhtml+xml")

    @cached_property
    def text(self) -> str:
        """The body as text, its encoding found as the HTML standard says; nothing is cut."""
        return encoding.decode(self.body, self._content_type)

    def json(self) -> JSON:
        """The body as JSON. Raises ExtractError when it is none."""
        codec = encoding.header_codec(self._content_type)
        try:
            return json.loads(self.body.decode(codec).removeprefix("\ufeff") if codec else self.body)
        except ValueError as error:
            raise ExtractError(f"not JSON: {error}") from error

    @cached_property
    def selector(self) -> Selector:
        """The whole document as a parsel selector. Raises ExtractError when the parser would cut it."""
        return Selector(root=self._root, type="xml" if self._is_xml else "html")

    def css(self, css: str) -> SelectorList[Selector]:
        """parsel's `css`."""
        return self.selector.css(css)

    def xpath(self, xpath: str, **variables: Any) -> SelectorList[Selector]:
        """parsel's `xpath`, with its `namespaces` and variables."""
        return self.selector.xpath(xpath, **variables)

    @overload
    def one(self, css: str, *, of: Below | None = None) -> str: ...
    @overload
    def one(self, css: str, default: T, *, of: Below | None = None) -> str | T: ...
    def one(self, css: str, default: Any = _REQUIRED, *, of: Below | None = None) -> Any:
        """The first match of `css`, stripped: an element's whole text, or the one `::text` or `::attr(name)`.

        `of` is the selector to look below (of several, the first), instead of the whole page. Where nothing
        is, or only whitespace, it gives `default`; without a default a `Missing`, which rejects the record it
        is put in, leaves the record's previous version untouched, and is counted.

        To compute with a `Missing` ends the handler; ask `if value` first where it may be so. What takes it as the
        argument of another object's method cannot be stopped: `value in "a text"` and `text.replace(value, "")` see
        a text of one NUL, and so does `re`, which may remove it: `re.sub("[^0-9]", "", value)` is "", and stored.
        """
        root = self._below(of)
        found = markup.select(css, self._is_xml)(root) if root is not None else ()
        text = markup.text_of(found[0]) if found else ""
        if text:
            return text
        if default is not _REQUIRED:
            return default
        self.missing.append(css)
        return Missing(css)

    def all(self, css: str, *, of: Below | None = None) -> list[str]:
        """Every match of `css` as `one` would give it; what is empty is left out."""
        root = self._below(of)
        found = markup.select(css, self._is_xml)(root) if root is not None else ()
        return [text for text in map(markup.text_of, found) if text]

    def link(
        self,
        target: str | Below,
        *,
        to: str | Callable[..., Any] | None = None,
        data: JSON = None,
        priority: int = 0,
    ) -> Link:
        """A page to visit: a URL (relative to the document's base), or a selector of an element with `href`.

        `to` is a handler or its name, instead of the one whose pattern fits. `data` (JSON, at most 16 KB) is
        handed down as `page.data`. What is no link (an empty selector, a malformed URL) costs itself alone:
        it is counted when yielded. Links to `javascript:`, `mailto:` and the like, and into the same page,
        lead nowhere and count nowhere.
        """
        href = None if isinstance(target, Missing) else links.href(target)
        url, reason = self._resolve(href) if href is not None else ("", "no link")
        if reason is not None:
            return links.NoLink(reason=reason)
        return Link(url, to if to is None or isinstance(to, str) else to.__name__, data, priority)

    def links(
        self,
        css: str = "a[href]",
        *,
        to: str | Callable[..., Any] | None = None,
        data: JSON = None,
        priority: int = 0,
    ) -> Iterator[Link]:
        """A `link` for each match of `css` that has an `href`; `css` may end in `::attr(name)`."""
        for found in markup.select(css, self._is_xml)(self._root):
            href = found if isinstance(found, str) else found.get("href")
            if href is not None:
                yield self.link(href, to=to, data=data, priority=priority)

    @cached_property
    def base(self) -> str:
        """The URL that relative links start from: that of the first `<base href>`, else the page's own."""
        found = () if self._is_xml else markup.select("base::attr(href)", False)(self._root)
        url, reason = links.resolve(self.url, found[0]) if found else ("", "")
        return self.url if reason is not None else url

    def _resolve(self, href: str) -> tuple[str, str | None]:
        return links.resolve(self.base, href, self._codec)

    def _below(self, of: Below | None) -> Any:
        if of is None:
            return self._root
        if isinstance(of, SelectorList):
            return of[0].root if of else None
        if isinstance(of, Selector) and not isinstance(of.root, str):
            return of.root
        raise ExtractError(f"of={of!r} is not a selector of an element")

    @property
    def _content_type(self) -> str:
        return self.headers.get("content-type", "")

    @cached_property
    def _codec(self) -> str:
        return encoding.decide(self.body, self._content_type)

    @cached_property
    def _is_xml(self) -> bool:
        return encoding.is_xml(self._content_type)

    @cached_property
    def _root(self) -> Any:
        return markup.parse(self.body, self._content_type)
