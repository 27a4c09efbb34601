"""
Error models: four definitions of an outlier
============================================

Which rows are outliers depends on the model of the good rows. This table has three groups and a few
stray rows. One Gaussian keeps every row in its ellipse, including rows between the groups. Clusters
keep rows near a centre. A subspace keeps rows near the line, at any distance along it. A mixture
follows the shape of each group. Shaded regions have p-values above 0.005, 0.1 and 0.5; rows below
0.005 are flagged.
"""

import matplotlib.pyplot as plt
import numpy as np

from eosparse import EOSDetector
from eosparse.models import ClusterModel, MixtureModel, SubspaceModel

KEPT, FLAGGED = "#0072B2", "#D55E00"
rng = np.random.default_rng(1)
groups = [
    rng.normal(size=(130, 2)) * [1.6, 0.5] + [0, 0],
    rng.normal(size=(130, 2)) * [0.6, 0.6] + [8, 3.4],
    rng.normal(size=(130, 2)) @ [[1.2, 0.9], [0.0, 0.5]] + [15, 6],
]
stray = [[4, 1.5], [11.5, 4.8], [4, 6], [12, -1], [8, -2], [0, 5], [24, 10.2], [19, 1], [-8, -3.3]]
X = np.vstack([*groups, stray])

models = {
    "one Gaussian": "gaussian",
    "clusters": ClusterModel(3),
    "subspace": SubspaceModel(1),
    "mixture": MixtureModel(3),
}
x, y = np.meshgrid(np.linspace(-11, 28, 240), np.linspace(-5, 13, 160))
points = np.column_stack([x.ravel(), y.ravel()])

figure, axes = plt.subplots(
    2, 2, figsize=(9.6, 6.4), sharex=True, sharey=True, layout="constrained"
)
for ax, (name, model) in zip(axes.flat, models.items(), strict=True):
    start = "uniform" if model == "gaussian" else "deterministic"  # one ellipse around all groups
    detector = EOSDetector(model=model, start=start, level=0.005).fit(X)
    p_values = detector.p_values(points).reshape(x.shape)
    ax.contourf(
        x, y, p_values, levels=[0.005, 0.1, 0.5, 1.0], colors=["#e3eef6", "#c3dcec", "#9fc7e0"]
    )
    flagged = detector.is_outlier_
    ax.scatter(*X[~flagged].T, s=7, color=KEPT, label="kept")
    ax.scatter(*X[flagged].T, s=24, marker="D", color=FLAGGED, label="flagged")
    ax.set(title=f"{name}: {flagged.sum()} flagged", xlabel="x", ylabel="y")
axes[0, 0].legend(loc="upper left", framealpha=1.0, edgecolor="none")
plt.show()
