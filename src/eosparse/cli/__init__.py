"""The command ``eosparse``."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command, or name the extra to install if Typer is missing."""
    try:
        from eosparse.cli.app import app
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich"):
            raise
        print("The command needs Typer: pip install 'eosparse[cli]'.", file=sys.stderr)
        raise SystemExit(2) from None
    except KeyboardInterrupt:
        print("Interrupted. Nothing was written.", file=sys.stderr)
        raise SystemExit(130) from None
    app()
