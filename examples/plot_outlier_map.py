"""
Outlier map: what the classical distance hides
==============================================

A quarter of the rows form a separate cluster. It pulls the mean and covariance so far towards
itself that its classical Mahalanobis distances look ordinary: the cluster is masked. The robust
distances, on the vertical axis, reveal it. Rows on the grey line have equal classical and robust
distances.
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
