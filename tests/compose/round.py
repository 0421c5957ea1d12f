"""The whole round of docker-compose.yml on a real engine: build, up, scale, kill each service, up again, compare.

    python3 tests/compose/round.py [--keep]

It needs Docker with Compose and Python >= 3.11, nothing else. BASE and VALKEY_IMAGE name other images than the usual
ones. It prints a line for each step and ends with a verdict: 0 if nothing was missing, doubled or wrong.
"""

from __future__ import annotations

import json
import os
import runpy
import secrets
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

ROOT = Path(__file__).parents[2]
SITE = "/site/shop.py"
CONSUMERS = 4
KILLS = ("producer", "valkey", "consumers", "everything", "shop")
KILLED = len(KILLS) + 1  # times, with the one from inside
PATIENCE = 300.0  # seconds: a host that failed five times rests for a minute or more
PASSWORD = secrets.token_hex(16)
ENVIRON = os.environ | {
    "COMPOSE_PROJECT_NAME": f"limpet-round-{os.getpid()}",
    "LIMPET_REDIS_PASSWORD": PASSWORD,
    "METRICS_PORTS": "19400-19415",
    "SITE": str(Path(__file__).parent / "site"),
}


class Failed(Exception):
    """A step did not do what it must."""


def run(*words: str, code: int | None = 0, env: dict[str, str] = ENVIRON) -> str:
    """stdout of a command, or stdout and stderr where it may fail."""
    done = subprocess.run(words, cwd=ROOT, env=env, capture_output=True, text=True)
    if code is not None and done.returncode != code:
        raise Failed(
            f"{' '.join(words)} ended with {done.returncode}: {(done.stderr or done.stdout)[-2000:]}"
        )
    return done.stdout if code == 0 else done.stdout + done.stderr


def composer() -> list[str]:
    """`docker compose`, or the older `docker-compose`."""
    plugin = subprocess.run(["docker", "compose", "version"], capture_output=True)
    return ["docker", "compose"] if plugin.returncode == 0 else ["docker-compose"]


COMPOSE = composer()


def compose(*words: str, code: int | None = 0) -> str:
    return run(*COMPOSE, *words, code=code)


def limpet(*words: str) -> str:
    return compose("exec", "-T", "consumers", "limpet", *words)


def containers(service: str) -> list[str]:
    return compose("ps", "-q", service).split()


def status() -> dict[str, Any]:
    told: dict[str, Any] = json.loads(limpet("status", SITE, "--json"))
    return told


def records() -> int:
    return int(status()["records"])


def eventually(holds: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() > deadline:
            raise Failed(f"{what}: not within {PATIENCE:.0f} s")
        time.sleep(0.25)


def grown(by: int) -> None:
    """Wait until so many records more are there."""
    wanted = records() + by
    eventually(lambda: records() >= wanted, f"{by} records more")


@contextmanager
def step(what: str) -> Iterator[list[str]]:
    """A line: what, how long, and what was seen."""
    began = time.monotonic()
    seen: list[str] = []
    yield seen
    print(f"{time.monotonic() - began:6.1f} s  {what}{': ' if seen else ''}{', '.join(seen)}", flush=True)


def refusal() -> None:
    with step("no password, no start"):
        bare = {name: value for name, value in ENVIRON.items() if name != "LIMPET_REDIS_PASSWORD"}
        with NamedTemporaryFile() as empty:  # instead of .env
            said = run(*COMPOSE, "--env-file", empty.name, "config", code=None, env=bare)
        if "put a password for Valkey into .env" not in said:
            raise Failed(f"it was not refused: {said[-300:]}")


def up() -> None:
    compose("up", "-d", "--no-build", "--scale", f"consumers={CONSUMERS}")


def healthy(service: str) -> bool:
    form = "{{.State.Running}} {{.State.Health.Status}}"
    return all(run("docker", "inspect", "-f", form, each) == "true healthy\n" for each in containers(service))


def metrics() -> None:
    with step("metrics") as seen:
        asked = "import socket; print(len({a[4] for a in socket.getaddrinfo('consumers', 9400)}))"
        if compose("exec", "-T", "shop", "python", "-c", asked).strip() != str(CONSUMERS):
            raise Failed("not every consumer has an address by the name `consumers`")
        ports = [run("docker", "port", each, "9400").strip() for each in containers("consumers")]
        if not all(port.startswith("127.0.0.1:") for port in ports):
            raise Failed(f"published where it must not be: {ports}")
        done = sum(pages_counted(f"http://{port}/metrics") for port in ports)
        seen += [f"{len(set(ports))} ports on loopback", f"{done:.0f} pages counted by all"]
        if len(set(ports)) != CONSUMERS or not done:
            raise Failed(f"{ports}, {done} pages")


def pages_counted(url: str) -> float:
    with urllib.request.urlopen(url, timeout=10) as answer:
        lines = answer.read().decode().splitlines()
    return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith("limpet_pages_total{"))


