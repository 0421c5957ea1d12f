"""Every error limpet raises on purpose.

    LimpetError
    |-- UsageError                 the user can mend it: one line, exit code 2
    |   |-- SiteError              the site file: missing, broken, without `site`
    |   |-- URLRejected            a URL that cannot be a page (scheme, host, length)
    |   `-- ServerRefused          a Redis that evicts, is too old, or does not answer
    |-- StoreError                 the SQL store could not do it
    |   |-- StoreUnavailable       locked for too long, disk full, read-only, I/O error
    |   |-- StoreTooNew            written by a newer limpet
    |   `-- WrongProcess           a connection used under another pid or thread
    |-- FrontierError              Redis could not do it
    |   `-- FrontierUnavailable    no connection, time-out, loading, read-only, out of memory
    `-- ExtractError               a page that could not be read or whose handler failed

Foreign errors (sqlite, redis) are mapped in `database.py` and `server.py` alone. Whatever is not in this tree
is a bug and ends the process: the recovery from it is the recovery from kill -9.
"""

from limpet_store.failures import HANDLER


class LimpetError(Exception):
    """The root of the tree."""


class UsageError(LimpetError):
    """Something the user can mend; the text says how."""


class SiteError(UsageError):
    """The site file cannot be used."""


class URLRejected(UsageError):
    """A URL that cannot become a page; `reason` is a short word for counting."""

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(f"{reason}: {url}")
        self.url = url
        self.reason = reason


class ServerRefused(UsageError):
    """A Redis server that limpet must not, or cannot, work with."""


class StoreError(LimpetError):
    """The SQL store could not do what was asked; nothing is half-done."""


class StoreUnavailable(StoreError):
    """Locked for too long, full, read-only or failing: retry later, redo idempotently."""


class StoreTooNew(StoreError, UsageError):
    """The store was written by a newer limpet."""


class WrongProcess(StoreError):
    """A connection was used in a process or thread other than the one that opened it."""


class FrontierError(LimpetError):
    """Redis could not do what was asked."""


class FrontierUnavailable(FrontierError):
    """Redis did not answer, or answered that it cannot now; SQL is untouched."""


class ExtractError(LimpetError):
    """A page could not be read, or its handler failed; previous versions stand. `kind` is one of `failures`."""

    def __init__(self, text: str, kind: str = HANDLER) -> None:
        super().__init__(text)
        self.kind = kind
