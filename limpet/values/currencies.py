"""What people write for a currency, and which currencies it may mean.

The lists are our own: the libraries that know symbols either give the symbol back (and not the code), miss those
of the last twenty years, or bring 30 MB of locales along.
"""

from __future__ import annotations

_CODES = """
    AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF
    CLP CNY COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HRK
    HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL
    MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON
    RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH
    UGX USD UYU UZS VED VES VND VUV WST XAF XCD XCG XOF XPF YER ZAR ZMW ZWG
"""
CODES = frozenset(_CODES.split())

_DOLLARS = (
    "USD AUD BBD BMD BND BSD BZD CAD FJD GYD HKD JMD KYD LRD NAD NZD SBD SGD SRD TTD TWD XCD "
    "ARS CLP COP CUP DOP MXN UYU"
)
# Where several codes follow, the sign alone does not say which.
_SIGNS = {
    "$": _DOLLARS,
    "US$": "USD", "USD$": "USD", "U.S.$": "USD", "A$": "AUD", "AU$": "AUD", "CA$": "CAD", "C$": "CAD NIO",
    "CDN$": "CAD", "HK$": "HKD", "MX$": "MXN", "NT$": "TWD", "NZ$": "NZD", "R$": "BRL", "S$": "SGD", "SG$": "SGD",
    "€": "EUR", "Euro": "EUR", "euro": "EUR", "euros": "EUR", "eur": "EUR",
    "£": "GBP", "E£": "EGP",
    "¥": "JPY CNY", "JP¥": "JPY", "CN¥": "CNY", "円": "JPY", "元": "CNY TWD HKD MOP", "RMB": "CNY",
    "kr": "SEK NOK DKK ISK", "kr.": "DKK SEK NOK ISK", "Kr": "SEK NOK DKK ISK", "Kr.": "DKK SEK NOK ISK",
    "CHF.": "CHF", "SFr.": "CHF", "Fr.": "CHF", "zł": "PLN", "zl": "PLN", "Kč": "CZK", "Ft": "HUF",
    "lei": "RON MDL", "Lei": "RON MDL", "лв": "BGN", "лв.": "BGN", "₽": "RUB", "руб": "RUB", "руб.": "RUB",
    "₴": "UAH", "грн": "UAH", "грн.": "UAH", "₸": "KZT", "₺": "TRY", "TL": "TRY", "₼": "AZN", "₾": "GEL", "₪": "ILS",
    "₹": "INR", "Rs": "INR PKR LKR NPR MUR SCR", "Rs.": "INR PKR LKR NPR MUR SCR", "৳": "BDT",
    "₩": "KRW", "원": "KRW", "₫": "VND", "đ": "VND", "฿": "THB", "₱": "PHP", "Rp": "IDR", "RM": "MYR", "៛": "KHR",
    "₭": "LAK", "₮": "MNT", "S/": "PEN", "S/.": "PEN", "₡": "CRC", "₲": "PYG", "₦": "NGN", "₵": "GHS", "GH₵": "GHS",
    "R": "ZAR", "KSh": "KES", "Ksh": "KES", "د.إ": "AED", "ر.س": "SAR", "﷼": "IRR SAR OMR QAR YER",
}  # fmt: skip
_MEANINGS = {sign: frozenset(codes.split()) for sign, codes in _SIGNS.items()} | {
    code: frozenset((code,)) for code in CODES
}
CENTS = frozenset(("¢", "c", "ct", "cent", "cents", "p"))


def meanings(sign: str) -> frozenset[str]:
    """The ISO 4217 codes that `sign`, a symbol or a code, may stand for; empty for what is no currency."""
    return _MEANINGS.get(sign.replace(" ", ""), frozenset())
