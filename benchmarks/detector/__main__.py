"""Figures of the detector: ``python -m benchmarks.detector [a b c d e f g h] [--scale 0.1]``."""

from __future__ import annotations

from benchmarks.bench import run_command
from benchmarks.detector import (
    adbench,
    breakdown,
    calibration,
    discoveries,
    masking,
    paper_points,
    speed,
    wide,
)

FIGURES = {
    "a": calibration.run,
    "b": discoveries.run,
    "c": breakdown.run,
    "d": paper_points.run,
    "e": adbench.run,
    "f": speed.run,
    "g": wide.run,
    "h": masking.run,
}

if __name__ == "__main__":
    run_command("detector", __doc__, FIGURES)
