"""Numbers, prices and dates as people write them: what is read, and what is refused and why."""

import json
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limpet import MissingValue, Page, Record, Site, values
from limpet.missing import Missing
from limpet.values import NotRead, Unreadable, dates, numbers, prices
from limpet_store.items import Fetched

NBSP, NARROW, THIN = "\u00a0", "\u202f", "\u2009"

NUMBERS = [
    # text, arguments, the number
    ("0", {}, 0),
    ("42", {}, 42),
    ("  42\n", {}, 42),
    ("-5", {}, -5),
    ("−5", {}, -5),
    ("+5", {}, 5),
    ("-0", {}, 0),
    ("12,5", {}, 12.5),
    ("12.5", {}, 12.5),
    ("12.50", {}, 12.5),
    ("4.0", {}, 4.0),
    ("0.1", {}, 0.1),
    ("0,125", {}, 0.125),
    ("1,299.00", {}, 1299.0),
    ("1.299,00", {}, 1299.0),
    (f"1{NBSP}299,00", {}, 1299.0),
    (f"1{NARROW}299", {}, 1299),
    (f"1{THIN}234{THIN}567,5", {}, 1234567.5),
    ("1 299", {}, 1299),
    ("1'299.50", {}, 1299.5),
    ("1’299", {}, 1299),
    ("1.000.000", {}, 1000000),
    ("1,000,000", {}, 1000000),
    ("1,23,456.00", {}, 123456.0),
    ("12,34,567", {}, 1234567),
    ("1,234,567.890", {}, 1234567.89),
    ("1234.567", {}, 1234.567),
    ("1,234", {"decimal": "."}, 1234),
    ("1,234", {"decimal": ","}, 1.234),
    ("1.234", {"decimal": "."}, 1.234),
    ("1.234", {"decimal": ","}, 1234),
    ("١٢٣", {}, 123),
    ("١٬٢٣٤٫٥", {}, 1234.5),
    ("５００", {}, 500),
    ("１，２９９．５０", {}, 1299.5),
    ("\u200e1\u200b000,5\u200f", {}, 1000.5),
    ("123456789012345678901", {}, 123456789012345678901),
]

NO_NUMBERS = [
    # text, arguments, the reason
    ("1,234", {}, 'Say decimal="." or decimal=","'),
    ("1.234", {}, "1234 or 1.234?"),
    ("-1,234", {}, "1234 or 1.234?"),
    ("12,5", {"decimal": "."}, "not grouped like that"),
    ("1,2,3", {"decimal": ","}, "something follows the fraction"),
    ("", {}, "no number"),
    ("N/A", {}, "no number"),
    ("½", {}, "no number"),
    ("3½", {}, "'½' besides"),
    ("5²", {}, "'²' besides"),
    ("12 pcs", {}, "'pcs' besides"),
    ("(5.00)", {}, "'( )' besides"),
    ("20%", {}, "'%' besides"),
    ("1.5k", {}, "'k' besides"),
    ("2M", {}, "'M' besides"),
    ("from 9.99", {}, "'from' besides"),
    ("~ 5", {}, "'~' besides"),
    ("5-", {}, "'-' besides"),
    ("--5", {}, "'-' besides"),
    (".99", {}, "'.' besides"),
    ("9.99 – 12.99", {}, "more than one number: '9.99' and '12.99'"),
    ("9.99-12.99", {}, "more than one number"),
    ("4.5 out of 5", {}, "more than one number"),
    ("1/2", {}, "more than one number"),
    ("1e5", {}, "more than one number"),
    ("12 34", {}, "not grouped like that"),
    ("1.2.3", {}, "not grouped like that"),
    ("12.03.2025", {}, "not grouped like that"),
    ("1,234 567", {}, "not grouped like that"),
    ("0,000,123", {}, "not grouped like that"),
    ("+49 170 1234567", {}, "not grouped like that"),
    ("007", {}, "begins with a zero"),
    ("0.1234567890123456789", {}, "more digits than a float holds"),
    ("1" * 31, {}, "more than 30 digits"),
    (None, {}, "a NoneType, not text"),
    (5, {}, "a int, not text"),
]

