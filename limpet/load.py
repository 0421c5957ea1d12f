"""Load a site file, in Python or TOML."""

from __future__ import annotations

import importlib.util
import itertools
import linecache
import sys
import traceback
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType

from limpet.site import Site
from limpet_store.errors import SiteError

_numbers = itertools.count(1)


def load_site(path: Path) -> Site:
    """The `site` of the Python file at `path`, which is run, with its folder on `sys.path` meanwhile; or the site that
    a file with the suffix `.toml` declares.

    Every load runs the file as it is now, as a module of its own. Raises SiteError, in one line (of TOML a line for
    each mistake), when there is no usable `site`; nothing of the module is left behind then (modules that it imported
    stay).
    """
    path = Path(path)
    source = _read(path)
    if path.suffix.lower() == ".toml":
        from limpet import declared  # it reads what others do not need

        return declared.site_of(source, path)
    name = f"limpet_site_{next(_numbers)}"
    loader = SourceFileLoader(name, str(path))
    module = importlib.util.module_from_spec(_spec(name, path, loader))
    code = _compiled(loader, source, path)
    # Tracebacks and code hashes show the source that runs, though the file may be edited meanwhile.
    lines = importlib.util.decode_source(source).splitlines(keepends=True)
    linecache.cache[str(path)] = (len(source), None, lines, str(path))
    sys.modules[name] = module
    try:
        _run(code, module, path)
        return _site_of(module, path)
    except BaseException:
        del sys.modules[name]
        raise


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise SiteError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise SiteError(f"{path}: a folder; name the site file in it") from None
    except OSError as error:
        raise SiteError(f"{path}: cannot be read: {error.strerror}") from None


def _spec(name: str, path: Path, loader: SourceFileLoader) -> importlib.machinery.ModuleSpec:
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    assert spec is not None  # a loader was given
    return spec


def _compiled(loader: SourceFileLoader, source: bytes, path: Path) -> CodeType:
    try:
        return loader.source_to_code(source, str(path))
    except SyntaxError as error:
        line = f":{error.lineno}" if error.lineno else ""
        raise SiteError(f"{path}{line}: not Python: {error.msg}") from None
    except (ValueError, RecursionError) as error:
        raise SiteError(f"{path}: not Python: {error}") from None


def _run(code: CodeType, module: ModuleType, path: Path) -> None:
    folder = str(path.absolute().parent)
    sys.path.insert(0, folder)
    try:
        exec(code, module.__dict__)
    except MemoryError:
        raise
    except (Exception, SystemExit) as error:
        raise SiteError(_where(error, path) + _what(error)) from error
    finally:
        if folder in sys.path:
            sys.path.remove(folder)


def _where(error: BaseException, path: Path) -> str:
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == str(path)]
    return f"{path}:{lines[-1]}: " if lines else f"{path}: "


def _what(error: BaseException) -> str:
    if isinstance(error, SiteError):
        return str(error)
    words = " ".join(traceback.format_exception_only(error)[-1].split())
    return f"raised {words}"


def _site_of(module: ModuleType, path: Path) -> Site:
    found = vars(module).get("site")
    if isinstance(found, Site):
        found.check()  # now, from the source that was run
        return found
    if found is not None:
        raise SiteError(f"{path}: `site` is a {type(found).__name__}, not a Site")
    others = sorted(name for name, value in vars(module).items() if isinstance(value, Site))
    hint = f"; rename {' or '.join(others)} to site" if others else '; add site = Site("name", seeds=[...])'
    raise SiteError(f"{path}: no `site` in it{hint}")
