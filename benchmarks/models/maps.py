"""Maps of affinities by four errors: on images as they are and damaged, and on Pollen's cells.

The errors are the same for all data and were fixed beforehand: t-SNE's squared distance and three
that people take where it fails. No error has a number to tune; the logarithmic one's scale is one
standard deviation of all entries. All maps of a repetition show the same rows, at the same
perplexity, by the same optimiser. They are judged by

- preservation: how many of a row's ten nearest, by the squared distance, in what the map was not
  shown (images without the damage; for cells, genes that were left out) are among the ten nearest
  in the map. On images as they are that is what the squared distance was shown, to its advantage;
- purity: how many of the ten nearest in the map are of the row's class.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_digits
from sklearn.neighbors import NearestNeighbors

from benchmarks.reporting import Row, report, run_resumable, summarise
from eosparse import entropic_affinities
from eosparse.comparison.data_folder import DataFolder
from eosparse.comparison.intervals import paired

_IMAGES, _PERPLEXITY, _NEIGHBOURS, _REPETITIONS = 600, 20.0, 10, 10
_POLLEN = "pollen2014.npz"


@dataclass(frozen=True)
class Sample:
    """Rows to be mapped, what they look like undamaged or in other columns, and their classes."""

    shown: np.ndarray
    truth: np.ndarray
    classes: np.ndarray


def digits(rng: np.random.Generator) -> Sample:
    """Images of digits as they are."""
    images, classes = load_digits(return_X_y=True)
    kept = rng.choice(len(images), _IMAGES, replace=False)
    return Sample(images[kept], images[kept], classes[kept])


def faulty_pixels(rng: np.random.Generator, brightest: float) -> Sample:
    """A tenth of the pixels replaced by readings up to some brightness; true ones go up to 16."""
    sample = digits(rng)
    readings = rng.uniform(0.0, brightest, sample.truth.shape)
    is_faulty = rng.random(sample.truth.shape) < 0.1
    return Sample(np.where(is_faulty, readings, sample.truth), sample.truth, sample.classes)


def exposures(rng: np.random.Generator) -> Sample:
    """Every image taken with an exposure of its own, from half to double for two in three."""
    sample = digits(rng)
    factors = 2.0 ** rng.normal(size=(len(sample.truth), 1))
    return Sample(sample.truth * factors, sample.truth, sample.classes)


def pollen(rng: np.random.Generator) -> Sample:
    """Pollen's cells by half of their genes; the other half is the truth."""
    cells = np.load(DataFolder.given(None).path / _POLLEN)
    genes = rng.permutation(cells["X"].shape[1])
    half = len(genes) // 2
    X = cells["X"].astype(np.float64)
    return Sample(X[:, genes[:half]], X[:, genes[half:]], cells["y"])


SAMPLES: dict[str, Callable[[np.random.Generator], Sample]] = {
    "digits as they are": digits,
    "faulty pixels, up to 16": partial(faulty_pixels, brightest=16.0),
    "faulty pixels, up to 40": partial(faulty_pixels, brightest=40.0),
    "digits, own exposures": exposures,
    "Pollen's cells": pollen,
}


def logarithmic(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Cauchy's error in units of one standard deviation of all entries."""
    scale = B.std()
    errors = np.zeros((len(A), len(B)))
    for a, b in zip(A.T / scale, B.T / scale, strict=True):
        errors += np.log1p(np.square(a[:, None] - b))
    return errors


ERRORS: dict[str, Any] = {
    "squared distance": "sqeuclidean",
    "Manhattan": "manhattan",
    "cosine": "cosine",
    "logarithmic": logarithmic,
}


def mapped(affinities: Any, seed: int) -> np.ndarray:
    from openTSNE import TSNE

    tsne = TSNE(initialization="spectral", negative_gradient_method="bh", random_state=seed)
    return np.asarray(tsne.fit(affinities=affinities.as_opentsne()))


def neighbours(positions: np.ndarray) -> np.ndarray:
    search = NearestNeighbors(n_neighbors=_NEIGHBOURS).fit(positions)
    return np.asarray(search.kneighbors(return_distance=False))


def unit(data: str, repetition: int) -> list[Row]:
    """Make and judge the maps of one sample by all errors."""
    sample = SAMPLES[data](np.random.default_rng(repetition))
    truth = neighbours(sample.truth)
    rows = []
    for name, error in ERRORS.items():
        affinities = entropic_affinities(sample.shown, error=error, perplexity=_PERPLEXITY)
        found = neighbours(mapped(affinities, repetition))
        kept = [np.isin(*pair).mean() for pair in zip(found, truth, strict=True)]
        is_own = sample.classes[found] == sample.classes[:, None]
        judged = {"preservation": np.mean(kept), "purity": is_own.mean()}
        rows.append({"data": data, "method": name, "repetition": repetition, **judged})
    return rows


def run(scale: float = 1.0) -> None:
    missing = DataFolder.given(None).missing([_POLLEN])
    if missing:
        print(f"Pollen's cells are left out: {missing}", file=sys.stderr)
    names = [name for name in SAMPLES if not (missing and name == "Pollen's cells")]
    repetitions = range(max(2, round(scale * _REPETITIONS)))
    settings = [{"data": name, "repetition": number} for name in names for number in repetitions]
    raw = run_resumable("models_maps", unit, settings)
    measures = ["preservation", "purity"]
    report("models_maps", "Maps by four errors", raw, summarise(raw, ["data", "method"], measures))
    report("models_maps_gains", "Against the squared distance", None, _gains(raw, measures))


def _gains(raw: pd.DataFrame, measures: list[str]) -> pd.DataFrame:
    first, *others = ERRORS
    parts = [
        paired(raw, ["data"], measure, other, first).assign(measure=measure)
        for measure in measures
        for other in others
    ]
    return pd.concat(parts, ignore_index=True)
