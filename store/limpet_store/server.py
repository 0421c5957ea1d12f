"""The one boundary to Redis: a connection, what kind of server it is, and its errors as ours.

Nothing is retried here. A call whose reply was lost may have been carried out; our verbs are idempotent, and
their callers repeat them knowingly.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import urlsplit

import redis
from redis.backoff import NoBackoff
from redis.connection import parse_url
from redis.exceptions import AuthenticationError, NoScriptError, RedisError
from redis.retry import Retry

from limpet_store.complaints import complaint, passes
from limpet_store.errors import FrontierError, FrontierUnavailable, ServerRefused, WrongProcess

OLDEST = {"redis": (7, 0), "valkey": (7, 2)}
TWIN = "twin"  # the run_id of a fakeredis, which has none


def connect(url: str, *, timeout: float = 5.0) -> redis.Redis:
    """A client for any Redis: bytes in and out, no retries, `timeout` seconds to connect and per answer.

    Nothing is sent yet. Raises ServerRefused for a URL that is none.
    """
    try:
        parsed = parse_url(url)  # type: ignore[no-untyped-call]
    except ValueError as error:
        raise ServerRefused(f"not a Redis URL: {shown(url)} (redis://host:port/0, unix:///path)") from error
    return redis.Redis.from_pool(redis.ConnectionPool(**(parsed | _options(timeout))))


def _options(timeout: float) -> dict[str, Any]:
    return {
        "retry": Retry(NoBackoff(), 0),  # redis-py 8 repeats a command ten times by default
        "protocol": 2,  # one round trip less to connect; small calls cost the same
        "decode_responses": False,
        "socket_timeout": timeout,
        "socket_connect_timeout": timeout,
        "health_check_interval": 0,
        "client_name": "limpet",
    }


def shown(url: str) -> str:
    """The URL as it may be printed: without its password and query."""
    parts = urlsplit(url)
    user = f"{parts.username or ''}:***@" if parts.password else ""
    return f"{parts.scheme}://{user}{parts.netloc.rpartition('@')[2]}{parts.path}"


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """What INFO says of a server that limpet may work with."""

    version: str
    flavour: str  # "redis" or "valkey"
    run_id: str
    maxmemory_policy: str
    pid: int


def check_server(client: redis.Redis) -> ServerFacts:
    """Ask the server who it is. Raises ServerRefused, in one line that says what to do, for one that does not
    answer, wants a password, is too old, or may evict what was not done yet."""
    where = _address(client)
    try:
        info: Mapping[str, Any] = client.info("server") | client.info("memory")
    except AuthenticationError as error:
        raise ServerRefused(
            f"the Redis at {where} wants another password; put it into the URL (redis://:PASSWORD@host)"
        ) from error
    except (RedisError, OSError) as error:
        raise ServerRefused(
            f"no usable Redis at {where} ({error}); start it, or unset LIMPET_REDIS_URL for the embedded one"
        ) from error
    facts = _facts(info)
    _refuse_old(facts, where)
    if int(info.get("maxmemory", 0)) > 0 and facts.maxmemory_policy != "noeviction":
        raise ServerRefused(
            f"the Redis at {where} may evict unfinished work (maxmemory-policy {facts.maxmemory_policy});"
            " set it to noeviction"
        )
    return facts


def _facts(info: Mapping[str, Any]) -> ServerFacts:
    valkey = info.get("valkey_version")
    return ServerFacts(
        version=str(valkey or info["redis_version"]),
        flavour="valkey" if valkey else "redis",
        run_id=str(info["run_id"]),
        maxmemory_policy=str(info.get("maxmemory_policy", "noeviction")),
        pid=int(info["process_id"]),
    )


def _refuse_old(facts: ServerFacts, where: str) -> None:
    found = tuple(int(part) for part in facts.version.split(".")[:2])
    oldest = OLDEST[facts.flavour]
    if found < oldest:
        raise ServerRefused(
            f"the {facts.flavour} at {where} is {facts.version}; at least {oldest[0]}.{oldest[1]} is needed"
        )


def _address(client: redis.Redis) -> str:
    options = client.connection_pool.connection_kwargs
    return str(options.get("path") or f"{options.get('host', 'localhost')}:{options.get('port', 6379)}")


@dataclass(frozen=True, slots=True)
class Script:
    """A Lua verb. Real servers get a first line that says whether it may run above maxmemory; fakeredis refuses
    such a line and gets the plain text. The hashes are those of the two forms."""

    name: str
    plain: str
    above_maxmemory: bool = True
    sha: str = field(init=False)
    plain_sha: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "sha", _sha1(self.for_server()))
        object.__setattr__(self, "plain_sha", _sha1(self.plain))

    def for_server(self) -> str:
        flags = " flags=allow-oom" if self.above_maxmemory else ""
        return f"#!lua{flags}\n{self.plain}"


def _sha1(text: str) -> str:
    return hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()


class Server:
    """One connection, for the thread and process that made it; any other gets WrongProcess.

    It connects when first used. Whatever breaks the connection raises FrontierUnavailable and drops it, and
    the next use connects anew and reads another `run_id`: build the arguments of each call after reading it.
    An answer that is an error for another reason than the server's state raises FrontierError.
    """

    def __init__(self, url: str, *, timeout: float = 5.0) -> None:
        pool = connect(url, timeout=timeout).connection_pool
        # Not the pool's own way of making one: it counts, and refuses after the hundredth.
        self._init(lambda: pool.connection_class(**pool.connection_kwargs), twin=False)

    @classmethod
    def from_client(cls, fake: redis.Redis) -> Self:
        """The same over a fakeredis client's server: no run_id, plain scripts."""
        twin: Any = type(fake)
        options = fake.connection_pool.connection_kwargs
        client = twin(server=options["server"], db=options.get("db", 0), **_options(5.0))
        server = cls.__new__(cls)
        server._init(client.connection_pool.make_connection, twin=True)
        return server

    def _init(self, make: Callable[[], Any], *, twin: bool) -> None:
        self._make = make
        self._twin = twin
        self._connection: Any = None
        self._run_id = TWIN
        self._owner = (os.getpid(), threading.get_ident())

    @property
    def run_id(self) -> str:
        """Which life of the server this connection talks to; connects if needed."""
        self._connection = self._connected()
        return self._run_id

    def call(self, script: Script, keys: Sequence[str], args: Sequence[bytes | str | int]) -> Any:
        """Run a script; bytes, int, list or None as Lua returned it. It is loaded if the server lacks it."""
        text, sha = (script.plain, script.plain_sha) if self._twin else (script.for_server(), script.sha)
        evaluate = ("EVALSHA", sha, len(keys), *keys, *args)
        try:
            return self._exchange(evaluate)
        except NoScriptError:
            self.command("SCRIPT", "LOAD", text)
            return self.command(*evaluate)

    def command(self, *words: bytes | str | int) -> Any:
        """Run one plain command and return its raw answer."""
        try:
            return self._exchange(words)
        except NoScriptError as error:
            raise FrontierUnavailable("the server forgot a script that was just loaded") from error

    def close(self) -> None:
        """Drop the connection; the next use connects again."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.disconnect()

    def _connected(self) -> Any:
        if self._owner != (os.getpid(), threading.get_ident()):
            raise WrongProcess("a Redis connection is used in a process or thread that did not open it")
        if self._connection is None:
            try:
                fresh = self._make()
            except (RedisError, OSError) as error:
                raise FrontierUnavailable(complaint(error)) from error
            if not self._twin:
                self._run_id = _run_id(_exchange(fresh, ("INFO", "server")))
            return fresh
        return self._connection

    def _exchange(self, words: Sequence[bytes | str | int]) -> Any:
        """One round trip. The connection is put back only after a whole answer: a reply that comes late, or
        that an interrupt left unread, must not be taken for the next one's."""
        connection, self._connection = self._connected(), None
        try:
            answer = _exchange(connection, words)
        except (
            FrontierUnavailable
        ):  # also READONLY: the server that took over may be reached by a new connection
            raise
        except (NoScriptError, FrontierError):
            self._connection = connection
            raise
        self._connection = connection
        return answer


def _exchange(connection: Any, words: Sequence[bytes | str | int]) -> Any:
    try:
        connection.send_packed_command((_pack(words),))
        return connection.read_response(disable_decoding=True)
    except NoScriptError:
        raise
    except (RedisError, OSError) as error:
        kind = FrontierUnavailable if passes(error) else FrontierError
        raise kind(complaint(error)) from error


def _pack(words: Sequence[bytes | str | int]) -> bytes:
    """The command on the wire; half the cost of redis-py's own, which looks at every type there is."""
    out = [b"*%d\r\n" % len(words)]
    for word in words:
        raw = word if isinstance(word, bytes) else str(word).encode()
        out.append(b"$%d\r\n%b\r\n" % (len(raw), raw))
    return b"".join(out)


def _run_id(info: bytes) -> str:
    for line in info.splitlines():
        if line.startswith(b"run_id:"):
            return line[7:].decode()
    raise FrontierError("the server does not say its run_id")
