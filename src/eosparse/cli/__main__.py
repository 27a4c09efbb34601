"""``python -m eosparse.cli``: the command."""

from eosparse.cli import main

if __name__ == "__main__":
    main()
