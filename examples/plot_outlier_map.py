"""
Outlier map: what the classical distance hides
==============================================

A quarter of the rows forms a cluster of its own. It pulls mean and covariance towards itself so
far that its classical Mahalanobis distances are ordinary ones: it is masked. The robust
distances, on the vertical axis, tell it apart. Rows on the grey line have the same distance
either way.
"""

import matplotlib.pyplot as plt

from eosparse import EOSDetector
from eosparse.datasets import make_contaminated
from eosparse.plots import OutlierMapDisplay

X, _ = make_contaminated(400, 5, 0.25, outliers="clustered", random_state=0)
detector = EOSDetector().fit(X)

display = OutlierMapDisplay.from_estimator(detector, X, against="classical")
display.ax_.set_title("A masked cluster")
plt.show()
