"""The machine, the versions and the code that results were made with."""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import eosparse

_PACKAGES = ("numpy", "scipy", "scikit-learn", "statsmodels", "pyod", "cleanlab", "numba")
# Code that only reads units: it may change between runs.
_ONLY_READ = (
    "cli/",
    "comparison/figures.py",
    "comparison/machine.py",
    "comparison/results.py",
    "comparison/tables.py",
)


def describe_machine(command: str, n_workers: int) -> dict[str, str]:
    """Return machine, versions, date and command as text."""
    return {
        "command": command,
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "eosparse": eosparse.__version__,
        "machine": f"{_name_processor()}, {os.cpu_count()} cores, {_measure_memory()}",
        "system": f"{platform.system()} {platform.release()}",
        "Python": platform.python_version(),
        **{name: _find_version(name) for name in _PACKAGES},
        "R": _find_r_version(),
        "threads": f"{n_workers} processes side by side, one thread each",
    }


def compute_fingerprint(*folders: Path) -> dict[str, str]:
    """Return what makes units comparable: versions, processor, and a hash of the code.

    Parameters
    ----------
    *folders : Path
        More code that units depend on, besides eosparse itself.

    Examples
    --------
    >>> sorted(compute_fingerprint())[:3]
    ['Python', 'cleanlab', 'code']
    """
    digest = hashlib.sha256()
    for folder in (Path(eosparse.__file__).parent, *folders):
        for path in sorted(folder.rglob("*.py")):
            place = path.relative_to(folder).as_posix()
            if not place.startswith(_ONLY_READ):
                digest.update(place.encode() + path.read_bytes())
    return {
        "code": digest.hexdigest()[:16],
        "Python": platform.python_version(),
        "processor": _name_processor(),
        **{name: _find_version(name) for name in _PACKAGES},
    }


def _name_processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def _measure_memory() -> str:
    if not hasattr(os, "sysconf"):
        return "memory unknown"
    size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return f"{size / 2**30:.0f} GiB"


def _find_version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _find_r_version() -> str:
    try:
        done = subprocess.run(["R", "--version"], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return "not installed"
    return done.stdout.splitlines()[0] if done.stdout else "unknown"
