"""The lock files: hashes for everything, an address for nothing, and in step with pyproject.toml."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
LOCKS = ("requirements.lock", "requirements-dev.lock")


def read_lock(name: str) -> dict[str, tuple[Requirement, list[str]]]:
    """Canonical name -> what is pinned, and its hashes."""
    text = (ROOT / name).read_text()
    logical = re.sub(r"\\\n", " ", re.sub(r"^#.*\n", "", text, flags=re.MULTILINE)).splitlines()
    entries = [re.split(r"\s+--hash=", line.strip()) for line in logical if line.strip()]
    pins = [(Requirement(entry[0]), entry[1:]) for entry in entries]
    return {canonicalize_name(pin.name): (pin, hashes) for pin, hashes in pins}


def direct(*, dev: bool) -> list[Requirement]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wanted = project["project"]["dependencies"] + (project["dependency-groups"]["dev"] if dev else [])
    return [Requirement(text) for text in wanted]


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_names_no_address_and_no_option(name: str) -> None:
    text = (ROOT / name).read_text()
    assert "://" not in text
    assert not re.search(r"^\s*-(?!-hash=sha256:[0-9a-f]{64}\b)", text, flags=re.MULTILINE)


@pytest.mark.parametrize("name", LOCKS)
def test_every_locked_package_is_one_exact_version_with_hashes(name: str) -> None:
    for pin, hashes in read_lock(name).values():
        assert re.fullmatch(r"==[^*,]+", str(pin.specifier)), pin
        assert pin.url is None
        assert hashes, pin
        assert all(re.fullmatch(r"sha256:[0-9a-f]{64}", digest) for digest in hashes), pin


@pytest.mark.parametrize(("name", "dev"), [("requirements.lock", False), ("requirements-dev.lock", True)])
def test_a_lock_answers_every_direct_dependency(name: str, dev: bool) -> None:
    lock = read_lock(name)
    for wanted in direct(dev=dev):
        pin, _ = lock[canonicalize_name(wanted.name)]
        version = str(pin.specifier).removeprefix("==")
        assert wanted.specifier.contains(version, prereleases=True), f"{wanted} locked as {pin}: `make lock`"


def test_the_two_locks_agree_on_what_they_share() -> None:
    dev = {name: str(pin) for name, (pin, _) in read_lock("requirements-dev.lock").items()}
    for name, (pin, _) in read_lock("requirements.lock").items():
        assert dev[name] == str(pin)


def test_the_base_install_stays_small() -> None:
    assert len(direct(dev=False)) <= 14
