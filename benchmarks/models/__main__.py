"""Figures of what the closed form does beyond outliers and labels, one file of this folder each.

``python -m benchmarks.models [affinities ...] [--scale 0.1]``
"""

from __future__ import annotations

from benchmarks.bench import run_command
from benchmarks.models import adbench, affinities, calibration, clusters, components, maps

FIGURES = {
    "adbench": adbench.run,
    "affinities": affinities.run,
    "calibration": calibration.run,
    "clusters": clusters.run,
    "components": components.run,
    "maps": maps.run,
}

if __name__ == "__main__":
    run_command("models", __doc__, FIGURES)
