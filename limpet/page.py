"""A page as its handler sees it: selectors, values that must be there, and links.

page.one(".sku")                   text of the first match; nothing there rejects the record
page.one(".note", None)            the same, optional
page.one(".price::text", of=card)  below `card`, a selector from page.css() or page.xpath()
page.all("li::attr(id)")           every match
page.css("li"), page.xpath("//p")  parsel's own selectors
page.pick("price.amount")          the same as `one` for JSON: of the page, or of a part of it with `of`
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any, TypeVar, Unpack, overload

from parsel import Selector, SelectorList

from limpet import arguments, bounds, encoding, kinds, links, markup, outgoing, requesting
from limpet.missing import Missing, MissingValue
from limpet_store.errors import ExtractError
from limpet_store.failures import UNREADABLE
from limpet_store.items import JSON, Fetched, Link

TYPE_CHECKING = False  # as in `typing`; what reads values is imported when the first is read
if TYPE_CHECKING:
    from limpet.feeds import FeedEntry
    from limpet.structured.nodes import Nodes
    from limpet.values import DecimalSign, Order, Price

T = TypeVar("T")
V = TypeVar("V")
Below = Selector | SelectorList[Selector]
NOFOLLOW = links.NoLink(reason="nofollow")
_REQUIRED: Any = object()
_WHOLE: Any = object()  # the page's JSON; None is what a part of it may be


class Page:
    """One fetched page. Parsed once, when something is first selected from it.

    `headers` have lower-case names. `params` are the pieces of the URL that the handler's pattern names, as
    decoded strings. `data` is what the page that linked here handed down.
    """

    def __init__(self, fetched: Fetched, params: Mapping[str, str] = MappingProxyType({})) -> None:
        self.url = fetched.url
        self._answered = fetched.base  # where its redirects led
        self.status = fetched.status
        self.headers = fetched.headers
        self.body = fetched.body
        self.data: JSON = fetched.data
        self.depth = fetched.depth
        self.params = params
        self.missing: list[str] = []  # selectors of `one` that found nothing
        self.cut = False  # its handler ended early
        self.unread: list[str] = []  # what could not be read where a handler looked in vain
        self.bounds = bounds.DEFAULT

    def __repr__(self) -> str:
        return f"<Page {self.url}>"

    @property
    def type(self) -> str:
        """The media type in lower case, `text/html`; "" when the server named none."""
        return encoding.media_type(self._content_type)

    @property
    def is_html(self) -> bool:
        """Whether selectors read this as HTML: its server says so, or it begins like it; and it is nothing else."""
        if self._is_xml or kinds.no_markup(self.body, self._content_type):
            return False
        return self.type in kinds.MARKUP or bool(self.body.strip())

    @cached_property
    def text(self) -> str:
        """The body as text, its encoding found as the HTML standard says; nothing is cut."""
        return encoding.decode(self.body, self._content_type)

    def json(self) -> JSON:
        """The body as JSON, in the encoding that its header, its BOM or its first bytes say. Raises ExtractError when
        it is none, and for NaN and Infinity, which JSON has not."""
        codec = encoding.header_codec(self._content_type)
        body = self.body.removeprefix(b"\xef\xbb\xbf")
        if (
            codec == encoding.REPLACEMENT
            or len(body) < len(self.body)
            or body[:2] in (b"\xff\xfe", b"\xfe\xff")
        ):
            codec = None  # its own bytes say it
        try:
            text = body.decode(codec) if codec else body
            return json.loads(text, parse_constant=_no_json)
        except (ValueError, RecursionError) as error:
            raise ExtractError(f"not JSON: {error}", UNREADABLE) from error

    @overload
    def pick(self, path: str, *, of: JSON = _WHOLE) -> JSON: ...
    @overload
    def pick(self, path: str, default: T, *, of: JSON = _WHOLE) -> JSON | T: ...
    def pick(self, path: str, default: Any = _REQUIRED, *, of: JSON = _WHOLE) -> JSON:
        """What stands at `path` in the page's JSON, or in `of`, a part of it or a node of `jsonld`.

        A path is one of JMESPath, without functions: `price.amount`, `offers[0].sku`, `items[?stock > `0`].name`;
        the lists that `[*]` and `[?...]` give leave out what is null. Where nothing is, or null, it gives `default`;
        without a default a `Missing`, as `one` does. Raises ExtractError for what is no path, and MissingValue where
        one compares a text with a number.
        """
        if isinstance(of, (Selector, SelectorList)):
            raise ExtractError(f"page.pick({path!r}): of= is a selector; page.one looks there")
        found = _path(path)(self._json if of is _WHOLE else of)
        if found is not None:
            return found
        if default is not _REQUIRED:
            return default
        self.missing.append(path)
        return of if isinstance(of, Missing) else Missing(path)

    def result(self) -> JSON:
        """The `data` of a GraphQL answer. Raises ExtractError for one with errors, or without data: the page is tried
        again."""
        answer = self.json()
        errors = answer.get("errors") if isinstance(answer, dict) else None
        if errors or not isinstance(answer, dict) or answer.get("data") is None:
            told = [each.get("message") for each in errors or () if isinstance(each, dict)]
            raise ExtractError(f"GraphQL: {'; '.join(map(str, told[:3])) or 'no data in the answer'}")
        return answer["data"]

    @cached_property
    def selector(self) -> Selector:
        """The whole document as a parsel selector. Raises ExtractError for what is no HTML or XML (a PDF, a picture,
        JSON, plain text), for what the parser would cut, and for more elements or links than `site.tune` allows."""
        return Selector(root=self._root, type="xml" if self._is_xml else "html")

    def css(self, css: str) -> SelectorList[Selector]:
        """parsel's `css`."""
        try:
            return self.selector.css(css)
        except SyntaxError as error:  # cssselect's
            raise _no_selector(css, error) from None

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
        found = self._select(css)(root) if root is not None else ()
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
        found = self._select(css)(root) if root is not None else ()
        return [text for text in map(markup.text_of, found) if text]

    def number(
        self,
        css: str,
        default: T = _REQUIRED,
        *,
        of: Below | None = None,
        match: str | None = None,
        decimal: DecimalSign | None = None,
    ) -> int | float | T:
        """The number that is shown at `css`: an int if no fraction is written, else a float.

        It is where `one` would look, and as absent as there. What is there and is not one number beyond doubt
        (`1,234` without `decimal`, `from 5`, `20%`) is an `Unreadable`, whatever the default: it rejects the
        record, with the text. `match` is a regular expression whose first group (or all) is read, instead of
        the whole text: `match=r"(.+) in stock"`. `decimal` is the decimal sign, `"."` or `","`.
        """
        from limpet.values import numbers, shown

        return self._value(css, default, of, match, shown.figures, partial(numbers.number, decimal=decimal))

    def price(
        self,
        css: str,
        default: T = _REQUIRED,
        *,
        of: Below | None = None,
        match: str | None = None,
        decimal: DecimalSign | None = None,
        currency: str | None = None,
    ) -> Price | T:
        """The price that is shown at `css`, stored as `{"amount": "1299.00", "currency": "EUR"}`; `.amount` is
        the Decimal to compute with.

        `currency` (ISO 4217) is that of a price without a sign, and of several that a sign like `$` may mean the
        one that is meant; without it such a sign stays as it is. The rest is as in `number`.
        """
        from limpet.values import prices, shown

        read = partial(prices.price, decimal=decimal, currency=currency)
        return self._value(css, default, of, match, shown.figures, read)

    def date(
        self,
        css: str,
        default: T = _REQUIRED,
        *,
        of: Below | None = None,
        match: str | None = None,
        format: str | None = None,
        order: Order | None = None,
        languages: Sequence[str] | None = None,
        timezone: str | None = None,
    ) -> str | T:
        """The date at `css` in ISO 8601: `2025-03-04`, or `2025-03-04T10:00:00+01:00` if a time is shown.

        The `datetime` attribute of `<time>` comes before its text; `time::text` reads the text. `order` (`"DMY"`,
        `"MDY"`) says how `03/04/2025` is meant, `languages` (`["de"]`) in which the months are if not in English.
        `timezone` (`"Europe/Berlin"`, `"+01:00"`) is that of times without an offset. `format` is one of
        `strptime`, `"unix"` or `"unix-ms"`. Relative dates are never read. The rest is as in `number`.
        """
        from limpet.values import dates, shown

        read = partial(dates.date, format=format, order=order, languages=languages, timezone=timezone)
        return self._value(css, default, of, match, shown.moment, read)

    def _value(
        self,
        css: str,
        default: T,
        of: Below | None,
        match: str | None,
        look: Callable[[Any], str],
        read: Callable[[str], V],
    ) -> V | T:
        from limpet.values import NotRead, Unreadable, shown

        root = self._below(of)
        found = self._select(css)(root) if root is not None else ()
        text = ""
        try:
            if found and (text := look(found[0])):
                return read(shown.part(text, match))
        except NotRead as error:
            return Unreadable(css, text or error.text, error.reason)  # type: ignore[return-value]
        return self.one(css, default, of=of)  # type: ignore[return-value]

    def link(
        self,
        target: str | Below,
        *,
        to: str | Callable[..., Any] | None = None,
        data: JSON = None,
        priority: int = 0,
        merge: str | None = None,
    ) -> Link:
        """A page to visit: a URL (relative to the document's base), or a selector of an element with `href`.

        `to` is a handler or its name, instead of the one whose pattern fits. `data` (JSON, at most 16 KB) is
        handed down as `page.data`: the first page that links it wins, and stays. With `merge="list"` it is a list
        instead, of what all pages that link it hand down (each once, in an order of its own), and the page is read
        again when the list has changed since. What is no link (an empty selector, a malformed URL) costs itself alone:
        it is counted when yielded. Links to `javascript:`, `mailto:` and the like, and into the same page,
        lead nowhere and count nowhere.
        """
        href = None if isinstance(target, Missing) else links.href(target)
        url, reason = self._resolve(href) if href is not None else ("", "no link")
        if reason is not None:
            return links.NoLink(reason=reason)
        name = to if to is None or isinstance(to, str) else to.__name__
        return Link(url, name, data, priority, merge=merge is not None and requesting.merges(merge))

    def links(
        self,
        css: str | None = None,
        *,
        to: str | Callable[..., Any] | None = None,
        data: JSON = None,
        priority: int = 0,
        merge: str | None = None,
        frames: bool = False,
        images: bool = False,
        nofollow: bool = True,
    ) -> Iterator[Link]:
        """A `link` for each match of `css` that has an `href`; `css` may end in `::attr(name)`.

        Without `css`: every `a` and `area`, `link rel=next` and `canonical`, and `meta` refreshes (not in `noscript`);
        with `frames` the `src` of frames, with `images` the `src` and `srcset` of pictures. `nofollow=False` leaves out
        what says `rel=nofollow`, or everything where the page says so of itself, and counts it.
        """
        more: dict[str, Any] = {"to": to, "data": data, "priority": priority, "merge": merge}
        vouched = nofollow or not outgoing.vouches_for_none(self._root, self.headers.get("x-robots-tag", ""))
        for href, element in self._hrefs(css, frames, images):
            left_out = not nofollow and not (vouched and outgoing.vouches(element))
            yield NOFOLLOW if left_out else self.link(href, **more)

    def _hrefs(self, css: str | None, frames: bool, images: bool) -> Iterator[tuple[str, Any]]:
        if css is None and not self._is_xml:
            return outgoing.hrefs(self._root, frames=frames, images=images)
        if frames or images:
            raise ExtractError("page.links: frames and images are for HTML, and without a selector")
        return outgoing.matched(self._select(css or "a[href]")(self._root))

    def request(self, target: str | Below, **more: Unpack[arguments.Asked]) -> Link:
        """A page that is more than a GET of its URL: `page.request("/api", json={"q": "tea"}, safe=True, to=found)`.

        `more` is that of `limpet.request`; `target` is that of `link`, or "" for this page's own URL. With a value
        in it that is missing it is a rejection, as any link is, and costs itself alone.
        """
        arguments.check("page.request", more, arguments.Asked)
        return self._asked(target, lambda url: requesting.request(url, **more))

    def graphql(
        self,
        target: str | Below,
        query: str,
        variables: Mapping[str, JSON] | None = None,
        *,
        operation: str | None = None,
        **more: Unpack[arguments.Keyed],
    ) -> Link:
        """A GraphQL query as a page; the arguments are those of `limpet.graphql`, `target` that of `request`."""
        arguments.check("page.graphql", more, arguments.Keyed, ("query", "variables", "operation"))
        return self._asked(
            target, lambda url: requesting.graphql(url, query, variables, operation=operation, **more)
        )

    def follow(self, target: str | Below, *, key: str, **more: Unpack[arguments.Sent]) -> Link:
        """The next page of a listing whose URL does not last (a token, a cursor, a session id in it).

        `key` is its identity: the place in the listing, as `f"list/{category}/{n + 1}"`. A known place that is not
        done takes the newest URL; in a new round it is visited when the page before it was. When the site refuses
        the token (400, 410, or 403 for the second time), the nearest page before it whose URL lasts is visited again,
        and the way is found anew. `more` is that of `limpet.request`.
        """
        arguments.check("page.follow", more, arguments.Sent, ("key",))
        return self._asked(target, lambda url: requesting.position(requesting.request(url, **more), key))

    def _asked(self, target: str | Below, make: Callable[[str], Link]) -> Link:
        href = None if isinstance(target, Missing) else links.href(target)
        url, reason = (
            (self.url, None) if href == "" else ("", "no link") if href is None else self._resolve(href)
        )
        if reason is not None:
            return links.NoLink(reason=reason)
        try:
            return make(url)
        except MissingValue as error:
            return links.NoLink(url, missing=str(error))

    def jsonld(self, *types: str) -> Nodes:
        """The JSON-LD nodes of these types in the page, however deeply nested; without a type all top nodes.

        A list of plain dicts, the less nested ones first. A block that cannot be read costs itself alone and is
        named in the list's `errors`. `.one()` is the first node, or rejects as a missing value does; `.resolve()`
        follows an `{"@id": ...}`. `limpet.structured.tolerant` says which mistakes are mended.
        """
        found = self._jsonld.of(*types)
        if not found:
            self.unread += found.errors
        return found

    def microdata(self, *types: str) -> Nodes:
        """The HTML microdata items of these types, in the shape and order of `jsonld`.

        A property with one value is that value, with several a list. Values are strings or nodes; URLs are absolute.
        """
        return self._microdata.of(*types)

    def embedded(self, name: str, default: Any = _REQUIRED) -> JSON:
        """The data that the page's scripts call `name`, read as JSON or as a JavaScript literal.

        `name` is the id of a `<script>` (`__NEXT_DATA__`), a variable or property that is assigned
        (`window.__STATE__`, `shop.product`), a key inside a larger object, a function called with the data
        (`dataLayer.push`), or a CSS selector of an element or `::attr(data-page)`. The first object or list of
        that name wins, assignments before keys. Where nothing is, it gives `default`. Without a default raises
        MissingValue, and always when what is assigned to the name is there but is no literal.
        """
        from limpet.structured import embedded, tolerant

        try:
            return embedded.find(self._root, name, self._is_xml)
        except embedded.NotThere as error:
            if default is not _REQUIRED:
                return default
            raise MissingValue(str(error)) from None
        except tolerant.Broken as error:
            raise MissingValue(str(error)) from None

    def opengraph(self) -> dict[str, JSON]:
        """The page's `og:`, `product:`, `article:`, `twitter:` and similar metas, by their whole names.

        A property that occurs once is a string, else a list. Images, videos and sounds are lists side by side:
        `og:image:width` has as many entries as `og:image`, None where nothing is said. URLs are absolute.
        """
        from limpet.structured import opengraph

        return opengraph.read(self._root, self._absolute)

    def feed(self) -> list[FeedEntry]:
        """The entries of an RSS or Atom feed, in order: `id`, `link` (absolute), `title`, `published`, `updated`
        (ISO 8601) and `summary`, each None where the feed says nothing.

        Common mistakes are read past. What is no feed, or was cut, raises ExtractError. For more than that, hand
        `io.BytesIO(page.body)` to a library like feedparser (bytes that look like a path it would open).
        """
        from limpet import feeds

        self.bounds.check(self.body)
        return feeds.parse(self.body, self._content_type, self.url)

    @cached_property
    def _jsonld(self) -> Nodes:
        from limpet.structured import jsonld

        return jsonld.read(self._root)

    @cached_property
    def _microdata(self) -> Nodes:
        from limpet.structured import microdata

        return microdata.read(self._root, self._absolute)

    @cached_property
    def _absolute(self) -> Callable[[str], str]:
        from limpet.structured import urls

        return urls.absolute(self.base, self._codec)

    @cached_property
    def base(self) -> str:
        """The URL that relative links start from: that of the first `<base href>`, else the page's own (with
        `follow="inline"` the one that its redirects led to)."""
        own = self._answered or self.url
        if self._is_xml or kinds.no_markup(self.body, self._content_type):
            return own
        found = markup.select("base::attr(href)", False)(self._root)
        url, reason = links.resolve(own, found[0]) if found else ("", "")
        return own if reason is not None else url

    @cached_property
    def _json(self) -> JSON:
        return self.json()

    def _resolve(self, href: str) -> tuple[str, str | None]:
        return links.resolve(self.base, href, self._codec)

    def _select(self, css: str) -> Callable[[Any], Any]:
        try:
            return markup.select(css, self._is_xml)
        except SyntaxError as error:  # cssselect's
            raise _no_selector(css, error) from None

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
        return markup.parse(self.body, self._content_type, self.bounds)


def _no_selector(css: str, error: SyntaxError) -> ExtractError:
    return ExtractError(f"{css!r} is no CSS selector: {type(error).__name__}: {error}")


def _no_json(word: str) -> None:
    raise ValueError(f"{word} is no number of JSON")


def _path(text: str) -> Callable[[JSON], JSON]:
    from limpet.paths import BadPath, path

    try:
        return path(text)
    except BadPath as error:
        raise ExtractError(f"page.pick: {error}") from None