PRICES = [
    # text, arguments, amount, currency
    ("1,299.00 €", {}, "1299.00", "EUR"),
    ("1.299,00 €", {}, "1299.00", "EUR"),
    (f"1{NARROW}299,00{NBSP}€", {}, "1299.00", "EUR"),
    ("€1299", {}, "1299", "EUR"),
    ("5 Euro", {}, "5", "EUR"),
    ("EUR 5,50", {}, "5.50", "EUR"),
    ("€-5", {}, "-5", "EUR"),
    ("−5 €", {}, "-5", "EUR"),
    ("-$0.00", {}, "0.00", "$"),
    ("1'299.–", {}, "1299", None),
    ("CHF 1’299.50", {}, "1299.50", "CHF"),
    ("Fr. 5.-", {}, "5", "CHF"),
    ("5,-- €", {}, "5", "EUR"),
    ("₹1,23,456.00", {}, "123456.00", "INR"),
    ("£51.77", {}, "51.77", "GBP"),
    ("USD 5", {}, "5", "USD"),
    ("5USD", {}, "5", "USD"),
    ("US$5", {}, "5", "USD"),
    ("US $5.00", {}, "5.00", "USD"),
    ("$5 CAD", {}, "5", "CAD"),
    ("A$ 12", {}, "12", "AUD"),
    ("R$ 5,00", {}, "5.00", "BRL"),
    ("5 zł", {}, "5", "PLN"),
    ("1 299,90 Kč", {}, "1299.90", "CZK"),
    ("₽ 500", {}, "500", "RUB"),
    ("５００円", {}, "500", "JPY"),
    ("Rs.500", {"currency": "INR"}, "500", "INR"),
    ("$5", {}, "5", "$"),
    ("$5", {"currency": "USD"}, "5", "USD"),
    ("5 kr", {}, "5", "kr"),
    ("5 kr", {"currency": "SEK"}, "5", "SEK"),
    ("¥5000", {}, "5000", "¥"),
    ("￥5000", {"currency": "CNY"}, "5000", "CNY"),
    ("12.34", {}, "12.34", None),
    ("12.34", {"currency": "EUR"}, "12.34", "EUR"),
    ("12.34 €", {"currency": "USD"}, "12.34", "EUR"),
    ("$1,299", {"decimal": "."}, "1299", "$"),
    ("1.899 €", {"decimal": "."}, "1.899", "EUR"),
    ("KWD 1.250", {"decimal": "."}, "1.250", "KWD"),
]

NO_PRICES = [
    ("$1,299", {}, "1299 or 1.299?"),
    ("1.899 €", {}, "1899 or 1.899?"),
    ("Free", {}, "no number"),
    ("Call us", {}, "no number"),
    ("from 9.99 €", {}, "'from' besides the amount is no currency"),
    ("9.99 – 12.99 €", {}, "more than one number"),
    ("was 20.00 now 15.00", {}, "more than one number"),
    ("2 x 5 €", {}, "more than one number"),
    ("5€50", {}, "more than one number"),
    ("5 EUR inkl. 19% MwSt.", {}, "more than one number"),
    ("5 €/kg", {}, "'€/kg' besides"),
    ("5,99 €*", {}, "'€*' besides"),
    ("99¢", {}, "an amount in cents"),
    ("99p", {}, "an amount in cents"),
    ("1.5k €", {}, "'k €' besides"),
    ("5 USDT", {}, "'USDT' besides"),
    ("5 usd", {}, "'usd' besides"),
    ("$5 EUR", {}, "two currencies: '$' and 'EUR'"),
    ("$5", {"currency": "EUR"}, "'$' does not mean EUR"),
    ("$.99", {}, "'$.' besides"),
    ("20%", {}, "'%' besides"),
]

