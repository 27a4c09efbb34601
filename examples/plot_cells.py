"""
Cells: which values are wrong, and what they should have been
=============================================================

The chemists who analysed 178 Italian wines measured thirteen columns of each. Here some of their
cells are damaged: a decimal point is misplaced. `EOSCells` compares each
cell with the others of its row. The map shows how far each cell of the damaged wines lies from what
is expected, in standard deviations; circles are cells that were damaged, dots are cells that are
flagged. On the right are the true and the suggested values of the flagged cells, in standard
deviations of their columns.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine

from eosparse import EOSCells

rng = np.random.default_rng(0)
wine = load_wine(as_frame=True).data
truth = wine.to_numpy()
X, damaged = truth.copy(), np.zeros(truth.shape, dtype=bool)
for row in rng.choice(len(X), 20, replace=False):
    column = rng.integers(X.shape[1])
    X[row, column] *= rng.choice([10, 0.1])
    damaged[row, column] = True

cells = EOSCells().fit(X)
wrong = cells.is_wrong_cell_
print(f"{(wrong & damaged).sum()} of {damaged.sum()} damaged cells are flagged")
print(f"{(wrong & ~damaged).sum()} other cells are flagged")

# %%
# The map, and the suggested values
rows = np.flatnonzero(damaged.any(axis=1))
away = np.clip((X - cells.expected_) / cells.expected_std_, -8, 8)[rows]
figure, (left, right) = plt.subplots(
    1, 2, figsize=(11, 5.5), width_ratios=[1.6, 1], layout="constrained"
)
picture = left.imshow(away, cmap="RdBu_r", vmin=-8, vmax=8, aspect="auto")
left.set_xticks(range(X.shape[1]), wine.columns, rotation=60, ha="right")
left.set_yticks(range(len(rows)), rows)
left.set_xlabel("column")
left.set_ylabel("wine")
for mask, style in (
    (damaged[rows], {"s": 130, "fc": "none", "ec": "k"}),
    (wrong[rows], {"s": 12, "c": "k"}),
):
    y, x = np.nonzero(mask)
    left.scatter(x, y, **style)
figure.colorbar(picture, ax=left, label="standard deviations from what is expected")
spread = truth.std(axis=0)
both = wrong & damaged
true, suggested = (((v - truth.mean(axis=0)) / spread)[both] for v in (truth, cells.expected_))
right.scatter(true, suggested, c="#0072B2")
ends = [min(true.min(), suggested.min()) - 0.3, max(true.max(), suggested.max()) + 0.3]
right.plot(ends, ends, c="0.6", lw=1)
right.set_xlabel("true value")
right.set_ylabel("suggested value")
right.set_title("flagged cells that were damaged")
plt.show()
