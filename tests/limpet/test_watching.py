"""`limpet status --watch`: frames that fit and say what is there, whatever sites say and whatever is away."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import shutil
import signal
import struct
import subprocess
import termios
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from front_helpers import CLEAN, ask, command, edit, eventually, limpet, running, write_site
from rich.cells import cell_len

from limpet.demo.shop import Shop, ShopServer
from limpet.engine import Engine
from limpet.screen import fit, frame
from limpet.watched import Rates, Seldom, View, Watched
from limpet_store import live
from limpet_store.valkey import ensure_server, stop_server

SIZES = [(80, 24), (60, 20), (200, 50), (20, 10), (5, 3), (1, 1), (80, 1)]
Watching = tuple[subprocess.Popen[bytes], list[bytes]]
HOSTILE = "\x1b[2J\x1b]0;title\x07\u202enasty\r\nmore 你好"


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A site file beside a finished crawl: two listings, six products."""
    folder = tmp_path_factory.mktemp("watched")
    with ShopServer(Shop(listings=2, products=6), log_path=folder / "log") as server:
        site = write_site(folder / "site", server.first_page)
        assert limpet("crawl", site, "--workers", 1).code == 0
        yield site


@pytest.fixture
def site(finished: Path, tmp_path: Path) -> Path:
    shutil.copytree(finished.parent, tmp_path / "site")
    return tmp_path / "site" / "shop.py"


@pytest.fixture
def engine(site: Path) -> Iterator[Engine]:
    with Engine(site) as found:
        yield found


def shown(view: View, width: int = 80, height: int = 24) -> str:
    return "\n".join(text for text, _ in frame(view, width, height))


def numbers(screen: str) -> dict[str, str]:
    """Label -> number, of the grid of a frame."""
    labels = (
        r"pages/s|average|in hand|pending|done|alias|dead|gone|held|requests|records|repeat rate|lag|workers"
    )
    found: dict[str, str] = {}
    for label, number in re.findall(rf"(?<!\S)({labels}) +([\d,.-]+)(?= |$)", screen, re.M):
        found.setdefault(label, number)
    return found


def counted(watched: Watched) -> View:
    """A look with counts that began after the call."""
    view = watched.look()
    deadline = time.monotonic() + 30
    while view.census is None:
        assert time.monotonic() < deadline
        view = watched.look()
    return view


def many_troubles(site: Path) -> None:
    """Hosts, pages in hand and failures, more than fit, with words that would steer a terminal."""
    text = HOSTILE.replace("'", "''")
    page = "INSERT INTO pages (kind, canonical, host, depth, due_at, round, key, url, state,"
    for n in range(30):
        common = f"VALUES ('page', 'x', 1, 1, 1, 1, 'k{{}}{n}', 'http://h/{n}{text}',"
        edit(
            site,
            "INSERT INTO hosts (scheme, name, port, scope, delay, max_in_flight, paused, error)"
            f" VALUES ('https', 'h{n}.example', 443, 1, 1000, 1, {n % 2}, '{text}')",
            f"{page} open, attempted_at, nonce) {common.format('o')} 'pending', 1, 5, 'who{text}/1-2-ab')",
            f"{page} reason, error, attempted_at) {common.format('d')} 'dead', 'HTTP status', '{text}', {n})",
        )


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_a_frame_fits_whatever_is_in_it(engine: Engine, width: int, height: int) -> None:
    many_troubles(engine.site_file)

    lines = frame(counted(Watched(engine)), width, height)

    assert 0 < len(lines) <= height
    assert all(cell_len(text) <= width for text, _ in lines)


@pytest.mark.parametrize(("width", "height"), SIZES[:3])
def test_what_sites_say_cannot_steer_the_terminal(engine: Engine, width: int, height: int) -> None:
    many_troubles(engine.site_file)

    lines = frame(counted(Watched(engine)), width, height)

    assert all(text.isprintable() for text, _ in lines)
    assert any("\\u001b" in text for text, _ in lines)


def test_the_numbers_are_those_of_the_store(engine: Engine) -> None:
    many_troubles(engine.site_file)

    found = numbers(shown(counted(Watched(engine))))

    states = dict(
        ask(engine.site_file, "SELECT state, count(*) FROM pages WHERE kind = 'page' GROUP BY state")
    )
    for state in ("pending", "done", "dead", "held"):
        assert found[state] == f"{states.get(state, 0):,}"
    ((requests,),) = ask(
        engine.site_file, "SELECT m.fence - r.fence FROM meta m, rounds r WHERE r.number = 1"
    )
    assert (found["in hand"], found["requests"], found["records"]) == ("30", f"{requests}", "6")
    assert found["repeat rate"] == f"{int(str(requests)) / 6:.2f}"


