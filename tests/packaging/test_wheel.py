"""The wheel: four packages, their scripts and type markers, nothing else; it imports without the checkout."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = {
    "limpet": ROOT / "limpet",
    "limpet_producer": ROOT / "producer" / "limpet_producer",
    "limpet_consumers": ROOT / "consumers" / "limpet_consumers",
    "limpet_store": ROOT / "store" / "limpet_store",
}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    done = subprocess.run(build, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (path,) = folder.glob("*.whl")
    return path


def sources() -> set[str]:
    """Every file of the four packages, as a path within the wheel."""
    return {
        f"{name}/{path.relative_to(folder)}"
        for name, folder in PACKAGES.items()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_a_wheel_holds_the_four_packages_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {name for name in names if ".dist-info/" not in name} == sources()


def test_each_package_carries_its_type_marker_and_the_store_its_scripts(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {f"{package}/py.typed" for package in PACKAGES} <= set(names)
    scripts = [name for name in names if name.endswith(".lua")]
    assert scripts
    assert all(name.startswith("limpet_store/") for name in scripts)


def test_a_wheel_imports_without_the_checkout(wheel: Path, tmp_path: Path) -> None:
    zipfile.ZipFile(wheel).extractall(tmp_path / "site")
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path / 'site')!r})\n"
        f"for name in {list(PACKAGES)!r}: print(__import__(name).__path__[0])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [str(tmp_path / "site" / name) for name in PACKAGES]
