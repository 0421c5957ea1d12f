"""A prompt with a page at hand, and what lies on the desk beside it."""

from __future__ import annotations

import code
import sys
from pathlib import Path
from typing import Any

from limpet.exits import Exit, say
from limpet.page import Page
from limpet.shown import one_line, plain
from limpet.site import Site
from limpet.trying import view
from limpet.trying.lab import Lab
from limpet.trying.recorded import replay, source_of
from limpet.trying.trial import Trial, row_for
from limpet_consumers.redirects import MOST_HOPS
from limpet_store.errors import LimpetError
from limpet_store.items import Fetched, Link, Record


class NoPage(LimpetError):
    """The page could not be had; the text says why."""


class Desk:
    """The names of the prompt. `page` is the page that was fetched last."""

    def __init__(self, site: Site, *, ignore_robots: bool = False) -> None:
        self._lab = Lab(site, obeying=not ignore_robots)
        self._site = site
        self._trial: Trial | None = None
        self.names: dict[str, Any] = {
            "site": site, "fetch": self.fetch, "run": self.run, "Record": Record, "Link": Link, "page": None,
        }  # fmt: skip

    def close(self) -> None:
        """Let go of the site's transport or session."""
        self._lab.close()

    def fetch(self, url: str) -> Page:
        """Fetch the page at `url` (relative to the present one), or read a file; it becomes `page`.

        Redirects are followed. Raises NoPage when there is none to be had.
        """
        before: Page | None = self.names["page"]
        if before is not None and "://" not in url and not Path(url).exists():
            url = before.link(url).url or url
        return self.open(url)

    def open(self, place: str, url: str | None = None) -> Page:
        """The page at a URL, or of a file that was fetched from `url`."""
        self._trial = self._try(place, url)
        page = self._page(self._trial)
        self.names["page"] = page
        return page

    def run(self) -> None:
        """Show what the handler makes of `page`."""
        if self._trial is not None:
            view.show(self._trial)

    def _try(self, place: str, url: str | None) -> Trial:
        if not place.startswith(("http://", "https://")):
            return replay(self._site, source_of(Path(place), url, None, None))
        row = row_for(place)
        for _ in range(MOST_HOPS):
            trial = self._lab.visit(row)
            target = self._lab.after(trial)
            if target is None:
                break
            row = target
        return trial

    def _page(self, trial: Trial) -> Page:
        """A page nobody has looked at yet."""
        response = trial.response
        if response is None:
            why = (trial.outcome and trial.outcome.error) or f"robots.txt {trial.robots}"
            raise NoPage(f"{trial.url}: {why}")
        fetched = trial.fetched or Fetched(trial.url, response.status, response.headers, response.body)
        params = self._site.route(fetched.handler, fetched.url)[1] if fetched.handler else {}
        return Page(fetched, params)


def interact(desk: Desk, place: str, url: str | None) -> Exit:
    """Open the page and hand over the prompt, until its end."""
    page = desk.open(place, url)
    banner = one_line(
        f"page is {page.url} ({page.status}); fetch(url), run(), site, Record; Ctrl-D ends", 300
    )
    if not sys.stdin.isatty():
        return _piped(desk)
    try:
        from IPython import start_ipython  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        _completion(desk)
        code.interact(banner=banner, local=desk.names, exitmsg="")
        return Exit.COMPLETE
    say(banner)
    start_ipython(argv=["--no-banner"], user_ns=desk.names)
    return Exit.COMPLETE


def _completion(desk: Desk) -> None:
    try:
        import readline
        import rlcompleter
    except ImportError:  # a Python without it
        return
    readline.set_completer(rlcompleter.Completer(desk.names).complete)
    readline.parse_and_bind("tab: complete")


class _Pipe(code.InteractiveConsole):
    """Lines from a pipe: no prompt is written, and what fails is remembered."""

    failed = False

    def raw_input(self, prompt: str = "") -> str:
        line = sys.stdin.readline()
        if not line:
            raise EOFError
        return line.rstrip("\n")

    def write(self, data: str) -> None:
        sys.stderr.write(plain(data))

    def showtraceback(self) -> None:
        self.failed = True
        super().showtraceback()

    def showsyntaxerror(self, *args: Any, **more: Any) -> None:
        self.failed = True
        super().showsyntaxerror(*args, **more)


def _piped(desk: Desk) -> Exit:
    console = _Pipe(desk.names)
    console.interact(banner="", exitmsg="")
    return Exit.FAILED if console.failed else Exit.COMPLETE
