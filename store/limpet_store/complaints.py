"""What a Redis in trouble says, in words for whoever runs it.

What stands in front of the first ` (` is the same for as long as the trouble is: by it one is told from another.
"""

from __future__ import annotations

from redis.exceptions import (
    AuthenticationError,
    BusyLoadingError,
    MasterDownError,
    OutOfMemoryError,
    ReadOnlyError,
    ResponseError,
)

# The same for all that these classes, or the first words of an answer, mean.
BY_CLASS: tuple[tuple[type[Exception], str], ...] = (
    (BusyLoadingError, "is loading its data"),
    (AuthenticationError, "wants another password"),
    (ReadOnlyError, "takes no writes: it is a replica"),
    (OutOfMemoryError, "is full: above its maxmemory nothing is begun"),
    (MasterDownError, "is a replica that has lost its master"),
)
BY_WORDS = (
    ("BUSY ", "is busy with a script"),
    ("MISCONF ", "takes no writes: it could not save its data to disk"),
    ("NOREPLICAS ", "takes no writes: too few replicas"),
    ("max number of clients", "has too many clients"),
)


def complaint(error: BaseException) -> str:
    """One line: what is the matter with Redis, by an error of redis-py's or of a socket."""
    return f"Redis {_named(error) or _otherwise(error)}"


def passes(error: BaseException) -> bool:
    """Whether it is the server's state that answered, which others see as well and which may pass."""
    return _named(error) is not None or not isinstance(error, ResponseError)


def _named(error: BaseException) -> str | None:
    text = str(error)
    by_class = (words for kind, words in BY_CLASS if isinstance(error, kind))
    by_words = (words for begin, words in BY_WORDS if begin in text)
    return next(by_class, None) or next(by_words, None)


def _otherwise(error: BaseException) -> str:
    refuses = isinstance(error, ResponseError)
    return f"{'refuses' if refuses else 'does not answer'} ({' '.join(str(error).split())})"
