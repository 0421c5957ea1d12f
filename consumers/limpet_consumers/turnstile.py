"""Who may log in: one worker at a time for an account, over all workers and machines."""

from __future__ import annotations

from collections.abc import Callable

from limpet_consumers.login import Access
from limpet_store.errors import FrontierError
from limpet_store.frontier import Frontier

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 2.0  # seconds between two looks at a lock that another worker has


class Turnstile:
    """The part of a login that belongs to the worker's own thread: the lock of the account, in Redis.

    A worker that is not logged in has the lock before it leases a page, and then one page at a time. It keeps the lock
    until a page has shown that the login works, or until its failure is committed. A worker that finds it taken leases
    nothing for a while. The lock lapses like a lease, and is ended with its dead worker's leases; after a loss of Redis
    two workers may log in at once.
    """

    def __init__(
        self, access: Access, frontier: Frontier, token: str, lease: float, boot: Callable[[], float]
    ) -> None:
        self._access = access
        self._frontier = frontier
        self._token = f"{token}-login"  # begins as its leases' nonces do
        self._lease = round(lease * 1000)
        self._boot = boot
        self._again_at = 0.0
        self._pause = FIRST_PAUSE

    def admits(self, in_hand: int) -> bool:
        """Whether a page may be leased. Raises FrontierUnavailable."""
        if not self._access.wanted:
            return True
        if in_hand or self.pause > 0:
            return False
        if self._access.allowed or self._frontier.take_login(self._token, self._lease):
            self._access.allowed, self._pause = True, FIRST_PAUSE
            return True
        self._again_at = self._boot() + self._pause
        self._pause = min(2 * self._pause, LONGEST_PAUSE)
        return False

    @property
    def one_by_one(self) -> bool:
        """Whether a login is to be done, or to be proven by a page."""
        return self._access.wanted

    @property
    def pause(self) -> float:
        """Seconds until the lock is looked at again."""
        return max(0.0, self._again_at - self._boot())

    def settle(self, in_hand: int) -> None:
        """Give the lock back if it is of no more use. Called when what has finished is committed and relayed."""
        if not self._access.allowed or (self._access.wanted and in_hand):
            return
        self._access.allowed = False
        try:
            self._frontier.release_login(self._token)
        except FrontierError:
            pass  # it lapses

    def keep(self, frontier: Frontier) -> None:
        """Keep the lock for another lease, by the renewer's connection."""
        if self._access.allowed:
            frontier.keep_login(self._token, self._lease)
