"""Where and with what results were made."""

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
_READERS = ("figures", "results", "tables", "machine")


def describe(command: str, n_workers: int) -> dict[str, str]:
    """Return machine, versions, date and command, as text."""
    return {
        "command": command,
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "eosparse": eosparse.__version__,
        "machine": f"{_processor()}, {os.cpu_count()} cores, {_memory()}",
        "system": f"{platform.system()} {platform.release()}",
        "Python": platform.python_version(),
        **{name: _version(name) for name in _PACKAGES},
        "R": _r_version(),
        "threads": f"{n_workers} processes side by side, one thread each",
    }


def fingerprint() -> dict[str, str]:
    """Return what makes units comparable: versions, processor, and the code that makes them."""
    digest = hashlib.sha256()
    folder = Path(eosparse.__file__).parent
    for path in sorted(folder.rglob("*.py")):
        place = path.relative_to(folder)
        # What only reads units may change between runs.
        if "cli" not in place.parts and place.stem not in _READERS:
            digest.update(place.as_posix().encode() + path.read_bytes())
    return {
        "code": digest.hexdigest()[:16],
        "Python": platform.python_version(),
        "processor": _processor(),
        **{name: _version(name) for name in _PACKAGES},
    }


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def _memory() -> str:
    if not hasattr(os, "sysconf"):
        return "memory unknown"
    size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return f"{size / 2**30:.0f} GiB"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _r_version() -> str:
    try:
        done = subprocess.run(["R", "--version"], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return "not installed"
    return done.stdout.splitlines()[0] if done.stdout else "unknown"