def nothing_published() -> None:
    with step("Valkey is not published, has a password and evicts nothing"):
        (valkey,) = containers("valkey")
        if run("docker", "port", valkey):
            raise Failed("a port of Valkey is published")
        said = compose("exec", "-T", "valkey", "env", "-u", "REDISCLI_AUTH", "valkey-cli", "ping")
        if "NOAUTH" not in said:
            raise Failed(f"no password was needed: {said}")
        kept = compose("exec", "-T", "valkey", "valkey-cli", "config", "get", "maxmemory-policy")
        if "noeviction" not in kept:
            raise Failed(kept)


def no_secret_shown() -> None:
    with step("the password is in no log, on no command line and in no file of the image"):
        shown = compose("logs", "--no-color", code=None) + compose("top")
        shown += run("docker", "history", "--no-trunc", os.environ.get("LIMPET_IMAGE", "limpet"))
        if PASSWORD in shown:
            raise Failed("the password is shown")


def kill(victim: str) -> None:
    services = ["valkey", "consumers", "shop"] if victim == "everything" else [victim]
    with step(f"kill -s KILL {victim}, up again") as seen:
        before = records()
        if victim == "producer":
            killed_at_work(seen)
        else:
            compose("kill", "-s", "KILL", *services)
        up()
        eventually(lambda: all(map(healthy, ["valkey", "consumers", "shop"])), "healthy again")
        grown(10)
        seen.append(f"{before} records before, {records()} after")


def kill_from_inside() -> None:
    """What Compose does not know of: the restart policy alone brings them back."""
    with step("kill -9 of all processes in every consumer, nothing else done") as seen:
        before = records()
        ids = containers("consumers")
        for each in ids:
            run("docker", "exec", each, "sh", "-c", "kill -9 -1", code=None)
        form = "{{.RestartCount}}"
        eventually(lambda: all(int(run("docker", "inspect", "-f", form, each)) for each in ids), "restarted")
        eventually(lambda: healthy("consumers"), "healthy again")
        grown(10)
        seen.append(f"{before} records before, {records()} after")


def killed_at_work(seen: list[str]) -> None:
    """The producer lives for half a second, so a kill may come too late."""
    (producer,) = containers_of_all("producer")
    for attempt in range(10):
        run("docker", "start", producer)
        run("docker", "kill", "-s", "KILL", producer, code=None)
        if run("docker", "inspect", "-f", "{{.State.ExitCode}}", producer).strip() == "137":
            seen.append(f"in its start number {attempt + 1}")
            return
    raise Failed("every kill came too late")


def containers_of_all(service: str) -> list[str]:
    """Those that have ended too."""
    mark = ["--filter", f"label=com.docker.compose.service={service}"]
    project = f"label=com.docker.compose.project={ENVIRON['COMPOSE_PROJECT_NAME']}"
    return run("docker", "ps", "-aq", *mark, "--filter", project).split()


