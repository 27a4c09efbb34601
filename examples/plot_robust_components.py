"""
Robust components: a table of many columns in two
=================================================

Principal components of the robust correlations show a table of any width. Outliers cannot turn them
towards themselves. Here the columns are the thirteen measurements of the wines that ship with
scikit-learn: the 71 wines of the second cultivar, to which ten of the first were added.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine

from eosparse import EOSDetector
from eosparse.plots import ToleranceEllipseDisplay

wines, cultivar = load_wine(return_X_y=True)
X = np.concatenate([wines[cultivar == 1], wines[cultivar == 0][:10]])
detector = EOSDetector().fit(X)

display = ToleranceEllipseDisplay.from_components(detector, X)
display.ax_.set_title("71 wines of one cultivar and ten of another, 13 measurements")
plt.show()
