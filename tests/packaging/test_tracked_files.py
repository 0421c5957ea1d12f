"""What is in the repository speaks of the project alone."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# In pieces, so that this file is not its own finding.
ADDRESSES = [
    "python" + r"hosted\.",
    r"//[a-z.]*py" + r"pi\.",
    "--extra-" + "index-url[ =]",
    "--find-" + "links[ =]",
]
FOLDERS = ["wo" + "rk", "ro" + "ot", "ho" + "me/[a-z]+", "Us" + "ers"]
MACHINE_PATHS = [rf"(^|[\"' =:(])/{folder}/" for folder in FOLDERS]


def tracked(pattern: str) -> str:
    done = subprocess.run(["git", "grep", "-nIE", "-e", pattern], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stderr
    return done.stdout


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not a git checkout")
@pytest.mark.parametrize("pattern", ADDRESSES + MACHINE_PATHS)
def test_no_tracked_file_names_a_package_index_or_a_path_of_one_machine(pattern: str) -> None:
    assert tracked(pattern) == ""


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not a git checkout")
def test_the_search_above_finds_what_is_there() -> None:
    assert "pyproject.toml" in tracked("^requires-python")


@pytest.mark.skipif(find_spec("limpet.cli") is None, reason="no command line yet")
def test_what_the_compose_file_runs_is_a_command_of_limpet_with_options_it_has() -> None:
    text = (ROOT / "docker-compose.yml").read_text()
    lists = [json.loads(found) for found in re.findall(r"(?:command|entrypoint|test): (\[.*\])", text)]
    run = [words for words in lists if words[0] != "CMD-SHELL"]
    calls = [[word for word in words if word not in ("CMD", "limpet")] for words in run]
    assert sorted(call[0] for call in calls) == ["consume", "enqueue", "status"]
    for verb, *rest in calls:
        command = [sys.executable, "-c", "from limpet.cli import main; main()", verb, "--help"]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert all(word in done.stdout for word in rest if word.startswith("--"))
