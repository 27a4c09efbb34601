"""
Label noise: how wrong labels affect a classifier
=================================================

Training labels of scikit-learn's breast-cancer data are flipped at random, and the area under the
ROC curve is measured on test rows with correct labels. `EOSClassifier` with the same classifier
gives less weight to rows with implausible labels. The plot shows means of five splits with 95 %
intervals.
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
