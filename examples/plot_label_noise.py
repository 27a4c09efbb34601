"""
Label noise: how a classifier suffers from wrong labels
=======================================================

Training labels of the breast-cancer table that ships with scikit-learn are turned over at random,
and the area under the ROC curve is measured on rows with right labels. `EOSClassifier` around the
same classifier weighs down the rows whose labels it cannot believe. Means of four splits with
their 95 % intervals.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from eosparse import EOSClassifier
from eosparse.plots import LabelNoiseDisplay

X, y = load_breast_cancer(return_X_y=True)
plain = make_pipeline(StandardScaler(), LogisticRegression())
methods = {"EOS": EOSClassifier(plain, random_state=0), "logistic regression": plain}
noise, seeds = [0.0, 0.15, 0.3, 0.4], range(4)
scores = {name: np.empty((len(noise), len(seeds))) for name in methods}
for seed in seeds:
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=seed)
    order = np.random.default_rng(seed).permutation(len(y_train))
    for level, part in enumerate(noise):
        wrong = y_train.copy()
        wrong[order[: round(part * len(order))]] ^= 1
        for name, method in methods.items():
            chances = method.fit(X_train, wrong).predict_proba(X_test)[:, 1]
            scores[name][level, seed] = roc_auc_score(y_test, chances)

LabelNoiseDisplay.from_curve(noise, scores, score_name="area under the ROC curve")
plt.show()
