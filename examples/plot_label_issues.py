"""
Label issues: which labels are confused with which
==================================================

27 of the 178 wines in scikit-learn's data set get the label of another cultivar at random.
`find_label_issues` evaluates each row with a model that was fitted without it. The matrix counts
the rows flagged at a false-discovery rate of 10 % by their given and their suggested label. It does
not contain all wrong labels, only those that are sufficiently certain.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine

from eosparse import find_label_issues
from eosparse.plots import LabelIssueMatrixDisplay

X, y = load_wine(return_X_y=True)
rng = np.random.default_rng(0)
wrong = rng.choice(len(y), 27, replace=False)
given = y.copy()
given[wrong] = (y[wrong] + rng.integers(1, 3, len(wrong))) % 3
names = np.array(["cultivar A", "cultivar B", "cultivar C"])

LabelIssueMatrixDisplay.from_issues(find_label_issues(X, names[given], random_state=0))
plt.show()
