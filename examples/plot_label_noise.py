"""
Label noise: how a classifier suffers from wrong labels
=======================================================

Training labels of the breast-cancer table that ships with scikit-learn are turned over at random,
and the area under the ROC curve is measured on rows with right labels. `EOSClassifier` around the
same classifier weighs down the rows whose labels it cannot believe. Means of five splits with
their 95 % intervals.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from eosparse import EOSClassifier
from eosparse.plots import LabelNoiseDisplay

X, y = load_breast_cancer(return_X_y=True)
plain = make_pipeline(StandardScaler(), LogisticRegression())
methods = {"EOS": EOSClassifier(plain, random_state=0), "logistic regression": plain}

display = LabelNoiseDisplay.from_estimators(
    methods, X, y, noise=(0.0, 0.15, 0.3, 0.4), scoring="roc_auc", n_repetitions=5
)
display.ax_.set_ylabel("area under the ROC curve")
plt.show()
