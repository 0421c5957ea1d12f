"""Parameters of URLs that do not tell pages apart: which names, and URLs without them.

A name is compared without regard to case and with its escapes decoded; `*` in it stands for anything. It is dropped
from the query and from the parameters of path segments (`;name=value`). What stays keeps its order and spelling byte
for byte, and what has been dropped once changes nothing the second time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from urllib.parse import unquote_plus

# Names that are a session's and nothing else's, by who makes them.
SESSION_IDS = (
    "jsessionid",  # Java servlets, also in the path
    "phpsessid",  # PHP
    "aspsessionid*",  # classic ASP, with a random suffix
    "asp.net_sessionid",
    "cfid",  # ColdFusion, both
    "cftoken",
    "oscsid",  # osCommerce
    "xtcsid",  # xt:Commerce
    "zenid",  # Zen Cart
    "bv_sessionid",  # BroadVision, both
    "bv_engineid",
)

# Names by which campaigns, shops of ads and mailings know from where a visitor came.
TRACKING = (
    "utm_*",  # Google Analytics and all that took after it
    "gclid",  # Google Ads, the next five too
    "gclsrc",
    "dclid",
    "gbraid",
    "wbraid",
    "srsltid",  # Google Merchant Center
    "_ga",  # Google Analytics across hosts, both
    "_gl",
    "fbclid",  # Facebook
    "igshid",  # Instagram
    "msclkid",  # Microsoft Advertising
    "twclid",  # X, Twitter
    "ttclid",  # TikTok
    "li_fat_id",  # LinkedIn
    "epik",  # Pinterest
    "yclid",  # Yandex, the next three too
    "ysclid",
    "_openstat",
    "ymclid",
    "mc_cid",  # Mailchimp, both
    "mc_eid",
    "_hsenc",  # HubSpot, the next three
    "_hsmi",
    "hsctatracking",
    "mkt_tok",  # Marketo
    "vero_id",  # Vero, both
    "vero_conv",
    "oly_anon_id",  # Omeda, both
    "oly_enc_id",
    "pk_campaign",  # Matomo, the next five
    "pk_kwd",
    "pk_source",
    "pk_medium",
    "mtm_*",
    "wickedid",  # Wicked Reports
)

_PIECE = re.compile(r"[?&;/]")
_DOTS = (".", "..")


class Dropping:
    """Gives canonical URLs without the parameters of these names."""

    def __init__(self, names: Iterable[str]) -> None:
        self.names = tuple(names)
        wanted = "|".join(re.escape(name.lower()).replace(r"\*", ".*") for name in self.names)
        fits = re.compile(wanted, re.DOTALL).fullmatch
        self._drops = lru_cache(4_096)(lambda name: bool(fits(unquote_plus(name).lower())))

    def __call__(self, url: str) -> str:
        """The canonical URL without them; a query that is left without any is left out."""
        path, mark, query = url.partition("?")
        if ";" in path:
            path = self._path(path)
        if mark and query:
            pairs = query.split("&")
            kept = [pair for pair in pairs if not self._drops(pair.partition("=")[0])]
            if len(kept) < len(pairs):
                mark, query = ("?", "&".join(kept)) if kept else ("", "")
        return path + mark + query

    def _path(self, path: str) -> str:
        return "/".join(self._segment(segment) for segment in path.split("/"))

    def _segment(self, segment: str) -> str:
        name, *rest = segment.split(";")
        if name.lower().replace("%2e", ".") in _DOTS:  # alone it would be resolved
            return segment
        return ";".join([name, *(each for each in rest if not self._drops(each.partition("=")[0]))])


def is_left(canonical: str, url: str) -> bool:
    """Whether one canonical URL may be what is left of another, by some rule: the same pieces in their order, and some
    of its parameters not there."""
    pieces = iter(_PIECE.split(url))
    return all(any(piece == other for other in pieces) for piece in _PIECE.split(canonical))