class Requests:
    """What the shop noted. Its log dies with its container, so it is read before that is killed."""

    def __init__(self) -> None:
        self.noted: Counter[str] = Counter()

    def read(self) -> None:
        said = compose("exec", "-T", "shop", "sh", "-c", "cat /tmp/*/site.log")
        paths = (line.split("\t")[3] for line in said.splitlines())
        self.noted += Counter(path for path in paths if path.startswith(("/list/", "/product/")))


def compare(requests: Requests) -> None:
    """Every record against what the shop sells, every message, every invariant."""
    shop = runpy.run_path(str(ROOT / "limpet" / "demo" / "serving.py"))["Shop"]()
    wanted = {values.pop("sku"): values for values in map(shop.values, range(shop.products))}
    with step("compared with the shop") as seen:
        rows = [json.loads(line) for line in limpet("export", SITE).splitlines()]
        found = {row["key"]: row["data"] for row in rows}
        messages = [json.loads(line) for line in limpet("changes", SITE).splitlines()]
        sent = Counter(line["id"] for line in messages if line["type"].startswith("limpet.record."))
        repeated = requests.noted.total() - len(requests.noted)
        wrong = sum(found.get(sku) != values for sku, values in wanted.items())
        doubled = len(rows) - len(found) + sent.total() - len(sent)
        seen += [f"{len(rows)} records of {len(wanted)}", f"{wrong} wrong", f"{doubled} doubled"]
        seen += [
            f"{sent.total()} messages",
            f"{repeated} requests repeated",
        ]
        seen.append(f"{requests.noted.total()} noted")
        if wrong or doubled or not len(rows) == sent.total() == len(wanted):
            raise Failed(", ".join(seen))
        if repeated > KILLED:  # the site has a delay, so one request was in flight at each
            raise Failed(", ".join(seen))
    with step("limpet verify") as seen:
        lines = limpet("verify", SITE).splitlines()
        seen.append(f"{sum(line.startswith('ok') for line in lines)} of {len(lines)} invariants ok")
        if not all(line.startswith("ok") for line in lines):
            raise Failed("\n".join(lines))


def clean_stop() -> None:
    with step("stop") as seen:
        began = time.monotonic()
        compose("stop")
        took = time.monotonic() - began
        form = "{{.State.ExitCode}}"
        codes = [
            run("docker", "inspect", "-f", form, each).strip() for each in containers_of_all("consumers")
        ]
        seen += [f"{took:.1f} s", f"exit codes {', '.join(codes)}"]
        if codes != ["143"] * CONSUMERS:
            raise Failed("a consumer had to be killed")


def whole_round() -> None:
    refusal()
    with step("build"):
        compose("build")
    with step(f"up --scale consumers={CONSUMERS}") as seen:
        up()
        eventually(lambda: all(map(healthy, ["valkey", "consumers", "shop"])), "healthy")
        seen.append(f"{len(containers('consumers'))} consumers")
    grown(10)
    nothing_published()
    metrics()
    requests = Requests()
    for victim in KILLS:
        if victim in ("everything", "shop"):
            requests.read()
        kill(victim)
        if victim == "consumers":
            kill_from_inside()
    no_secret_shown()
    with step("the rest of the crawl"):
        eventually(lambda: status()["round"]["finished"], "the round is finished")
    requests.read()
    compare(requests)
    clean_stop()


def main() -> int:
    began = time.monotonic()
    try:
        whole_round()
    except Failed as failure:
        print(f"FAILED: {failure}\n{compose('logs', '--no-color', '--tail', '20', code=None)}")
        return 1
    finally:
        if "--keep" not in sys.argv:
            compose("down", "--volumes", "--timeout", "10", code=None)
    print(f"ok: {KILLED} kills, nothing missing, doubled or wrong; {time.monotonic() - began:.0f} s")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