def test_what_does_not_fit_is_counted(engine: Engine) -> None:
    many_troubles(engine.site_file)

    screen = shown(counted(Watched(engine)), 80, 24)

    ((hosts,),) = ask(engine.site_file, "SELECT count(*) FROM hosts")
    more = [int(number) for number in re.findall(r"^and (\d+) more", screen, re.M)]
    assert len(more) == 2, "of the hosts and of what is in hand"
    listed = screen.split("\nhosts")[1].split("\nand ")[0].count("\n")
    assert listed > 0
    assert more[0] + listed == hosts


def test_a_tall_screen_shows_more(engine: Engine) -> None:
    many_troubles(engine.site_file)
    view = counted(Watched(engine))

    assert len(frame(view, 80, 24)) == 24
    assert len(frame(view, 80, 50)) == 50


def test_the_numbers_of_a_column_end_in_line(engine: Engine) -> None:
    lines = shown(counted(Watched(engine))).splitlines()
    grid = [line for line in lines if numbers(line) and not line.startswith("shop")][:4]

    assert len({len(line) for line in grid}) == 1


def test_the_frontier_is_seen_host_by_host(engine: Engine) -> None:
    edit(engine.site_file, "UPDATE pages SET state = 'pending', due_at = 1 WHERE kind = 'page'")
    engine.rebuild(asked=True)

    view = counted(Watched(engine))

    ((pending,),) = ask(engine.site_file, "SELECT count(*) FROM pages WHERE state = 'pending'")
    assert view.redis is not None
    assert view.redis.lag == 0
    assert [host.waiting for host in view.redis.hosts.values()] == [pending]
    assert re.search(rf"^http://127\.0\.0\.1:\d+ +{pending} +0 +\S+", shown(view), re.M)


def test_a_paused_crawl_is_said_to_be(engine: Engine) -> None:
    assert "paused" not in shown(Watched(engine).look())
    limpet("pause", engine.site_file)

    assert "the crawl is paused" in shown(Watched(engine).look())


def test_redis_goes_away_and_comes_back_while_it_is_watched(engine: Engine) -> None:
    engine.relay()
    home = engine.settings.home
    watched = Watched(engine)
    assert watched.look().redis is not None

    stop_server(home)
    away = watched.look()
    assert away.redis is None
    assert "Redis is not running" in shown(away)
    assert "done" in shown(away)

    ensure_server(home)
    back = watched.look()
    assert back.redis is not None
    assert back.redis.lag is None, "it came back empty"
    assert "Redis is not running" not in shown(back)
    stop_server(home)


def test_a_redis_that_hangs_is_not_waited_for_long(engine: Engine) -> None:
    engine.relay()
    pid = engine.facts.pid
    watched = Watched(engine)
    assert watched.look().redis is not None

    os.kill(pid, signal.SIGSTOP)
    try:
        hung = watched.look()
    finally:
        os.kill(pid, signal.SIGCONT)

    assert hung.redis is None
    assert "does not answer" in shown(hung)
    assert watched.look().redis is not None


def test_a_redis_elsewhere_that_is_away_is_a_calm_line(site: Path) -> None:
    with Engine(site, {"redis_url": "redis://127.0.0.1:1/0"}) as engine:
        lines = shown(Watched(engine).look()).splitlines()

    assert lines[1].startswith("Redis is away, it is asked again: ")


def test_a_store_that_goes_away_leaves_the_last_numbers(engine: Engine) -> None:
    watched = Watched(engine)
    before = numbers(shown(counted(watched)))
    path = engine.settings.store_path
    path.rename(path.with_suffix(".elsewhere"))

    away = shown(watched.look())

    assert "the store is away, it is asked again" in away
    assert numbers(away)["done"] == before["done"]
    path.with_suffix(".elsewhere").rename(path)
    assert "the store is away" not in shown(watched.look())


def test_rates_are_of_the_last_seconds_and_of_the_whole_watch() -> None:
    rates = Rates()
    assert rates.add("s", 100, now=0.0) is None
    for second in range(1, 21):
        rates.add("s", 100 + 10 * second, now=float(second))
    found = rates.add("s", 300, now=30.0)

    assert found is not None
    assert (found.recent, round(found.average, 2), found.over) == (0.0, 6.67, 30.0)
    assert rates.add("another life", 5, now=31.0) is None


def test_what_takes_long_is_not_read_at_every_look() -> None:
    reads: list[int] = []

    def slow() -> int:
        reads.append(1)
        threading.Event().wait(0.05)
        return len(reads)

    seldom: Seldom[int] = Seldom()
    assert [seldom.latest(slow) for _ in range(3)] == [1, 1, 1]


def test_failures_are_the_newest_and_none_is_of_what_was_expected(engine: Engine) -> None:
    many_troubles(engine.site_file)
    edit(engine.site_file, "UPDATE pages SET reason = 'excluded' WHERE key = 'kd29'")
    store = engine.existing_store()

    assert [page.at for page in live.failed(store, 3)] == [28, 27, 26]