CET = {"timezone": "Europe/Berlin"}
DATES = [
    ("2025-03-04", {}, "2025-03-04"),
    ("2025-3-4", {}, "2025-03-04"),
    ("2025/03/04", {}, "2025-03-04"),
    ("2025-03-04", {"order": "DMY"}, "2025-03-04"),
    ("2025-03-04T10:00:00+01:00", {}, "2025-03-04T10:00:00+01:00"),
    ("2025-03-04T10:00:00Z", {}, "2025-03-04T10:00:00+00:00"),
    ("2025-03-04T10:00-05:00", {}, "2025-03-04T10:00:00-05:00"),
    ("2025-03-04T10:00+0530", {}, "2025-03-04T10:00:00+05:30"),
    ("2025-03-04 10:00", {}, "2025-03-04T10:00:00"),
    ("2025-03-04 10:00:00.5", {}, "2025-03-04T10:00:00.500000"),
    ("2025-03-04T10:00:00.1234567Z", {}, "2025-03-04T10:00:00.123456+00:00"),
    ("Tue, 04 Mar 2025 10:00:00 GMT", {}, "2025-03-04T10:00:00+00:00"),
    ("Tue, 04 Mar 2025 10:00:00 -0500", {}, "2025-03-04T10:00:00-05:00"),
    ("4 March 2025", {}, "2025-03-04"),
    ("March 4, 2025", {}, "2025-03-04"),
    ("Mar. 4, 2025", {}, "2025-03-04"),
    ("MARCH 4 2025", {}, "2025-03-04"),
    ("Tuesday, March 4th, 2025", {}, "2025-03-04"),
    ("4th of March, 2025", {}, "2025-03-04"),
    ("04-Mar-2025", {}, "2025-03-04"),
    ("2025 Mar 4", {}, "2025-03-04"),
    ("Sept 4, 2025", {}, "2025-09-04"),
    ("March 4, 2025 at 10:00 p.m. UTC", {}, "2025-03-04T22:00:00+00:00"),
    ("March 4, 2025 12:30 AM", {}, "2025-03-04T00:30:00"),
    ("13/02/2025", {}, "2025-02-13"),
    ("02/13/2025", {}, "2025-02-13"),
    ("04.04.2025", {}, "2025-04-04"),
    ("03/04/2025", {"order": "DMY"}, "2025-04-03"),
    ("03/04/2025", {"order": "MDY"}, "2025-03-04"),
    ("4. 3. 2025", {"order": "DMY"}, "2025-03-04"),
    ("2025年3月4日", {}, "2025-03-04"),
    ("２０２５年３月４日", {}, "2025-03-04"),
    ("4. März 2025", {"languages": ["de"]}, "2025-03-04"),
    ("Dienstag, 4. Mai 2025, 10:00", {"languages": ["de"]}, "2025-05-04T10:00:00"),
    ("le 4 mars 2025", {"languages": ["en", "fr"]}, "2025-03-04"),
    ("4 March 2025", {"languages": ["en", "fr"]}, "2025-03-04"),
    ("4 de marzo de 2025", {"languages": ["es"]}, "2025-03-04"),
    ("4 марта 2025 г.", {"languages": ["ru"]}, "2025-03-04"),
    ("2025-03-04 10:00", CET, "2025-03-04T10:00:00+01:00"),
    ("2025-07-04 10:00", CET, "2025-07-04T10:00:00+02:00"),
    ("2025-07-04 10:00Z", CET, "2025-07-04T10:00:00+00:00"),
    ("2025-07-04 10:00", {"timezone": "+03:00"}, "2025-07-04T10:00:00+03:00"),
    ("4 March 2025 10:00 CET", CET, "2025-03-04T10:00:00+01:00"),
    ("26 October 2025 02:30 CEST", CET, "2025-10-26T02:30:00+02:00"),
    ("26 October 2025 02:30 CET", CET, "2025-10-26T02:30:00+01:00"),
    ("2025-07-04", CET, "2025-07-04"),
    ("1741082400", {"format": "unix"}, "2025-03-04T10:00:00+00:00"),
    ("1741082400.25", {"format": "unix"}, "2025-03-04T10:00:00.250000+00:00"),
    ("1741082400500", {"format": "unix-ms"}, "2025-03-04T10:00:00.500000+00:00"),
    ("20250304", {"format": "%Y%m%d"}, "2025-03-04"),
    ("9999-12-31", {"format": "%Y-%m-%d"}, "9999-12-31"),
    ("4.3.25", {"format": "%d.%m.%y"}, "2025-03-04"),
    ("4.3.2025 10.30", {"format": "%d.%m.%Y %H.%M", **CET}, "2025-03-04T10:30:00+01:00"),
]

