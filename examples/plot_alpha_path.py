"""
α-path: does the result depend on α?
====================================

`EOSDetector.path` solves the same problem along decreasing α, starting each time from the previous
solution. A large α keeps every row, and a small one lets the weights collapse onto a few rows. In
between lies a plateau on which the same rows are flagged: here a tenth of the table, the share of
planted outliers. The α that the detector chose lies on the plateau.
"""

import matplotlib.pyplot as plt

from eosparse import EOSDetector
from eosparse.datasets import make_contaminated
from eosparse.plots import AlphaPathDisplay

X, _ = make_contaminated(400, 5, 0.1, outliers="clustered", random_state=0)
detector = EOSDetector().fit(X)

display = AlphaPathDisplay.from_path(detector.path(X), chosen=detector.alpha_)
display.ax_.set_title("400 rows, 40 of them in a cluster of outliers")
plt.show()
