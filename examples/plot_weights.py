"""
Weights: how much each row counts
=================================

EOS gives every row a weight, ``w = softmax(-error / α)``. Multiplied by the number of rows, an
average row has 1. Outliers have hardly any weight, so they neither move the location nor inflate
the covariance. The dashed line is the paper's rule ``T·w = 0.01``. The colours follow the
detector's own rule, a false-discovery rate of 1 %, which may differ.
"""

import matplotlib.pyplot as plt

from eosparse import EOSDetector
from eosparse.datasets import make_contaminated
from eosparse.plots import WeightsDisplay

X, _ = make_contaminated(500, 4, 0.1, random_state=0)
detector = EOSDetector().fit(X)

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained", sharey=True)
WeightsDisplay.from_estimator(detector, ax=left)
WeightsDisplay.from_estimator(detector, order="row", ax=right)
left.set_title("Sorted")
right.set(title="In the order of the table", ylabel="")
plt.show()
