"""Data generators, and data sets that ship with the package."""

from eosparse.datasets.blood_panel import BloodPanel, load_blood_panel
from eosparse.datasets.contaminated import Contaminated, make_contaminated

__all__ = ["BloodPanel", "Contaminated", "load_blood_panel", "make_contaminated"]
