"""
Explanation: why a row was flagged
==================================

`explain` splits the squared distance of a row among the columns, after removing from each column
what the others explain. In this synthetic blood panel, one row has a misplaced decimal point in
potassium, one has haemoglobin and creatinine swapped, one has glucose in another unit, and one has
the haematocrit of another sample: ordinary by itself, but not with that haemoglobin.
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
