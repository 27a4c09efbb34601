"""
Label issues: which labels were taken for which
===============================================

Of the digits that ship with scikit-learn, every third 1 was labelled 7, and every third 3 was labelled
8. `find_label_issues` judges each row by a model that did not see it. The matrix counts the rows that
it flags, by the label they were given and the one it suggests.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from eosparse import find_label_issues
from eosparse.plots import LabelIssueMatrixDisplay

X, y = load_digits(return_X_y=True)
given = y.copy()
for right, wrong in ((1, 7), (3, 8)):
    given[np.flatnonzero(y == right)[::3]] = wrong

LabelIssueMatrixDisplay.from_issues(find_label_issues(X, given, random_state=0))
plt.show()
