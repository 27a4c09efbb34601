"""``python -m eosparse``: the command."""

from eosparse.cli import main

main()