NO_DATES = [
    ("03/04/2025", {}, 'Say order="DMY" or order="MDY"'),
    ("03.04.2025", {}, "day or month first?"),
    ("25/12/2025", {"order": "MDY"}, "no such day"),
    ("03/04/2025", {"order": "YMD"}, "the year is not the first"),
    ("03/04/25", {"order": "DMY"}, "no year of four digits"),
    ("4 March", {}, "no year of four digits"),
    ("4 March '25", {}, "no year of four digits"),
    ("March 2025", {}, "not one whole date"),
    ("2025", {}, "not one whole date"),
    ("2025-W10-2", {}, "not one whole date"),
    ("2025-13-04", {}, "no such day"),
    ("31 February 2025", {}, "no such day"),
    ("2025-02-29", {}, "no such day"),
    ("Sunday 4 March 2025", {}, "2025-03-04 is a Tuesday"),
    ("4 มีนาคม 2568", {"languages": ["th"]}, "another calendar's?"),
    ("0001-01-01T00:00:00", {}, "a placeholder"),
    ("9999-12-31", {}, "a placeholder"),
    ("yesterday", {}, "relative"),
    ("3 days ago", {}, "relative"),
    ("10:00", {}, "no year"),
    ("N/A", {}, "no year"),
    ("Published: 4 March 2025 by Bob", {}, "words besides it"),
    ("4 March 2025 - 5 March 2025", {}, "not one whole date"),
    ("4–6 March 2025", {}, "not one whole date"),
    ("4. März 2025", {}, "languages= may help"),
    ("4 March 2025", {"languages": ["de"]}, "not one whole date"),
    ("4 March 2025 25:00", {}, "no such time"),
    ("4 March 2025 13:00 pm", {}, "no such time"),
    ("4 March 2025 10:00-12:00", {}, "an offset, or when it ends?"),
    ("2025-03-04 10:00 EST", {}, "names stand for several"),
    ("2025-03-04 10:00 EST", CET, "not what Europe/Berlin called its time"),
    ("2025-07-04 10:00 CET", CET, "not what Europe/Berlin called its time"),
    ("2025-10-26 02:30", CET, "there twice"),
    ("2025-03-30 02:30", CET, "skipped"),
    ("2025-03-04T10:00+99:00", {}, "names stand for several"),
    ("1741082400", {}, "no year"),
    ("1741082400500", {"format": "unix"}, "unix-ms"),
    ("999999999999999", {"format": "unix-ms"}, "beyond the year 9999"),
    ("20250304", {}, "no year"),
    ("2025-03-04", {"format": "%d.%m.%Y"}, "does not fit '%d.%m.%Y'"),
    (1741082400, {}, "a int, not text"),
]


@pytest.mark.parametrize(("text", "how", "number"), NUMBERS)
def test_a_number_is_read(text, how, number):
    found = numbers.number(text, **how)
    assert (found, type(found)) == (number, type(number))
    assert str(found) == str(number)  # no minus before a zero


@pytest.mark.parametrize(("text", "how", "amount", "currency"), PRICES)
def test_a_price_is_read(text, how, amount, currency):
    found = prices.price(text, **how)
    assert found == {"amount": amount, "currency": currency}
    assert (str(found.amount), found.currency) == (amount, currency)


@pytest.mark.parametrize(("text", "how", "moment"), DATES)
def test_a_date_is_read(text, how, moment):
    assert dates.date(text, **how) == moment
    assert datetime.fromisoformat(moment)


