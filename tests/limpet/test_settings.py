"""Settings and the home folder: who said what, and what is refused."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from limpet import home as homes
from limpet import settings
from limpet_store.errors import UsageError


def load(site_file: Path | None = None, **given: dict[str, object]) -> settings.Settings:
    environ = {name: str(value) for name, value in given.pop("environ", {}).items()}
    return settings.load("shop", site_file, environ=environ, **given)


def test_a_flag_beats_the_environment_and_that_the_site_and_that_the_default() -> None:
    flag, env, site = {"workers": 7}, {"LIMPET_WORKERS": "6"}, {"workers": 5}
    assert load(flags=flag, environ=env, site=site).workers == 7
    assert load(environ=env, site=site).workers == 6
    assert load(site=site).workers == 5
    assert load().workers == min(settings.usable_cpus(), 4)


def test_the_origin_of_each_value_is_kept() -> None:
    found = load(
        flags={"redis_url": "redis://h/0", "contact": None},
        environ={"LIMPET_WORKERS": "2"},
        site={"contact": "me@example.test"},
    )
    assert found.origins == {
        "home": "default",
        "redis_url": "flag --redis",
        "store_path": "default",
        "workers": "environment LIMPET_WORKERS",
        "proxy": "default",
        "ca_bundle": "default",
        "log_format": "default",
        "metrics_port": "default",
        "metrics_address": "default",
        "contact": "site",
    }


def test_the_state_lies_beside_the_site_file_wherever_the_command_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "sites").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    found = load(Path("../sites/shop.py"))
    assert found.home == tmp_path / "sites" / ".limpet"
    assert found.store_path == tmp_path / "sites" / ".limpet" / "shop.db"
    assert load().home == tmp_path / "elsewhere" / ".limpet"


def test_a_link_to_a_site_file_means_the_same_state(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "shop.py").touch()
    (tmp_path / "shop.py").symlink_to(tmp_path / "real" / "shop.py")
    assert load(tmp_path / "shop.py").home == tmp_path / "real" / ".limpet"


def test_paths_of_the_environment_start_at_the_working_directory_and_those_of_the_site_at_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    site_file = tmp_path / "sites" / "shop.py"
    assert load(site_file, environ={"LIMPET_HOME": "state"}).home == tmp_path / "state"
    assert load(site_file, site={"home": "state"}).home == tmp_path / "sites" / "state"


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("a.db", "{cwd}/a.db"),
        ("/x/a.db", "/x/a.db"),
        ("sqlite:///a.db", "{cwd}/a.db"),
        ("sqlite:////x/a.db", "/x/a.db"),
    ],
)
def test_the_store_is_a_path_or_an_sqlite_url(
    url: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = load(environ={"LIMPET_STORE_URL": url})
    assert str(found.store_path) == expected.format(cwd=tmp_path)


@pytest.mark.parametrize(
    ("variable", "value", "says"),
    [
        ("LIMPET_STORE_URL", "postgresql://localhost/x", "PostgreSQL is not there yet"),
        ("LIMPET_STORE_URL", "mysql://localhost/x", "not a store"),
        ("LIMPET_STORE_URL", "sqlite://", "not a store"),
        ("LIMPET_STORE_URL", "/", "is a folder"),
        ("LIMPET_REDIS_URL", "localhost:6379", "not a Redis URL"),
        ("LIMPET_WORKERS", "0", "at least 1"),
        ("LIMPET_WORKERS", "many", "at least 1"),
    ],
)
def test_a_wrong_value_is_refused_with_the_name_of_the_culprit(variable: str, value: str, says: str) -> None:
    with pytest.raises(UsageError, match=says) as caught:
        load(environ={variable: value})
    assert f"environment {variable}" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_empty_variable_counts_as_unset() -> None:
    found = load(environ={"LIMPET_REDIS_URL": "", "LIMPET_WORKERS": ""})
    assert found.redis_url is None
    assert found.origins["workers"] == "default"


def test_no_color_is_obeyed() -> None:
    assert load().color
    assert not load(environ={"NO_COLOR": "1"}).color


def test_loading_settings_touches_nothing(tmp_path: Path) -> None:
    load(tmp_path / "shop.py")
    assert list(tmp_path.iterdir()) == []


def test_a_home_is_private_and_ignored_by_git(tmp_path: Path) -> None:
    home = tmp_path / "sites" / ".limpet"
    homes.prepare(home, home / "shop.db")
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    assert [path.name for path in home.iterdir()] == [".gitignore"]
    assert (home / ".gitignore").read_text() == "*\n"


def test_a_half_written_gitignore_is_written_again_and_a_changed_one_is_kept(tmp_path: Path) -> None:
    ignore = tmp_path / ".gitignore"
    ignore.touch()
    homes.prepare(tmp_path, tmp_path / "shop.db")
    assert ignore.read_text() == "*\n"
    ignore.write_text("# mine\n")
    homes.prepare(tmp_path, tmp_path / "shop.db")
    assert ignore.read_text() == "# mine\n"


def test_a_folder_that_cannot_be_made_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match=r"cannot write in .*--home or LIMPET_HOME"):
        homes.prepare(tmp_path / "file" / ".limpet", tmp_path / "shop.db")
    with pytest.raises(UsageError, match=r"no such folder.*--store or LIMPET_STORE_URL"):
        homes.prepare(tmp_path / ".limpet", tmp_path / "file" / "shop.db")


@pytest.mark.skipif(os.getuid() == 0, reason="root writes everywhere")
def test_a_read_only_folder_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(UsageError, match="cannot write in"):
        homes.prepare(tmp_path, tmp_path / "shop.db")


MOUNTS = r"""
/dev/vda / ext4 rw 0 0
server:/srv /users nfs4 rw 0 0
tmpfs /users/tmp tmpfs rw 0 0
//nas/share /mnt/my\040share cifs rw 0 0
""".lstrip()


def test_the_innermost_mount_says_which_file_system_it_is(tmp_path: Path) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(MOUNTS)
    kinds = {
        place: homes.filesystem(Path(place), mounts)
        for place in ("/etc", "/users/me", "/usersly", "/users/tmp/x", "/mnt/my share/x")
    }
    assert kinds == {
        "/etc": "ext4",
        "/users/me": "nfs4",
        "/usersly": "ext4",
        "/users/tmp/x": "tmpfs",
        "/mnt/my share/x": "cifs",
    }
    assert homes.filesystem(Path("/"), tmp_path / "none") is None


def test_a_network_file_system_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(homes, "filesystem", lambda folder: "nfs4")
    with pytest.raises(UsageError, match=r"network file system \(nfs4\)"):
        homes.prepare(tmp_path, tmp_path / "shop.db")
