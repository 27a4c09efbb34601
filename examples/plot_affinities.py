"""A map of damaged images: an error that forgives single pixels, against the squared distance.

A tenth of the pixels of every digit is replaced by the readings of a faulty sensor, up to two and a
half times as bright as a pixel can be. t-SNE's Gaussians judge two images by the sum of squared
differences, which a few such pixels dominate. ``entropic_affinities`` takes any error; with one
that grows like a logarithm, a damaged pixel counts little. (Damage that stays within the range of
the shades is no more than noise, and there the squared distance does as well.) Both maps are made
from affinities of the same perplexity by the same optimiser, and judged by

- preservation: how many of the ten nearest images, measured on the undamaged pixels, are among the
  ten nearest in the map;
- purity: how many of the ten nearest in the map show the same digit.

Run ``pip install 'eosparse[tsne,plots]'`` and ``python examples/plot_affinities.py [picture.png]``.
"""

from __future__ import annotations

import sys

import matplotlib.pyplot as plt
import numpy as np
import openTSNE
from sklearn.datasets import load_digits
from sklearn.neighbors import NearestNeighbors

from eosparse import entropic_affinities

N_IMAGES, DAMAGED, PERPLEXITY = 600, 0.1, 20
BRIGHTEST = 40.0  # of the damaged pixels; the others go up to 16


def damaged_digits(seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return digits as they are, damaged, and their labels."""
    rng = np.random.default_rng(seed)
    images, labels = load_digits(return_X_y=True)
    kept = rng.choice(len(images), N_IMAGES, replace=False)
    clean = images[kept]
    noise = rng.uniform(0.0, BRIGHTEST, clean.shape)
    return clean, np.where(rng.random(clean.shape) < DAMAGED, noise, clean), labels[kept]


def forgiving(A: np.ndarray, B: np.ndarray, scale: float = 4.0) -> np.ndarray:
    """Cauchy's error, Σ log(1 + (a-b)²/s²), column by column so that blocks stay small."""
    errors = np.zeros((len(A), len(B)))
    for a, b in zip(A.T / scale, B.T / scale, strict=True):
        errors += np.log1p(np.square(a[:, None] - b))
    return errors


def neighbours(positions: np.ndarray, count: int = 10) -> np.ndarray:
    return NearestNeighbors(n_neighbors=count).fit(positions).kneighbors(return_distance=False)


def preservation(positions: np.ndarray, truth: np.ndarray) -> float:
    """Return the part of the true neighbours that the map keeps."""
    pairs = zip(neighbours(positions), neighbours(truth), strict=True)
    return float(np.mean([np.isin(found, wanted).mean() for found, wanted in pairs]))


def purity(positions: np.ndarray, labels: np.ndarray) -> float:
    """Return the part of the neighbours in the map that share the label."""
    return float((labels[neighbours(positions)] == labels[:, None]).mean())


QUICK = {"early_exaggeration_iter": 150, "negative_gradient_method": "bh"}


def mapped(affinities: openTSNE.affinity.Affinities) -> np.ndarray:
    tsne = openTSNE.TSNE(initialization="spectral", random_state=0, n_iter=250, **QUICK)
    return np.asarray(tsne.fit(affinities=affinities))


def main() -> None:
    clean, damaged, labels = damaged_digits()
    _, axes = plt.subplots(1, 2, figsize=(10, 5), constrained_layout=True)
    errors = {"squared distance": "sqeuclidean", "forgiving error": forgiving}
    for ax, (name, error) in zip(axes, errors.items(), strict=True):
        affinities = entropic_affinities(damaged, error=error, perplexity=PERPLEXITY)
        positions = mapped(affinities.as_opentsne())
        kept, pure = preservation(positions, clean), purity(positions, labels)
        print(f"{name:17} preservation {kept:.3f}, purity {pure:.3f}")
        ax.scatter(*positions.T, c=labels, cmap="tab10", s=6)
        ax.set(title=f"{name}: purity {pure:.2f}", xticks=[], yticks=[])
    if len(sys.argv) > 1:
        plt.savefig(sys.argv[1], dpi=120)
    else:
        plt.show()


if __name__ == "__main__":
    main()
