"""
α-path: does the answer hang on α?
==================================

`EOSDetector.path` solves the same problem along falling α, each time from the solution before.
Large α keep every row, small ones let the weights collapse onto a few. In between lies a plateau,
over which the same rows are flagged: here a tenth of the table, which is what was planted. The α
that the detector chose lies on it.
"""

import matplotlib.pyplot as plt

from eosparse import EOSDetector
from eosparse.datasets import make_contaminated
from eosparse.plots import AlphaPathDisplay

X, _ = make_contaminated(400, 5, 0.1, outliers="clustered", random_state=0)
detector = EOSDetector().fit(X)

display = AlphaPathDisplay.from_path(detector.path(X), chosen=detector.alpha_)
display.ax_.set_title("400 rows, 40 of them in a cluster that does not belong")
plt.show()
