"""
Q-Q plot: can the p-values be trusted?
======================================

P-values are as good as the law they are taken from. The detector's law allows for the estimated
location and covariance; χ² is the law if both were known. With six rows per column the difference
is visible: against χ² the whole bulk lies too high although it belongs, against the fitted law it
lies on the line. It leaves it at the end because the flagged rows take up the last quantiles.
"""

import matplotlib.pyplot as plt

from eosparse import EOSDetector
from eosparse.datasets import make_contaminated
from eosparse.plots import DistanceQQDisplay

X, _ = make_contaminated(120, 20, 0.05, random_state=3)
detector = EOSDetector().fit(X)

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.8), layout="constrained", sharey=True)
DistanceQQDisplay.from_estimator(detector, ax=left)
DistanceQQDisplay.from_estimator(detector, law="chi2", ax=right)
left.set_title("The law that p-values are taken from")
right.set(title="χ²", ylabel="")
plt.show()
