"""`python -m rankwise`: the `rankwise` command."""

from rankwise.cli import main

main()
