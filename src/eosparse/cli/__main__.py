"""``python -m eosparse.cli`` is the command too."""

from eosparse.cli import main

if __name__ == "__main__":
    main()
