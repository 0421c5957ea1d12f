"""What kinds of failure there are: the one word that is stored with a page, counted, and shown by `limpet status`.

The text beside it (`pages.error`) says more; this says what to count together.
"""

from __future__ import annotations

TIME_OUT = "time-out"  # no connection, no first byte or no end in time
CONNECTION = "connection"  # refused, reset, no such host, TLS
CUT_SHORT = "cut short"  # the response ended before its end
DAMAGED = "damaged"  # what came is no HTTP, or cannot be unpacked
UNFRAMED = "unframed"  # nothing says that it is whole
TOO_LARGE = "too large"  # a body over its cap
UNPACKS_TOO_FAR = "unpacks too far"  # a small body that becomes a large one
HEADERS = "headers"  # too many, too long, or such as cannot be understood
PRIVATE_ADDRESS = "private address"  # the peer is not on the public Internet
STATUS = "HTTP status"  # an answer that is no page
REDIRECT = "redirect"  # one that leads nowhere, too often, or to what is no page
LOGIN = "login"
TRANSPORT = "transport"  # the site's own, or what it sends, is at fault
UNREADABLE = "unreadable"  # whole, and the parser can make nothing of it, or would cut it
TOO_MANY_LINKS = "too many links"
HANDLER = "handler"  # the site's own code failed
FAILED = "failed"  # any other

BROKEN_LINK = "broken link"  # never seen, and not there
ROBOTS = "robots"  # robots.txt forbids it
EXCLUDED = "excluded"  # the site file does not want it any more
FORGOTTEN = "forgotten"  # somebody has said so
POISON = "poison"  # its workers died over it
EXPECTED = frozenset({BROKEN_LINK, ROBOTS, EXCLUDED, FORGOTTEN})  # a crawl with these is complete
