"""
Explanation: why a row was flagged
==================================

The squared distance of a row is shared out among the columns, each freed of what the others
explain. One panel has a potassium with a slipped decimal point, one has haemoglobin and
creatinine swapped, one glucose in another unit, and one the haematocrit of another sample:
ordinary by itself, but not beside that haemoglobin. The panel is synthetic.
"""

import matplotlib.pyplot as plt

from eosparse import EOSDetector
from eosparse.datasets import load_blood_panel
from eosparse.plots import ExplanationDisplay

panel = load_blood_panel()
detector = EOSDetector().fit(panel.X)

figure, ax = plt.subplots(figsize=(8, 6.5), layout="constrained")
ExplanationDisplay.from_estimator(
    detector,
    panel.X,
    rows=[133, 342, 224, 208],
    feature_names=panel.feature_names,
    n_columns=3,
    ax=ax,
)
plt.show()
