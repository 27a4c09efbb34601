"""Maps of affinities by four errors: on images as they are and damaged, and on Pollen's cells.

The errors are the same for all data and were fixed beforehand: the squared distance of t-SNE, and
three common alternatives. No error has a parameter to tune; the scale of the logarithmic one is one
standard deviation of all entries. All maps of a repetition show the same rows, at the same
perplexity, by the same optimiser. They are judged by

- preservation: the share of a row's ten nearest, by the squared distance, that are among its ten
  nearest in the map. The ten nearest are those in data that the map does not see: images without
  the damage, or genes that were left out. On images as they are, the map does see these data, which
  is an advantage for the squared distance;
- purity: the share of the ten nearest in the map that are of the row's class.
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

from benchmarks.bench import Bench, count_repetitions
from eosparse import entropic_affinities
from eosparse.comparison.data_folder import DataFolder
from eosparse.comparison.intervals import compare_pairs, summarise
from eosparse.comparison.runner import Row

_IMAGES, _PERPLEXITY, _NEIGHBOURS, _REPETITIONS = 600, 20.0, 10, 10
_POLLEN = "pollen2014.npz"


@dataclass(frozen=True)
class Sample:
    """Rows to map, the same rows undamaged or in other columns, and their classes."""

    shown: np.ndarray
    truth: np.ndarray
    classes: np.ndarray


def draw_digits(rng: np.random.Generator) -> Sample:
    """Return images of digits as they are."""
    images, classes = load_digits(return_X_y=True)
    kept = rng.choice(len(images), _IMAGES, replace=False)
    return Sample(images[kept], images[kept], classes[kept])


def draw_faulty_pixels(rng: np.random.Generator, brightest: float) -> Sample:
    """Return digits with a tenth of the pixels replaced by readings; true ones are up to 16."""
    sample = draw_digits(rng)
    readings = rng.uniform(0.0, brightest, sample.truth.shape)
    is_faulty = rng.random(sample.truth.shape) < 0.1
    return Sample(np.where(is_faulty, readings, sample.truth), sample.truth, sample.classes)


def draw_exposures(rng: np.random.Generator) -> Sample:
    """Return digits with an exposure per image, between half and double for two in three."""
    sample = draw_digits(rng)
    factors = 2.0 ** rng.normal(size=(len(sample.truth), 1))
    return Sample(sample.truth * factors, sample.truth, sample.classes)


def draw_pollen(rng: np.random.Generator) -> Sample:
    """Return Pollen's cells by half of their genes; the other half is the truth."""
    cells = np.load(DataFolder.locate(None).path / _POLLEN)
    genes = rng.permutation(cells["X"].shape[1])
    half = len(genes) // 2
    X = cells["X"].astype(np.float64)
    return Sample(X[:, genes[:half]], X[:, genes[half:]], cells["y"])


SAMPLES: dict[str, Callable[[np.random.Generator], Sample]] = {
    "digits as they are": draw_digits,
    "faulty pixels, up to 16": partial(draw_faulty_pixels, brightest=16.0),
    "faulty pixels, up to 40": partial(draw_faulty_pixels, brightest=40.0),
    "digits, own exposures": draw_exposures,
    "Pollen's cells": draw_pollen,
}


def measure_logarithmic(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Return Cauchy's error in units of one standard deviation of all entries."""
    scale = B.std()
    errors = np.zeros((len(A), len(B)))
    for a, b in zip(A.T / scale, B.T / scale, strict=True):
        errors += np.log1p(np.square(a[:, None] - b))
    return errors


ERRORS: dict[str, Any] = {
    "squared distance": "sqeuclidean",
    "Manhattan": "manhattan",
    "cosine": "cosine",
    "logarithmic": measure_logarithmic,
}


def make_map(affinities: Any, seed: int) -> np.ndarray:
    from openTSNE import TSNE

    tsne = TSNE(initialization="spectral", negative_gradient_method="bh", random_state=seed)
    return np.asarray(tsne.fit(affinities=affinities.as_opentsne()))


def find_neighbours(positions: np.ndarray) -> np.ndarray:
    search = NearestNeighbors(n_neighbors=_NEIGHBOURS).fit(positions)
    return np.asarray(search.kneighbors(return_distance=False))


def measure(data: str, repetition: int) -> list[Row]:
    """Make and judge the maps of one sample by all errors."""
    sample = SAMPLES[data](np.random.default_rng(repetition))
    truth = find_neighbours(sample.truth)
    rows = []
    for name, error in ERRORS.items():
        affinities = entropic_affinities(sample.shown, error=error, perplexity=_PERPLEXITY)
        found = find_neighbours(make_map(affinities, repetition))
        kept = [np.isin(*pair).mean() for pair in zip(found, truth, strict=True)]
        is_own = sample.classes[found] == sample.classes[:, None]
        quality = {"preservation": np.mean(kept), "purity": is_own.mean()}
        rows.append({"data": data, "method": name, "repetition": repetition, **quality})
    return rows


def run(bench: Bench) -> None:
    missing = DataFolder.locate(None).explain_missing([_POLLEN])
    if missing:
        print(f"Pollen's cells are left out: {missing}", file=sys.stderr)
    names = [name for name in SAMPLES if not (missing and name == "Pollen's cells")]
    repetitions = range(count_repetitions(bench.scale, _REPETITIONS))
    settings = [{"data": name, "repetition": number} for name in names for number in repetitions]
    raw = bench.run_units("models_maps", measure, settings)
    measures = ["preservation", "purity"]
    summary = summarise(raw, ["data", "method"], measures)
    bench.report("models_maps", "Maps by four errors", raw, summary)
    gains = _compare_errors(raw, measures)
    bench.report("models_maps_gains", "Against the squared distance", None, gains)


def _compare_errors(raw: pd.DataFrame, measures: list[str]) -> pd.DataFrame:
    first, *others = ERRORS
    parts = [
        compare_pairs(raw, ["data"], measure, other, first).assign(measure=measure)
        for measure in measures
        for other in others
    ]
    return pd.concat(parts, ignore_index=True)
