"""
Label issues: which labels were taken for which
===============================================

Of the ones, fours and sevens among the digits that ship with scikit-learn, some were given a
wrong label: mostly ones that were called seven, and a few the other way round.
`find_label_issues` judges each row by a model that did not see it. The matrix counts the rows
that it flags at a false-discovery rate of 10 %, by the label they were given and the one it
suggests: not all wrong labels, but those of which it is sure.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from eosparse import find_label_issues
from eosparse.plots import LabelIssueMatrixDisplay

X, y = load_digits(return_X_y=True)
X, y = X[np.isin(y, (1, 4, 7))], y[np.isin(y, (1, 4, 7))]
given = y.copy()
given[np.flatnonzero(y == 1)[::5]] = 7
given[np.flatnonzero(y == 7)[::12]] = 1
given[np.flatnonzero(y == 4)[::20]] = 7

LabelIssueMatrixDisplay.from_issues(find_label_issues(X, given, random_state=0))
plt.show()
