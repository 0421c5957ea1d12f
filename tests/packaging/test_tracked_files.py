"""What is in the repository speaks of the project alone."""

from __future__ import annotations

import subprocess
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
