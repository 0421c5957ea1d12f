"""Processes that die with their parent, and a watchdog that needs nobody's help.

The tree is supervisor -> worker -> work-horse. Each child calls `die_with_parent` first thing, with the
pid of the process that made it. On Linux the kernel then kills it with its parent; elsewhere `orphaned`
has to be asked now and then.
"""

from __future__ import annotations

import ctypes
import faulthandler
import os
import resource
import signal
import sys

_PR_SET_PDEATHSIG = 1

# Loaded once, before any fork: a dlopen in the child could meet a lock that another thread held at the fork.
_LIBC = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def die_with_parent(parent: int) -> None:
    """SIGKILL this process as soon as `parent` is gone, at once if it is gone already.

    Call it in the child after every fork (a fork clears it; an exec keeps it). The kernel watches the
    *thread* that made the child, so parents make children in their main thread. Where there is no Linux
    this is a single check: ask `orphaned` as well.
    """
    if _LIBC is not None and _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG) failed")
    # The parent may have died between the fork and the prctl.
    if orphaned(parent):
        os.kill(os.getpid(), signal.SIGKILL)


def orphaned(parent: int) -> bool:
    """Whether `parent` is no longer this process's parent; cheap enough to be asked before every page."""
    return os.getppid() != parent


def resident() -> int:
    """Bytes of memory that this process holds now; where there is no Linux, the most that it ever held."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * resource.getpagesize()
    except FileNotFoundError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # macOS: bytes


def rearm(limit: float) -> None:
    """End this process, its traceback on stderr, unless `rearm` is called again within `limit` seconds.

    Works while C code holds the GIL, as no signal handler and no thread of ours could. A fork calls it off in
    the child.
    """
    faulthandler.dump_traceback_later(limit, exit=True)


def disarm() -> None:
    """Call the watchdog off."""
    faulthandler.cancel_dump_traceback_later()
