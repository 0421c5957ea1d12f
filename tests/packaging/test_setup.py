"""`make .venv` before anything is installed: which Python it takes, and what it says when there is none."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="needs make")

PYTHON = shlex.quote(sys.executable)
REAL = f'exec {PYTHON} "$@"'
BROKEN_SHIM = "echo 'command not found' >&2; exit 127"
# The real Python, told that it is another one.
PRETEND = f'[ "$1" = -c ] && exec {PYTHON} -c "import sys; %s; $2"; exit 1'
TOO_OLD = PRETEND % "sys.version_info = (3, 9)"
WITHOUT_VENV = PRETEND % "sys.modules['ensurepip'] = None"


class Machine:
    """A checkout without `.venv`, and a PATH that holds only the interpreters one names."""

    def __init__(self, folder: Path) -> None:
        self.checkout = folder / "check out"
        self.bin = folder / "bin"
        self.checkout.mkdir()
        self.bin.mkdir()
        for name in ("Makefile", "requirements-dev.lock", "pyproject.toml"):
            shutil.copy(ROOT / name, self.checkout)
        for tool in ("env", "sh", "cat", "sed", "touch", "echo"):
            (self.bin / tool).symlink_to(shutil.which(tool) or pytest.skip(f"needs {tool}"))

    def python(self, name: str, script: str) -> None:
        path = self.bin / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def make(self, *args: str, **environ: str) -> subprocess.CompletedProcess[str]:
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS", "PYTHON"))}
        command = [str(shutil.which("make")), *args]
        env = clean | {"PATH": str(self.bin)} | environ
        return subprocess.run(command, cwd=self.checkout, env=env, capture_output=True, text=True, timeout=60)

    def chosen(self, **environ: str) -> str:
        (self.checkout / "show.mk").write_text("include Makefile\nshow: ; @echo $(PYTHON)\n")
        return self.make("-s", "-f", "show.mk", "show", **environ).stdout.strip()


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_the_newest_interpreter_that_works_is_taken(machine: Machine) -> None:
    machine.python("python3.13", BROKEN_SHIM)
    machine.python("python3.12", REAL)
    machine.python("python3", REAL)
    assert machine.chosen() == "python3.12"


def test_an_interpreter_that_can_make_environments_goes_before_a_newer_one(
    machine: Machine,
) -> None:
    machine.python("python3.13", WITHOUT_VENV)
    machine.python("python3.11", REAL)
    assert machine.chosen() == "python3.11"


def test_a_python_home_of_the_callers_shell_does_not_spoil_the_choice(machine: Machine) -> None:
    machine.python("python3", REAL)
    assert machine.chosen(PYTHONHOME="/nowhere", PYTHONPATH="/nowhere") == "python3"


def test_an_interpreter_that_one_names_is_taken(machine: Machine) -> None:
    machine.python("python3", REAL)
    assert machine.chosen(PYTHON="mine") == "mine"


@pytest.mark.parametrize(
    ("script", "says"),
    [
        (BROKEN_SHIM, "limpet needs Python >= 3.11, and none is on the PATH"),
        (TOO_OLD, "limpet needs Python >= 3.11, and none is on the PATH"),
        (WITHOUT_VENV, "python3 cannot make environments: install its venv module"),
    ],
)
def test_a_machine_without_a_fit_python_gets_one_clear_line(machine: Machine, script: str, says: str) -> None:
    machine.python("python3", script)
    done = machine.make(".venv")
    assert done.returncode != 0
    assert done.stdout.startswith(says)
    assert len(done.stdout.splitlines()) == 1
    assert not (machine.checkout / ".venv").exists()


def test_a_named_python_that_is_too_old_is_refused(machine: Machine) -> None:
    machine.python("old", TOO_OLD)
    done = machine.make(".venv", "PYTHON=old")
    assert done.returncode != 0
    assert done.stdout == "limpet needs Python >= 3.11, and old is not that\n"
