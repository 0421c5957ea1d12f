"""What a command was told about this machine, and by whom. The environment is read here and nowhere else."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from limpet.home import database_path, default_home
from limpet.logs import FORMATS
from limpet_store.errors import UsageError
from limpet_store.secret import keep_out

# setting: (option, environment variable)
NAMES = {
    "home": ("--home", "LIMPET_HOME"),
    "redis_url": ("--redis", "LIMPET_REDIS_URL"),
    "store_path": ("--store", "LIMPET_STORE_URL"),
    "workers": ("--workers", "LIMPET_WORKERS"),
    "proxy": ("", "LIMPET_PROXY"),
    "ca_bundle": ("", "LIMPET_CA_BUNDLE"),
    "log_format": ("--log-format", "LIMPET_LOG_FORMAT"),
    "metrics_port": ("--metrics-port", "LIMPET_METRICS_PORT"),
    "metrics_address": ("--metrics-address", "LIMPET_METRICS_ADDRESS"),
    "contact": ("", "LIMPET_CONTACT"),  # a property of the machine or the site file, not of a command
}
MOST_WORKERS = 4  # by default; more is asked for


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of one command; all paths absolute.

    `origins` says of each where it comes from: "flag --redis", "environment LIMPET_REDIS_URL", "site" or
    "default". An empty variable counts as unset.
    """

    home: Path
    redis_url: str | None  # None: the embedded server
    store_path: Path  # the SQLite file
    workers: int
    proxy: str | None  # the URL of an HTTP proxy; it may hold a password
    ca_bundle: (
        Path | None
    )  # the authorities to trust instead of the usual ones: a file, or a folder of hashed ones
    contact: str | None  # for the User-Agent: a URL or an address
    log_format: str  # "text" or "json"
    metrics_port: int | None  # 0: a free one; None: no metrics
    metrics_address: str
    color: bool
    origins: Mapping[str, str]


def load(
    crawl: str,
    site_file: Path | None = None,
    *,
    flags: Mapping[str, Any] | None = None,
    site: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] | None = None,
) -> Settings:
    """Settle flag > environment > site > default for the crawl of this name.

    The keys of `flags` and `site` are those of NAMES; None counts as not given. Relative paths start at the
    working directory, those of the site at its file. Touches nothing. Raises UsageError naming the culprit.
    """
    env = os.environ if environ is None else environ
    base = Path.cwd() if site_file is None else site_file.resolve().parent
    choice = _Choice(flags or {}, env, site or {}, base)
    home = choice.of("home", _path, default_home(site_file))
    return Settings(
        home=home,
        redis_url=choice.of("redis_url", _redis_url, None),
        store_path=choice.of("store_path", _store_path, database_path(home, crawl)),
        workers=choice.of("workers", _workers, min(usable_cpus(), MOST_WORKERS)),
        proxy=choice.of("proxy", _proxy, None),
        ca_bundle=choice.of("ca_bundle", _bundle, None),
        contact=choice.of("contact", _text, None),
        log_format=choice.of("log_format", _log_format, "text"),
        metrics_port=choice.of("metrics_port", _port, None),
        metrics_address=choice.of("metrics_address", _text, "127.0.0.1"),
        color=not env.get("NO_COLOR"),
        origins=choice.origins,
    )


def log_format(flag: str | None) -> str:
    """The format of log lines, by flag or environment: it is wanted before anything else. Raises UsageError."""
    choice = _Choice({"log_format": flag}, os.environ, {}, Path.cwd())
    return str(choice.of("log_format", _log_format, "text"))


def usable_cpus() -> int:
    """The CPUs this process may run on, where the system says; else those there are."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS
        return os.cpu_count() or 1


class _Choice:
    def __init__(
        self, flags: Mapping[str, Any], env: Mapping[str, str], site: Mapping[str, Any], base: Path
    ) -> None:
        self.flags, self.env, self.site, self.base = flags, env, site, base
        self.origins: dict[str, str] = {}

    def of(self, name: str, read: Callable[[Any, Path], Any], default: Any) -> Any:
        value, origin, base = self._given(name)
        self.origins[name] = origin
        if origin == "default":
            return default
        try:
            return read(value, base)
        except ValueError as error:
            raise UsageError(f"{origin}: {error}") from error

    def _given(self, name: str) -> tuple[Any, str, Path]:
        option, variable = NAMES[name]
        if self.flags.get(name) is not None:
            return self.flags[name], f"flag {option}", Path.cwd()
        if self.env.get(variable):
            return self.env[variable], f"environment {variable}", Path.cwd()
        if self.site.get(name) is not None:
            return self.site[name], "site", self.base
        return None, "default", self.base


def _path(value: Any, base: Path) -> Path:
    if not str(value):
        raise ValueError("a folder is needed")
    return Path(os.path.abspath(base / Path(value).expanduser()))


def _redis_url(value: Any, _: Path) -> str:
    url = str(value)
    if not url.startswith(("redis://", "rediss://", "unix://")):
        raise ValueError("not a Redis URL (redis://host:port/0, rediss://..., unix:///path)")
    return url


def _store_path(value: Any, base: Path) -> Path:
    scheme, separator, rest = str(value).partition("://")
    if not separator:
        path = _path(value, base)
    elif scheme == "sqlite" and len(rest) > 1 and rest[0] == "/":
        path = _path(rest[1:], base)  # sqlite:///relative, sqlite:////absolute
    elif scheme.startswith("postgres"):
        raise ValueError("PostgreSQL is not there yet; give a path or sqlite:///path")
    else:
        raise ValueError("not a store that limpet knows; give a path or sqlite:///path")
    if path.is_dir():
        raise ValueError(f"{path} is a folder; the path of a database file is needed")
    return path


def _workers(value: Any, _: Path) -> int:
    try:
        workers = int(value)
    except (TypeError, ValueError):
        workers = 0
    if workers < 1:
        raise ValueError(f"a number of workers of at least 1 is needed, not {value!r}")
    return workers


def proxy_url(text: Any) -> str:
    """The URL of a proxy, as it was given. Raises ValueError, which does not quote it: it may hold a password."""
    try:
        parts = urlsplit(text if isinstance(text, str) else "")
        known = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        known = False
    if not known:
        raise ValueError("not the URL of a proxy (http://host:port, http://user:password@host:port)")
    return str(text)


def _proxy(value: Any, _: Path) -> str:
    url = proxy_url(value)
    if password := urlsplit(url).password:
        keep_out(unquote(password), "LIMPET_PROXY")
    keep_out(url, "LIMPET_PROXY")
    return url


def _bundle(value: Any, base: Path) -> Path:
    path = Path(os.path.abspath(base / Path(value).expanduser()))
    if not path.exists():
        raise ValueError(f"{path}: no such file of certificates")
    return path


def _log_format(value: Any, _: Path) -> str:
    if value not in FORMATS:
        raise ValueError(f"{' or '.join(FORMATS)}, not {value!r}")
    return str(value)


def _port(value: Any, _: Path) -> int:
    if not str(value).isdecimal() or int(value) > 65_535:
        raise ValueError(f"a port from 0 to 65535 is needed, not {value!r}")
    return int(value)


def _text(value: Any, _: Path) -> str | None:
    return str(value).strip() or None
