"""
Label issues: which labels were taken for which
===============================================

Of the wines that ship with scikit-learn, 27 of 178 were given the label of another cultivar at
random. `find_label_issues` judges each row by a model that did not see it. The matrix counts the
rows that it flags at a false-discovery rate of 10 %, by the label they were given and the one it
suggests: not all wrong labels, but those of which it is sure.
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
