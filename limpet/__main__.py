"""`python -m limpet`: the same as the `limpet` command."""

from limpet.cli import main

main()
