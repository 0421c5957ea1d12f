"""The embedded server: found, started once, replaced, outlived, stopped. The real one."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from limpet_store import valkey
from limpet_store.errors import ServerRefused
from limpet_store.server import connect
from limpet_store.valkey import ServerUser, ensure_server, server_pid, socket_path, stop_server


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    stop_server(tmp_path)


def eventually(happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not happened():
        assert time.monotonic() < deadline, "did not happen within 10 s"
        time.sleep(0.005)


def is_dead(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def run(script: str, *words: object) -> subprocess.Popen[bytes]:
    imports = "import sys, os; from pathlib import Path; from limpet_store.valkey import *"
    text = f"{imports}\nhome = Path(sys.argv[1])\n{script}"
    return subprocess.Popen(
        [sys.executable, "-c", text, *map(str, words)], stdout=subprocess.PIPE, stdin=subprocess.PIPE
    )


def test_the_first_call_starts_it_and_the_next_finds_it(home: Path) -> None:
    first, second = ensure_server(home), ensure_server(home)
    assert (first.started, second.started) == (True, False)
    assert first.url == second.url
    assert server_pid(first) == server_pid(second)


def test_it_keeps_nothing_and_evicts_nothing(home: Path) -> None:
    with connect(ensure_server(home).url) as client:
        settings = client.config_get("save", "appendonly", "maxmemory-policy", "port", "databases")
    assert settings == {
        "save": "",
        "appendonly": "no",
        "maxmemory-policy": "noeviction",
        "port": "0",
        "databases": "1",
    }


def test_a_killed_server_is_replaced(home: Path) -> None:
    killed = server_pid(ensure_server(home))
    os.kill(killed, signal.SIGKILL)
    eventually(lambda: is_dead(killed))
    again = ensure_server(home)
    assert again.started
    assert server_pid(again) != killed


def test_a_stale_socket_file_is_replaced(home: Path) -> None:
    Path(socket_path(home)).touch()
    assert ensure_server(home).started


def test_leftover_and_half_written_files_do_not_matter(home: Path) -> None:
    (home / "valkey.lock").write_bytes(b"/tmp/limp\xff")
    (home / "users.lock").write_text("nonsense")
    (home / "valkey.log").write_text("old\n" * 1000)
    with ServerUser(home):
        assert ensure_server(home).started
        assert "old" not in (home / "valkey.log").read_text()


def test_commands_that_come_at_once_start_exactly_one(home: Path) -> None:
    script = "sys.stdin.readline(); e = ensure_server(home); print(e.started, server_pid(e))"
    commands = [run(script, home) for _ in range(6)]
    for command in commands:
        assert command.stdin is not None
        command.stdin.write(b"\n")
        command.stdin.flush()
    said = [command.communicate()[0].split() for command in commands]
    assert sorted(started for started, _ in said) == [b"False"] * 5 + [b"True"]
    assert len({pid for _, pid in said}) == 1


def test_a_starter_killed_with_its_whole_group_leaves_a_server_that_is_reused(home: Path) -> None:
    script = "os.setsid(); print(server_pid(ensure_server(home)), flush=True); sys.stdin.read()"
    starter = run(script, home)
    assert starter.stdout is not None
    pid = int(starter.stdout.readline())
    os.killpg(starter.pid, signal.SIGINT)  # Ctrl-C reaches the whole group
    os.killpg(starter.pid, signal.SIGKILL)
    starter.communicate()
    found = ensure_server(home)
    assert not found.started
    assert server_pid(found) == pid


def test_a_starter_killed_at_any_moment_leaves_nothing_in_the_way(home: Path) -> None:
    for delay in (0.0, 0.002, 0.005, 0.01, 0.02, 0.03):
        starter = run("print(1, flush=True); ensure_server(home)", home)
        assert starter.stdout is not None
        starter.stdout.readline()
        time.sleep(delay)  # where the kill falls, not a wait for something
        starter.kill()
        starter.communicate()
        with connect(ensure_server(home).url) as client:
            assert client.ping()
        assert stop_server(home)


def test_the_last_user_stops_it(home: Path) -> None:
    first, second = ServerUser(home), ServerUser(home)
    pid = server_pid(ensure_server(home))
    assert not first.leave()
    assert not is_dead(pid)
    assert second.leave()
    eventually(lambda: is_dead(pid))
    assert not Path(socket_path(home)).exists()


def test_a_killed_user_leaves_it_running_for_the_next(home: Path) -> None:
    user = run(
        "u = ServerUser(home); print(server_pid(ensure_server(home)), flush=True); sys.stdin.read()", home
    )
    assert user.stdout is not None
    pid = int(user.stdout.readline())
    user.kill()
    user.communicate()
    with ServerUser(home):
        assert server_pid(ensure_server(home)) == pid
    eventually(lambda: is_dead(pid))


def test_a_forked_child_cannot_leave_in_its_parents_place(home: Path) -> None:
    with ServerUser(home) as user:
        endpoint = ensure_server(home)
        child = os.fork()
        if child == 0:
            os._exit(user.leave())
        assert os.waitpid(child, 0)[1] == 0
        assert not ensure_server(home).started
        assert server_pid(endpoint)


def test_a_forked_child_that_stays_does_not_keep_the_server(home: Path) -> None:
    user = ServerUser(home)
    pid = server_pid(ensure_server(home))
    child = os.fork()
    if child == 0:
        signal.pause()
    try:
        assert user.leave()
        assert is_dead(pid)
        with ServerUser(home, timeout=1):
            assert ensure_server(home).started
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


@pytest.mark.parametrize("made_again", [False, True])
def test_the_last_user_stops_it_although_the_home_was_removed(home: Path, made_again: bool) -> None:
    inner = home / "inner"
    inner.mkdir()
    user = ServerUser(inner)
    pid = server_pid(ensure_server(inner))
    folder = Path(socket_path(inner)).parent
    shutil.rmtree(inner)
    if made_again:  # by a worker that writes down that it lives
        inner.mkdir()
    assert user.leave()
    eventually(lambda: is_dead(pid))
    assert not folder.exists()


def test_a_server_whose_home_was_removed_makes_way(home: Path) -> None:
    orphan = server_pid(ensure_server(home))
    (home / "valkey.lock").unlink()
    again = ensure_server(home)
    assert again.started
    assert is_dead(orphan)
    assert not ensure_server(home).started


def test_the_socket_path_is_short_and_private_however_long_the_home(tmp_path: Path) -> None:
    deep = tmp_path / ("x" * 100) / ("y" * 100)
    deep.mkdir(parents=True)
    path = socket_path(deep)
    try:
        assert len(path) <= valkey.MAX_SOCKET_PATH
        assert stat.S_IMODE(os.stat(os.path.dirname(path)).st_mode) == 0o700
        assert ensure_server(deep).path == path
    finally:
        assert stop_server(deep)


def test_two_homes_have_two_servers(home: Path) -> None:
    other = home / "other"
    other.mkdir()
    try:
        assert server_pid(ensure_server(home)) != server_pid(ensure_server(other))
    finally:
        assert stop_server(other)


def test_a_socket_folder_that_is_a_link_or_open_to_others_is_refused(home: Path) -> None:
    folder = Path(socket_path(home)).parent
    folder.rmdir()
    folder.symlink_to(home)
    with pytest.raises(ServerRefused, match="not a private folder"):
        ensure_server(home)
    folder.unlink()
    folder.mkdir()
    folder.chmod(0o755)
    with pytest.raises(ServerRefused, match="not a private folder"):
        ensure_server(home)
    folder.rmdir()


def program(path: Path, text: str) -> str:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o700)
    return str(path)


def test_a_server_that_dies_at_once_is_refused_with_its_last_words(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dying = program(home / "dying", "echo no memory >&2; exit 1")
    with monkeypatch.context() as patched:
        patched.setattr(valkey, "_binary", lambda: dying)
        with pytest.raises(ServerRefused, match="ended at once: no memory"):
            ensure_server(home)
    assert ensure_server(home).started


def test_a_server_that_hangs_in_its_start_is_refused_and_ended(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hanging = program(home / "hanging", "echo thinking; exec sleep 600")
    with monkeypatch.context() as patched:
        patched.setattr(valkey, "_binary", lambda: hanging)
        with pytest.raises(ServerRefused, match="does not answer: thinking"):
            ensure_server(home, timeout=0.3)
    assert ensure_server(home).started


def test_a_binary_that_cannot_run_is_refused(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(valkey, "_binary", lambda: str(home / "none"))
    with pytest.raises(ServerRefused, match="LIMPET_REDIS_URL"):
        ensure_server(home)


def test_a_server_that_lives_but_is_out_of_reach_is_named(home: Path) -> None:
    path = ensure_server(home).path
    os.rename(path, path + ".hidden")
    try:
        with pytest.raises(ServerRefused, match=r"end it \(its pid is in .*valkey.log\)"):
            ensure_server(home, timeout=0.1)
    finally:
        os.rename(path + ".hidden", path)
