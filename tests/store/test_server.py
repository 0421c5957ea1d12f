"""The boundary to Redis: which servers are refused, what a lost connection is; nothing is repeated."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import fakeredis
import pytest
import redis

from limpet_store import valkey
from limpet_store.errors import FrontierError, FrontierUnavailable, ServerRefused, WrongProcess
from limpet_store.server import TWIN, Script, Server, check_server, connect, shown

ECHO = Script("echo", "return {1, KEYS[1], ARGV[1], false}")
WRITE = Script("write", "return redis.call('SET', KEYS[1], ARGV[1])")


class Private:
    """A server of the test's own, with flags."""

    def __init__(self, folder: Path, *flags: str) -> None:
        self.url = f"unix://{folder}/s"
        command = [valkey._binary(), "--port", "0", "--unixsocket", f"{folder}/s", "--save", "", *flags]
        self.command = command
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(self.command, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 10
        while not valkey._say(self.url.removeprefix("unix://"), b"PING\r\n"):
            assert time.monotonic() < deadline
            time.sleep(0.005)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture
def private(short: Path) -> Iterator[Private]:
    server = Private(short)
    yield server
    server.kill()


@pytest.fixture
def short(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("s")


@pytest.fixture(params=["valkey", "fakeredis"])
def server(request: pytest.FixtureRequest) -> Server:
    if request.param == "fakeredis":
        return Server.from_client(fakeredis.FakeStrictRedis())
    return Server(request.getfixturevalue("private").url)


def refusal(url: str) -> str:
    with pytest.raises(ServerRefused) as caught, connect(url) as client:
        check_server(client)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_good_server_says_who_it_is(private: Private) -> None:
    with connect(private.url) as client:
        facts = check_server(client)
    assert facts.flavour == "valkey"
    assert facts.pid == private.process.pid
    assert len(facts.run_id) == 40


def test_a_server_that_wants_a_password_is_refused_and_with_it_accepted(short: Path) -> None:
    locked = Private(short, "--requirepass", "secret")
    try:
        assert "password" in refusal(locked.url)
        wrong = locked.url.replace("unix://", "unix://:wrong@")
        assert "password" in refusal(wrong)
        assert "wrong@" not in refusal(wrong)
        with connect(locked.url.replace("unix://", "unix://:secret@")) as client:
            assert check_server(client).flavour == "valkey"
    finally:
        locked.kill()


@pytest.mark.parametrize("policy", ["allkeys-lru", "volatile-ttl"])
def test_a_server_that_evicts_is_refused(short: Path, policy: str) -> None:
    evicting = Private(short, "--maxmemory", "100mb", "--maxmemory-policy", policy)
    try:
        assert f"maxmemory-policy {policy}" in refusal(evicting.url)
        with connect(evicting.url) as client:
            client.config_set("maxmemory", 0)
            assert check_server(client).maxmemory_policy == policy  # without a limit it evicts nothing
    finally:
        evicting.kill()


def test_a_server_that_does_not_answer_is_refused(short: Path) -> None:
    assert "LIMPET_REDIS_URL" in refusal(f"unix://{short}/none")


@pytest.mark.parametrize(
    ("version", "says"),
    [
        ("redis_version:6.2.14", "at least 7.0"),
        ("redis_version:7.0.0\r\nvalkey_version:7.0.1", "at least 7.2"),
    ],
)
def test_a_server_that_is_too_old_is_refused(version: str, says: str) -> None:
    class Old(fakeredis.FakeStrictRedis):
        def info(self, section: str | None = None, *_: object, **__: object) -> dict[str, object]:
            said = dict(line.split(":") for line in version.split("\r\n"))
            return {"run_id": "x", "process_id": 1, **said}

    with pytest.raises(ServerRefused, match=says):
        check_server(Old())


def test_what_is_no_redis_url_is_refused() -> None:
    with pytest.raises(ServerRefused, match="not a Redis URL"):
        connect("http://127.0.0.1/")


def test_a_password_is_never_shown() -> None:
    assert shown("redis://me:secret@host:1/0?password=secret") == "redis://me:***@host:1/0"
    assert shown("unix:///tmp/s?password=secret") == "unix:///tmp/s"


def test_a_script_is_loaded_when_the_server_lacks_it(server: Server) -> None:
    for _ in range(2):
        assert server.call(ECHO, ["k"], [b"\xff"]) == [1, b"k", b"\xff", None]
    server.command("SCRIPT", "FLUSH")
    assert server.call(ECHO, ["k"], ["é"]) == [1, b"k", "é".encode(), None]


def test_words_go_over_as_they_are(server: Server) -> None:
    big = b"\r\n$3\r\n" * 100_000
    assert server.command("SET", "a b", big) == b"OK"
    assert server.command("GET", "a b") == big
    assert server.command("INCRBY", "n", 2**53) == 2**53


def test_an_error_of_a_script_is_no_outage_and_keeps_the_connection(server: Server) -> None:
    before = server.run_id
    with pytest.raises(FrontierError) as caught:
        server.call(Script("bad", "return redis.call('INCR', KEYS[1], 'x', 'y')"), ["k"], [])
    assert not isinstance(caught.value, FrontierUnavailable)
    assert server.command("PING") == b"PONG"
    assert server.run_id == before


def test_a_twin_has_no_run_id() -> None:
    assert Server.from_client(fakeredis.FakeStrictRedis()).run_id == TWIN


def test_a_twin_can_be_away() -> None:
    switch = fakeredis.FakeServer()
    server = Server.from_client(fakeredis.FakeStrictRedis(server=switch))
    server.call(WRITE, ["k"], [1])
    switch.connected = False
    with pytest.raises(FrontierUnavailable):
        server.call(WRITE, ["k"], [2])
    switch.connected = True
    assert server.command("GET", "k") == b"1"


def test_another_life_of_the_server_is_another_run_id(private: Private) -> None:
    server = Server(private.url)
    first = server.run_id
    private.kill()
    with pytest.raises(FrontierUnavailable):
        server.call(ECHO, ["k"], [1])
    with pytest.raises(FrontierUnavailable):
        _ = server.run_id
    private.start()
    assert server.run_id not in (first, TWIN)
    assert server.call(ECHO, ["k"], [1])[0] == 1


def test_a_call_without_an_answer_is_not_repeated(private: Private) -> None:
    server = Server(private.url, timeout=0.2)
    server.command("SET", "n", 0)
    os.kill(private.process.pid, signal.SIGSTOP)
    with pytest.raises(FrontierUnavailable):
        server.command("INCR", "n")
    os.kill(private.process.pid, signal.SIGCONT)
    deadline = time.monotonic() + 10
    while server.command("GET", "n") != b"1":  # it was carried out, once, and its reply is nobody else's
        assert time.monotonic() < deadline
    assert server.command("ECHO", "mine") == b"mine"


def test_a_client_repeats_nothing_either(private: Private) -> None:
    with connect(private.url) as client:
        before = int(client.info("stats")["total_connections_received"])
    with connect(private.url, timeout=0.1) as hasty:
        os.kill(private.process.pid, signal.SIGSTOP)
        with pytest.raises(redis.TimeoutError):
            hasty.incr("n")
        os.kill(private.process.pid, signal.SIGCONT)
    with connect(private.url) as client:
        assert int(client.info("stats")["total_connections_received"]) == before + 2


def test_an_interrupt_between_a_call_and_its_answer_drops_the_connection(private: Private) -> None:
    server = Server(private.url)
    assert server.run_id

    class Interrupt(BaseException):
        pass

    def interrupted(**_: object) -> None:
        raise Interrupt

    server._connection.read_response = interrupted
    with pytest.raises(Interrupt):
        server.command("ECHO", "lost")
    assert server.command("ECHO", "mine") == b"mine"


def test_above_maxmemory_plain_writes_are_unavailable_and_scripts_go_through(private: Private) -> None:
    server = Server(private.url)
    server.command("CONFIG", "SET", "maxmemory", 1)
    with pytest.raises(FrontierUnavailable, match="maxmemory"):
        server.command("SET", "k", 0)
    assert server.call(WRITE, ["k"], [1]) == b"OK"


def test_a_connection_is_refused_in_another_thread_and_another_process(server: Server) -> None:
    assert server.command("PING") == b"PONG"
    raised: list[BaseException] = []

    def use() -> None:
        try:
            server.command("PING")
        except WrongProcess as error:
            raised.append(error)

    thread = threading.Thread(target=use)
    thread.start()
    thread.join()
    assert len(raised) == 1
    child = os.fork()
    if child == 0:
        use()
        os._exit(len(raised))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 2
    assert server.command("PING") == b"PONG"


def test_a_connection_that_is_lost_again_and_again_is_made_again_each_time(valkey_url: str) -> None:
    server = Server(valkey_url)
    for _ in range(150):
        assert server.run_id
        server.close()


def test_a_server_that_stays_away_is_unavailable_however_often_it_is_asked(tmp_path: Path) -> None:
    server = Server(f"unix://{tmp_path}/nobody.sock")
    for _ in range(150):
        with pytest.raises(FrontierUnavailable):
            server.command("PING")
