"""Whether this worker is logged in, and what its pages say to that.

Who may log in is decided by a lock in Redis, which the worker's own thread takes before it leases a page; the login
itself happens in a thread that fetches, before that page's request. A failure is part of the page's outcome: the lock
is given back when it is committed and relayed, so that whoever comes next knows of it.
"""

from __future__ import annotations

import logging
import threading
import traceback
from typing import cast

import requests

from limpet_consumers.http import FetchFailed, Http, LogsIn
from limpet_consumers.reasons import reason
from limpet_consumers.runtime import Account
from limpet_consumers.sessions import LoginBroken
from limpet_store.items import Fetched
from limpet_store.secret import SecretMissing, hidden

log = logging.getLogger("limpet.login")

MOST_WORDS = 500  # characters of a foreign exception's text
PATIENCE = 3  # times that a page may be logged out before it pays for it, while the login works for others


class NotLoggedIn(Exception):
    """No request may be sent for a page, or its answer is of no use. `failure`: a login failed, and why; `final`: the
    next one would fail as well."""

    def __init__(self, failure: str | None = None, *, final: bool = False) -> None:
        super().__init__(failure)
        self.failure = failure
        self.final = final


class Unwanted(Exception):
    """A page that is logged out again and again, while the login works: it may be no page for this account."""


class Access:
    """One worker's login to its site. Safe to use from several threads."""

    def __init__(self, account: Account, http: Http, deadline: float) -> None:
        self._account = account
        self._http = http
        self._deadline = deadline  # seconds of a login, all its requests together
        self._lock = threading.Lock()
        self._logins = 0  # that worked, or seemed to
        self._inside = account.login is None
        self._proven = account.login is None  # a page has shown that the login works
        self._out: dict[int, int] = {}  # page -> times in a row that it was logged out
        self.allowed = False  # set by who holds the lock of the account

    @property
    def wanted(self) -> bool:
        """Whether a login is wanted, or one is not proven yet: one page at a time, until it is."""
        return not (self._inside and self._proven)

    def enter(self) -> int:
        """Before a page's request: log in if that is wanted. Returns under which login it goes. Raises NotLoggedIn."""
        with self._lock:
            if not self._inside:
                if not self.allowed:
                    raise NotLoggedIn
                self._log_in()
            return self._logins

    def judge(self, page: int, login: int, fetched: Fetched) -> bool:
        """After a page's answer: whether it is the first to prove the login that it was fetched under.

        Raises NotLoggedIn for a page that shows that it is logged out, Unwanted for one that always does, ExtractError
        when the site's own check fails.
        """
        if self._account.logged_out is not None and self._account.logged_out(fetched):
            with self._lock:
                self._shown_out(page, login)
        with self._lock:
            self._out.pop(page, None)
            proves = login == self._logins and self._inside and not self._proven
            self._proven = self._proven or proves
            return proves

    def _log_in(self) -> None:
        login = self._account.login
        assert login is not None
        try:
            worked = cast(LogsIn, self._http).log_in(login, self._deadline)
        except MemoryError:
            raise
        except (Exception, SystemExit) as error:
            raise _failed(_told(error), final=isinstance(error, SecretMissing)) from None
        if not worked:
            raise _failed("it returned False")
        self._logins += 1
        self._inside, self._proven = True, self._account.logged_out is None

    def _shown_out(self, page: int, login: int) -> None:
        """Once for each login: those who come later under the same one tell nothing new."""
        if self._account.login is None:
            raise _failed("a page shows that it is logged out, and the site has no @site.login")
        if login != self._logins or not self._inside:
            raise NotLoggedIn
        proven, self._inside, self._proven = self._proven, False, False
        if not proven:
            raise _failed("it seemed to work, and the page after it is logged out all the same")
        self._out[page] = self._out.get(page, 0) + 1
        if self._out[page] >= PATIENCE:
            del self._out[page]
            raise Unwanted("logged out again and again, while the login works for other pages")
        raise NotLoggedIn


def _failed(why: str, *, final: bool = False) -> NotLoggedIn:
    log.warning("login failed: %s", why)
    return NotLoggedIn(f"login failed: {why}", final=final)


def _told(error: BaseException) -> str:
    """What its exception says, without secrets; of requests' own a reason, since they quote more than people want."""
    if isinstance(error, LoginBroken | FetchFailed | SecretMissing):
        return hidden(str(error))
    if isinstance(error, requests.RequestException) and not isinstance(error, requests.HTTPError):
        return reason(error)
    return hidden(traceback.format_exception_only(error)[-1].strip())[:MOST_WORDS]
