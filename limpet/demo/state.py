"""What the demo remembers of itself, so that one that was killed can be finished: `run.json`."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal

from limpet_store.errors import UsageError

FORMAT = 1
Target = Literal["naive", "worker", "everything"]
TARGETS: tuple[Target, ...] = ("naive", "worker", "everything")


@dataclass
class Kill:
    """One SIGKILL: of what, which processes, at how many rows, with how many pages in flight right after it."""

    what: str
    pids: list[int]
    rows: int
    in_flight: int


@dataclass
class Leg:
    """One scraper that is killed ten times and then let finish; the counts are there once it is `done`."""

    run: int
    target: Target
    kills: list[Kill] = field(default_factory=list)
    seconds: float = 0.0
    running: bool = False  # started, and not left cleanly
    done: bool = False
    rows: int = 0
    requests: int = 0
    repeated: int = 0
    problems: list[str] = field(default_factory=list)

    @property
    def ours(self) -> bool:
        """Whether it is limpet's, which has to be right."""
        return self.target != "naive"

    @property
    def in_flight(self) -> int:
        """Pages in flight, summed over the kills."""
        return sum(kill.in_flight for kill in self.kills)


@dataclass
class State:
    """A demo from its first leg to its last."""

    seed: int
    runs: int
    workers: int
    port: int = 0
    legs: list[Leg] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.legs = self.legs or [Leg(run + 1, target) for run in range(self.runs) for target in TARGETS]

    @property
    def done(self) -> bool:
        return all(leg.done for leg in self.legs)

    @property
    def begun(self) -> bool:
        return any(leg.done or leg.kills or leg.running for leg in self.legs)

    def save(self, path: Path) -> None:
        """Replace the file in one step: a kill leaves the old one or the new one."""
        half = path.with_suffix(".new")
        half.write_text(json.dumps({"format": FORMAT, **asdict(self)}, indent=1))
        os.replace(half, path)

    @classmethod
    def load(cls, path: Path) -> State | None:
        """The state in the file; None where there is none. Raises UsageError for what is not ours."""
        try:
            found = json.loads(path.read_text())
            if found.pop("format") != FORMAT:
                raise ValueError("another format")
            legs = [
                Leg(**leg | {"kills": [Kill(**kill) for kill in leg["kills"]]}) for leg in found.pop("legs")
            ]
            return cls(**found, legs=legs)
        except FileNotFoundError:
            return None
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise UsageError(
                f"{path} is not the state of a demo: remove {path.parent} to start over"
            ) from error
