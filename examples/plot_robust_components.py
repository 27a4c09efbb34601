"""
Robust components: a table with many columns
============================================

Principal components of the robust correlations show a table of any width in two dimensions. An
eighth of these rows form a separate cluster. The cluster inflates the classical ellipse, but
neither rotates the robust components nor widens the robust ellipse.
"""

import matplotlib.pyplot as plt

from eosparse import EOSDetector
from eosparse.datasets import make_contaminated
from eosparse.plots import ToleranceEllipseDisplay

X, _ = make_contaminated(400, 12, 0.125, outliers="clustered", inliers="factor", random_state=1)
detector = EOSDetector().fit(X)

display = ToleranceEllipseDisplay.from_components(detector, X)
display.ax_.set_title("Twelve columns in two components")
plt.show()
