"""The folder a crawl keeps its state in: `.limpet/` beside the site file."""

from __future__ import annotations

import os
import re
from pathlib import Path

from limpet_store.errors import UsageError

FOLDER = ".limpet"
# Locks and shared memory, which SQLite and we rely on, are not those of one machine on these.
NETWORK = frozenset(
    {
        "nfs",
        "nfs4",
        "cifs",
        "smb",
        "smb2",
        "smb3",
        "smbfs",
        "afs",
        "9p",
        "ceph",
        "glusterfs",
        "lustre",
        "ncpfs",
    }
    | {"fuse.sshfs", "fuse.rclone", "fuse.s3fs", "fuse.glusterfs", "fuse.ceph", "davfs", "fuse.davfs2"}
)


def default_home(site_file: Path | None) -> Path:
    """`.limpet/` beside the real site file, wherever the command was started; without one, in this folder."""
    beside = Path.cwd() if site_file is None else site_file.resolve().parent
    return beside / FOLDER


def database_path(home: Path, crawl: str) -> Path:
    """Where the store of `crawl` is unless told otherwise."""
    return home / f"{crawl}.db"


def prepare(home: Path, store_path: Path) -> None:
    """Create what is missing and refuse, with one UsageError line, what cannot hold a crawl's state."""
    _make(home, "--home or LIMPET_HOME")
    ignore = home / ".gitignore"
    if not ignore.exists() or ignore.stat().st_size == 0:  # empty: killed between the creation and the text
        ignore.write_text("*\n")
    if store_path.parent != home and not store_path.parent.is_dir():
        raise UsageError(
            f"no such folder: {store_path.parent}; the one of --store or LIMPET_STORE_URL must be there"
        )
    if store_path.parent != home:
        _make(store_path.parent, "--store or LIMPET_STORE_URL")


def _make(folder: Path, setting: str) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _try_to_write(folder)
    except OSError as error:
        raise UsageError(
            f"cannot write in {folder} ({error.strerror}); choose another folder with {setting}"
        ) from error
    kind = filesystem(folder)
    if kind in NETWORK:
        raise UsageError(
            f"{folder} is on a network file system ({kind}), where locks cannot be trusted;"
            f" choose a local folder with {setting}"
        )


def _try_to_write(folder: Path) -> None:
    probe = folder / f".probe-{os.getpid()}"
    probe.touch()
    probe.unlink(missing_ok=True)  # in containers that share it, two processes may have one pid


def filesystem(folder: Path, mounts: Path = Path("/proc/self/mounts")) -> str | None:
    """The type of the file system that holds `folder`, None where the system does not say (not Linux)."""
    try:
        lines = mounts.read_text(errors="surrogateescape").splitlines()
    except OSError:
        return None
    real = folder.resolve()
    best: tuple[int, str | None] = (-1, None)
    for line in lines:
        _, where, kind, *_ = line.split(" ")
        mount = Path(_unescaped(where))
        if (
            real.is_relative_to(mount) and len(mount.parts) >= best[0]
        ):  # of two on one place the later is seen
            best = (len(mount.parts), kind)
    return best[1]


def _unescaped(field: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), field)
