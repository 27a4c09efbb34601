"""
Weights: how much each row counts
=================================

EOS gives every row a weight, ``w = softmax(-error / α)``. Times the number of rows, 1 is that of
an average row. The rows that do not belong have hardly any: they neither move the location nor
inflate the covariance. The dashed line is the paper's ``T·w = 0.01``; the colours follow the
detector's own rule, a false-discovery rate of 1 %, which need not agree with it.
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
