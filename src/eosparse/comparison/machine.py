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
    "pages/",  # of benchmarks
)


def describe_machine(command: str, n_workers: int) -> dict[str, str]:
    """Return machine, versions, date and command as text."""
    return {
        "command": command,
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "eosparse": eosparse.__version__,
        "commit": find_commit(),
        "machine": f"{_name_processor()}, {os.cpu_count()} cores, {_measure_memory()}",
        "system": f"{platform.system()} {platform.release()}",
        "Python": platform.python_version(),
        **{name: _find_version(name) for name in _PACKAGES},
        "R": _find_r_version(),
        "threads": f"{n_workers} processes side by side, one thread each",
    }


def find_commit() -> str:
    """Return the commit of the code, and whether its files differ from it.

    Returns
    -------
    str
        Such as ``"1a2b3c4"`` or ``"1a2b3c4, with changes"``; ``"unknown"`` if eosparse is not
        imported from a checkout.

    Examples
    --------
    >>> find_commit() == "unknown" or len(find_commit().partition(", ")[0]) == 7
    True
    """
    root = Path(eosparse.__file__).parents[2]
    # An installed package may lie inside the checkout of something else.
    if not (root / ".git").exists():
        return "unknown"
    commit = _ask_git(root, "rev-parse", "HEAD")[:7] or "unknown"
    code = ("src", "benchmarks", ":!benchmarks/results")
    changed = _ask_git(root, "status", "--porcelain", "--", *code)
    return f"{commit}, with changes" if changed else commit


def _ask_git(root: Path, *arguments: str) -> str:
    command = ["git", "-C", str(root), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return ""
    return done.stdout.strip()


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