def test_an_ellipsis_stands_for_what_is_left_out() -> None:
    assert fit("abcdef", 4) == "abc…"
    assert cell_len(fit("你好你好", 4)) <= 4
    assert fit("abc", 0) == ""


# -- the command


@contextmanager
def in_terminal(
    *args: object, size: tuple[int, int] = (80, 24), **env: str
) -> Iterator[tuple[subprocess.Popen[bytes], list[bytes]]]:
    """A command in a terminal, and what it has written so far."""
    ours, theirs = pty.openpty()
    own = {
        name: value for name, value in CLEAN.items() if name not in ("COLUMNS", "LINES")
    }  # they would be believed
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
    process = subprocess.Popen(
        command(*args), stdin=theirs, stdout=theirs, stderr=theirs, env={**own, "TERM": "xterm", **env},
        start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )  # fmt: skip
    os.close(theirs)
    written: list[bytes] = []
    reader = threading.Thread(target=_read_all, args=(ours, written), daemon=True)
    reader.start()
    try:
        yield process, written
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        reader.join(10)
        os.close(ours)


def _read_all(terminal: int, written: list[bytes]) -> None:
    while True:
        try:
            chunk = os.read(terminal, 65536)
        except OSError:  # Linux: nobody has the other end any more
            return
        if not chunk:
            return
        written.append(chunk)


def has(written: list[bytes], text: str) -> Callable[[], bool]:
    return lambda: text in b"".join(written).decode(errors="replace")


def test_a_crawl_is_watched_in_a_terminal_until_ctrl_c(tmp_path: Path) -> None:
    with ShopServer(Shop(listings=10, products=200), log_path=tmp_path / "log") as server:
        site = write_site(tmp_path / "site", server.first_page)
        assert limpet("enqueue", site, "--seeds").code == 0
        with in_terminal("status", "--watch", "0.2", site) as (process, written):
            eventually(has(written, "Redis is not running"))
            with running("consume", site, "--workers", 1):
                eventually(lambda: re.search(rb"workers +1 ", b"".join(written)))
                eventually(lambda: re.search(rb"done +210 ", b"".join(written)))
            seen = len(written)
            eventually(lambda: b"Redis is not running" in b"".join(written[seen:]))
            process.send_signal(signal.SIGINT)
            assert process.wait(10) == 130
    everything = b"".join(written)
    assert everything.count(b"\x1b[?1049h") == everything.count(b"\x1b[?1049l") == 1
    after = everything.partition(b"\x1b[?1049l")[2]
    assert b"done" in after, "the last frame stays"
    assert b"\x1b[2J" not in everything, "nothing is wiped between two frames"


def test_no_color_means_none(site: Path) -> None:
    limpet("pause", site)
    with in_terminal("status", site, "--watch", "0.1", NO_COLOR="1") as (process, written):
        eventually(has(written, "the crawl is paused"))
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 143
    assert not re.search(rb"\x1b\[[\d;]*3\dm", b"".join(written))


def test_a_frame_follows_the_size_of_the_terminal_at_once(site: Path) -> None:
    with in_terminal("status", site, "--watch", "3600", size=(30, 30)) as (process, written):
        eventually(has(written, "pages/s"))
        assert not re.search(rb"pages/s.* average", b"".join(written)), "one below the other"

        resize(process, (100, 30))

        eventually(lambda: re.search(rb"pages/s.* average", b"".join(written)))
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 130


def resize(process: subprocess.Popen[bytes], size: tuple[int, int]) -> None:
    """Change the size of the terminal that the process has."""
    terminal = os.open(f"/proc/{process.pid}/fd/0", os.O_RDWR | os.O_NOCTTY)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
    os.close(terminal)


def test_without_a_terminal_it_is_a_plain_block_each_time(site: Path) -> None:
    with subprocess.Popen(
        command("status", site, "--watch", "0.1"),
        env=CLEAN,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        lines: list[str] = []
        while sum(line.startswith("shop  round 1") for line in lines) < 2:
            lines.append(process.stdout.readline())
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=10)
    assert process.returncode == 130
    assert err == ""
    assert "\n" in lines, "an empty line between two"
    assert "\x1b" not in "".join(lines)


def test_it_does_not_go_with_json(site: Path) -> None:
    ran = limpet("status", "--watch", site, "--json")

    assert ran.code == 2
    assert ran.said == ["limpet: --watch shows a screen: it does not go with --json, --check or --problems"]


def test_a_crawl_that_was_never_begun_is_wrong_use(tmp_path: Path) -> None:
    site = write_site(tmp_path / "site", "http://127.0.0.1:1/")

    assert limpet("status", "--watch", site).code == 2
