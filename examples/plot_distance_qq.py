"""
Q-Q plot: can you trust the p-values?
=====================================

P-values are only as good as the law behind them. The detector's law allows for the estimated
location and covariance; χ² is the law for a known location and covariance. With six rows per column
the difference is visible: the good rows lie above the line for χ², and on the line for the fitted
law. They leave the line at the end because the flagged rows take up the last quantiles.
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
left.set_title("The law behind the p-values")
right.set(title="χ²", ylabel="")
plt.show()