@pytest.mark.parametrize(
    ("read", "text", "how", "reason"),
    [(numbers.number, *row) for row in NO_NUMBERS]
    + [(prices.price, *row) for row in NO_PRICES]
    + [(dates.date, *row) for row in NO_DATES],
)
def test_what_is_in_doubt_is_refused(read, text, how, reason):
    with pytest.raises(NotRead) as error:
        read(text, **how)
    assert reason in error.value.reason
    assert error.value.text == text
    assert repr(text) in str(error.value)


@pytest.mark.parametrize(
    ("read", "how", "words"),
    [
        (numbers.number, {"decimal": ";"}, 'decimal=\';\': "." or ","'),
        (prices.price, {"currency": "€"}, "currency='€': not an ISO 4217 code"),
        (dates.date, {"order": "DM"}, "order='DM'"),
        (dates.date, {"languages": "de"}, r"a list, \['de'\]"),
        (dates.date, {"timezone": "Mars/Base"}, "timezone='Mars/Base'"),
        (dates.date, {"format": "%d.%m."}, "a year must be in it"),
        (dates.date, {"format": "%Y %Z"}, "names of time zones"),
        (dates.date, {"format": "%Y %Q"}, "%Y %Q|bad directive"),
    ],
)
def test_wrong_arguments_are_the_authors_mistake_and_not_the_pages(read, how, words):
    with pytest.raises(ValueError, match=words) as error:
        read("2025", **how)
    assert not isinstance(error.value, NotRead)


LOCALES = [
    (",", "."),
    (".", ","),
    (NBSP, ","),
    (NARROW, ","),
    ("'", "."),
    ("’", "."),
    ("٬", "٫"),
    ("", "."),
    ("", ","),
]
amounts = (
    st.decimals(-(10**9), 10**9, places=3)
    | st.decimals(-(10**5), 10**5, places=2)
    | st.integers().map(Decimal)
)
amounts = amounts.filter(lambda amount: abs(amount) < 10**15)


def written(amount, group, sign, digits="0123456789"):
    shown = f"{amount:,f}".replace(",", "\0").replace(".", sign).replace("\0", group)
    return shown.translate({ord("0") + at: digit for at, digit in enumerate(digits)})


@given(amounts, st.sampled_from(LOCALES), st.sampled_from(["0123456789", "٠١٢٣٤٥٦٧٨٩", "०१२३४५६७८९"]))
def test_a_number_that_was_written_in_any_locale_is_never_read_as_another(amount, locale, digits):
    try:
        found = numbers.number(written(amount, *locale, digits))
    except NotRead as error:
        assert "Say decimal" in error.reason  # noqa: PT017
    else:
        assert Decimal(repr(found)) == amount


@given(amounts, st.sampled_from([locale for locale in LOCALES if locale[1] in ".,"]))
def test_with_its_decimal_sign_every_number_is_read(amount, locale):
    group, sign = locale
    assert Decimal(repr(numbers.number(written(amount, group, sign), sign))) == amount
    assert prices.price(written(amount, group, sign) + " €", sign).amount == amount


@given(amounts, st.sampled_from(["€", "$", "£", "kr", "CHF"]), st.booleans())
def test_a_price_keeps_every_digit_through_json(amount, sign, before):
    shown = written(amount, "", ".")
    found = prices.price(f"{sign}{shown}" if before else f"{shown} {sign}", ".")
    assert Decimal(json.loads(json.dumps(found))["amount"]) == amount


@given(st.text(alphabet="0123456789.,' ٫-+€$k%(/x" + NBSP, max_size=12), st.sampled_from([None, ".", ","]))
def test_whatever_stands_there_is_read_or_refused(text, decimal):
    for read in (numbers.number, prices.price):
        try:
            read(text, decimal)
        except NotRead:
            pass


FORMS = ["%d %B %Y", "%B %d, %Y", "%a, %d %b %Y", "%Y-%m-%d", "%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%Y/%m/%d"]


