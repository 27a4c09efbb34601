"""
Robust components: a table of many columns in two
=================================================

Principal components of the robust correlations show a table of any width. The rows that do not
belong neither turn them towards themselves nor widen the ellipse, as they do with the classical
one: an eighth of these rows lies around a point of its own.
"""

import matplotlib.pyplot as plt

from eosparse import EOSDetector
from eosparse.datasets import make_contaminated
from eosparse.plots import ToleranceEllipseDisplay

X, _ = make_contaminated(400, 12, 0.125, outliers="clustered", inliers="factor", random_state=1)
detector = EOSDetector().fit(X)

display = ToleranceEllipseDisplay.from_components(detector, X)
display.ax_.set_title("Twelve columns, seen in two components")
plt.show()
