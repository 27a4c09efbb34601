"""
Robust clusters and components
==============================

Outliers attract the centres of k-means and the direction of principal component analysis. With the
weights of EOS, both follow the good rows, and rows outside the clusters or off the line are
flagged. A fifth of the rows are outliers in both tables.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA

from eosparse import EOSPCA, EOSKMeans

KEPT, FLAGGED, CLUSTERS = "#56B4E9", "#D55E00", ("#56B4E9", "#009E73", "#CC79A7")
rng = np.random.default_rng(3)

centres = np.array([[0.0, 0.0], [7.0, 0.0], [3.5, 6.0]])
grouped = centres[rng.integers(3, size=400)] + rng.normal(size=(400, 2))
grouped[:80] = rng.normal([25, 10], 6, (80, 2))

along = np.outer(rng.normal(0, 4, 400), [0.9, 0.45]) + rng.normal(0, 0.6, (400, 2))
along[:80] = rng.normal([-6, 12], 1, (80, 2))


def draw_flagged(ax, rows):
    if len(rows):
        label = f"{len(rows)} flagged"
        ax.scatter(*rows.T, s=22, marker="D", color=FLAGGED, label=label)


def draw_clusters(ax, X, labels, found, flagged):
    for k, colour in zip(np.argsort(found[:, 1]), CLUSTERS, strict=True):
        ax.scatter(*X[(labels == k) & ~flagged].T, s=9, color=colour)
    draw_flagged(ax, X[flagged])
    ax.scatter(*found.T, s=90, marker="X", color="black", edgecolor="white", label="centres")
    ax.set(xlim=(-6, 42), ylim=(-10, 26), xlabel="x", ylabel="y")
    ax.legend(loc="upper left", framealpha=1.0, edgecolor="none")


def draw_line(ax, X, mean, direction, flagged):
    ax.scatter(*X[~flagged].T, s=9, color=KEPT)
    draw_flagged(ax, X[flagged])
    ax.axline(mean, mean + direction, color="black", linewidth=1.5, label="first component")
    ax.set(xlim=(-14, 14), ylim=(-8, 17), xlabel="x", ylabel="y")
    ax.legend(loc="upper right", framealpha=1.0, edgecolor="none")


figure, axes = plt.subplots(2, 2, figsize=(9.6, 7.2), layout="constrained")
none = np.zeros(400, dtype=bool)
plain, robust = KMeans(3, n_init=10, random_state=0).fit(grouped), EOSKMeans(3).fit(grouped)
draw_clusters(axes[0, 0], grouped, plain.labels_, plain.cluster_centers_, none)
draw_clusters(axes[0, 1], grouped, robust.labels_, robust.cluster_centers_, robust.is_outlier_)
axes[0, 0].set_title("k-means")
axes[0, 1].set_title("EOSKMeans")

plain, robust = PCA(1).fit(along), EOSPCA(1).fit(along)
draw_line(axes[1, 0], along, plain.mean_, plain.components_[0], none)
draw_line(axes[1, 1], along, robust.mean_, robust.components_[0], robust.is_outlier_)
axes[1, 0].set_title("PCA")
axes[1, 1].set_title("EOSPCA")
plt.show()
