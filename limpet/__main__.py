"""The `limpet` command, also as `python -m limpet`: what must hold before anything is imported."""

import os
import signal


def main() -> None:
    """Run the command line. Ctrl-C while it is being loaded ends it silently with 130: nothing has begun."""
    _open_standard_streams()
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, lambda *_: os._exit(130))
    from limpet.cli import main as run

    if before is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, before)
    run()


def _open_standard_streams() -> None:
    """`limpet ... >&-`: what is closed goes nowhere, and no database is ever opened in its place."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # takes the lowest number that is free


if __name__ == "__main__":
    main()