@given(
    st.dates(date(1500, 1, 1), date(2200, 12, 31)),
    st.sampled_from(FORMS),
    st.sampled_from([None, "DMY", "MDY"]),
)
def test_a_date_in_any_form_is_read_as_it_was_meant_or_by_the_given_order_or_refused(day, form, order):
    swapped = (
        order is not None and form in ("%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y") and order[0] != form[1].upper()
    )
    try:
        found = dates.date(day.strftime(form), order=order)
    except NotRead as error:
        assert swapped or "first?" in error.reason  # noqa: PT017
    else:
        assert swapped or found == day.isoformat()


@given(st.datetimes(datetime(1500, 1, 1), datetime(2200, 12, 31)), st.integers(-14 * 60, 14 * 60) | st.none())
def test_every_moment_that_python_writes_is_read_back(moment, minutes):
    if minutes is not None:
        moment = moment.replace(tzinfo=timezone(timedelta(minutes=minutes)))
    assert dates.date(moment.isoformat()) == moment.isoformat()
    assert dates.date(str(moment)) == moment.isoformat()


@given(st.text(alphabet="0123456789-/.: TZMarch,+年月日'", max_size=24))
def test_whatever_stands_there_is_a_date_or_refused(text):
    try:
        datetime.fromisoformat(dates.date(text))
    except NotRead:
        pass


def page(body):
    return Page(Fetched("http://h.example/", 200, {"content-type": "text/html"}, body.encode()))


def test_a_page_gives_numbers_prices_and_dates():
    view = page(
        "<b class=n>1 299</b><p class=p>1.299,00&nbsp;€</p><time datetime=2025-03-04T10:00Z>today</time>"
        "<meta itemprop=price content=12.5><ins datetime=''>4 March 2025</ins>"
    )
    assert view.number(".n") == 1299
    assert view.number("[itemprop=price]::attr(content)") == 12.5
    assert view.price(".p") == {"amount": "1299.00", "currency": "EUR"}
    assert view.date("time") == "2025-03-04T10:00:00+00:00"
    assert view.date("ins") == "2025-03-04"
    assert isinstance(view.date("time::text"), Unreadable)


def test_what_is_absent_is_so_as_for_one():
    view = page("<p class=p> </p><div><i>5</i></div>")
    assert [read(".p", None) for read in (view.number, view.price, view.date)] == [None] * 3
    assert type(view.number(".p")) is Missing
    assert view.missing == [".p"]
    assert view.number("i", of=view.css("div")) == 5
    assert view.number("i", 0, of=view.css("nothing")) == 0


def test_match_says_which_part_is_meant():
    view = page("<p>In stock (22 available)</p><i>Published: 4 March 2025 by Bob</i><b>5,99 €*</b>")
    assert view.number("p", match=r"\((\d+) available\)") == 22
    assert view.price("b", match=r"[^*]+") == {"amount": "5.99", "currency": "EUR"}
    assert view.date("i", match=r": (.+) by") == "2025-03-04"
    unreadable = view.number("p", match="sold (.+)")
    assert (unreadable.shown, unreadable.reason) == (
        "In stock (22 available)",
        "nothing in it fits 'sold (.+)'",
    )


@pytest.mark.parametrize("shown", ["5<sup>99</sup>", "<s>12</s> <b>999</b>", "<i>1</i><!-- --><i>2</i>"])
def test_digits_of_two_elements_are_not_one_number(shown):
    view = page(f"<p>{shown}</p>")
    for value in (view.number("p"), view.price("p")):
        assert "stand in two elements" in value.problem


def test_one_number_may_be_spread_over_elements():
    assert page("<p><i>$</i><b>5</b><i>.</i><b>99</b></p>").price("p").amount == Decimal("5.99")


def extracted(handler, body="<p>from 9.99</p><b>5</b>"):
    site = Site("shop", ["http://h.example/"])
    site.page("/")(handler)
    return site.extract(Fetched("http://h.example/", 200, {}, body.encode(), "product"))


