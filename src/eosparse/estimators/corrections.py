"""Which cells of a flagged row, if corrected, would make it belong."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import numpy as np

from eosparse.core import FloatArray
from eosparse.estimators.row_estimator import RowEstimator
from eosparse.estimators.wrong_cells import WrongCells, list_wrong_cells
from eosparse.fitting.cell_fit import CellFit
from eosparse.fitting.level_cells import LevelCells
from eosparse.fitting.table_input import read_new
from eosparse.models import CellModel, Fit, GaussianModel, Normal
from eosparse.rows import Coordinates, TableView

# Good cells exceed their cost with this chance.
_CHANCE = 0.003


class Corrections(RowEstimator):
    """A detector that says which cells of a row contradict the others."""

    def corrections(self, X: Any) -> WrongCells:
        """List the cells that, if corrected, would make rows belong, and what is expected there.

        A row from which nothing is listed is an outlier as a whole, or none.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or data frame
            Rows, such as those that are flagged.

        Returns
        -------
        WrongCells
            The surest first; `row` counts the rows of X.

        Examples
        --------
        >>> import numpy as np
        >>> from eosparse import EOSDetector
        >>> X = np.random.default_rng(0).normal(size=(300, 3)) * [1, 5, 1] + [0, 70, 0]
        >>> X[0, 1] = 700.0
        >>> detector = EOSDetector().fit(X)
        >>> [(cell.column, round(float(cell.expected))) for cell in detector.corrections(X[:1])]
        [('x1', 70)]
        """
        values = read_new(self, X, "corrections")
        verdict = _find_cells(self._judge.fit, values.shape[1]).judge(values)
        columns = getattr(self, "columns_", ())
        names = tuple(column.name for column in columns)
        reader = getattr(self, "_reader", None)
        is_wrong = ~verdict.kept & ~np.isnan(values) & (verdict.rivals < 0.5)
        return list_wrong_cells(
            values, verdict, is_wrong, names, {} if reader is None else reader.levels
        )


def _find_cells(fit: Fit[Any], n_columns: int) -> CellFit:
    """Return the fit of cells with the law of one Gaussian."""
    model, theta = fit.model, fit.result.theta
    known = model.is_one_cloud and isinstance(theta, Normal) and theta.covariance.ndim == 2
    coordinates = getattr(model, "coordinates", None)
    if not known or coordinates is None or coordinates.basis is not None:
        raise ValueError(
            "corrections() needs one Gaussian with a full covariance, with or without bent columns "
            "(rung_ 'gaussian' or 'margins'), and columns that do not depend on each other. Use "
            "EOSCells for other tables."
        )
    law = _to_view(theta, cast(GaussianModel, model), fit.result.alpha, coordinates)
    cells = CellModel(n_features=len(law.location), smallest_size=1.0).set_costs(law, _CHANCE)
    result = replace(fit.result, last=law, alpha=np.inf)
    view = fit.coordinates if isinstance(fit.coordinates, TableView) else _as_stored(n_columns)
    size = len(view.places)
    bounds = np.full(size, np.inf)
    found = replace(fit, model=cells, result=result, coordinates=view)
    return CellFit(found, cells, law, view, (), np.ones(size), -bounds, bounds, LevelCells(()))


def _to_view(theta: Normal, model: GaussianModel, alpha: float, coordinates: Coordinates) -> Normal:
    """Return the law in the coordinates that the model was given."""
    scale = coordinates.scale
    covariance = theta.covariance * np.outer(scale, scale) / (1 - model.coupling(alpha))
    return Normal(coordinates.location(theta.location), covariance)


def _as_stored(n_columns: int) -> TableView:
    """Return the view of columns as they are."""
    from eosparse.rows import LevelEffects, identity_margins

    none: FloatArray = np.zeros(0)
    places = np.arange(n_columns)
    effects = LevelEffects((), ())
    return TableView(n_columns, places, identity_margins(n_columns), none.astype(int), effects)
