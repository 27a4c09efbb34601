"""Three tables from the command line, against a bare read: ``python -m benchmarks.tables``."""

from __future__ import annotations

from benchmarks.bench import run_command
from benchmarks.tables import commands

if __name__ == "__main__":
    run_command("tables", __doc__, {"tables": commands.run})