def test_what_cannot_be_read_rejects_its_record_alone_and_says_what_stands_there():
    def product(view):
        yield Record("product", "a", {"price": view.price("p")})
        yield Record("product", "b", {"price": view.price("b")})
        yield Record("product", "c", {"price": view.price("u")})

    found = extracted(product)
    assert [record.key for record in found.records] == ["b"]
    assert [(r.key, r.reason, r.value) for r in found.rejections] == [
        ("a", "data.price: 'from 9.99' at 'p': 'from' besides the amount is no currency", "from 9.99"),
        ("c", "data.price: nothing at 'u'", ""),
    ]


def test_a_default_is_for_what_is_absent_and_not_for_what_cannot_be_read():
    assert isinstance(page("<p>call us</p>").price("p", None), Unreadable)


@pytest.mark.parametrize(
    "use",
    [
        lambda v: v * 2,
        lambda v: 2 * v,
        lambda v: 1.19 * v,
        lambda v: Decimal(2) * v,
        lambda v: 100 - v,
        lambda v: v / 3 + 1,
        lambda v: 3 // v,
        lambda v: -v,
        lambda v: abs(v),
        lambda v: round(v, 2),
        lambda v: v**2,
        lambda v: sum([1, v]),
        lambda v: v.amount * 2,
        lambda v: v["amount"],
        lambda v: v.currency,
    ],
)
@pytest.mark.parametrize("css", ["p", "u"])
def test_arithmetic_with_an_unreadable_or_missing_number_gives_it_back(use, css):
    value = page("<p>from 5</p>").number(css)
    assert use(value) is value


@pytest.mark.parametrize("use", [lambda v: v > 5, lambda v: v == 5, int, float, lambda v: divmod(v, 2)])
def test_what_cannot_be_read_ends_the_handler_where_it_is_looked_into(use):
    value = page("<p>from 5</p>").number("p")
    with pytest.raises(MissingValue, match="'from 5' at 'p': 'from' besides the number"):
        use(value)


def test_text_that_a_handler_has_already_is_read_likewise():
    assert values.number("12") == 12
    assert values.price("12", currency="EUR") == {"amount": "12", "currency": "EUR"}
    assert values.date("03/04/2025", order="DMY") == "2025-04-03"
    spoiled = [values.number("a dozen"), values.price(None), values.date("tomorrow")]
    assert [value.problem for value in spoiled] == [
        "'a dozen': no number in it",
        "None: a NoneType, not text",
        "'tomorrow': relative to the day it is read on",
    ]


@pytest.mark.parametrize("amount", ["12", "12.5", "1299", "0.1", "1.234", "0.0000001", "1e3"])
def test_a_number_that_json_has_already_is_the_price(amount):
    found = values.price(json.loads(amount), currency="EUR", decimal=",")
    assert found.amount == Decimal(amount)
    assert values.number(json.loads(amount)) == json.loads(amount)


@pytest.mark.parametrize("amount", [True, float("nan"), float("inf"), [5]])
def test_what_is_no_number_of_json_is_no_price_either(amount):
    assert isinstance(values.price(amount), Unreadable)


def test_a_long_text_does_not_push_the_reason_out():
    def product(view):
        return Record("product", "a", {"n": view.number("p")})

    (rejection,) = extracted(product, f"<p>{'word ' * 100}</p>").rejections
    assert rejection.reason.endswith("at 'p': no number in it")


def test_what_is_computed_is_stored_as_its_digits():
    def product(view):
        data = {"gross": view.price("b").amount * Decimal("1.19"), "when": date(2025, 3, 4)}
        data |= {"at": datetime(2025, 3, 4, 10, tzinfo=UTC), "huge": Decimal("1E+3")}
        yield Record("product", "a", data)
        yield Record("product", "b", {"x": Decimal("NaN")})

    found = extracted(product)
    assert found.records[0].data == {
        "gross": "5.95",
        "when": "2025-03-04",
        "at": "2025-03-04T10:00:00+00:00",
        "huge": "1000",
    }
    assert [rejection.key for rejection in found.rejections] == ["b"]
