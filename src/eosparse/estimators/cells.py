"""`EOSCells`: which cells of a table are wrong, and what they should have been."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin

from eosparse.core import FloatArray, Status, check_number
from eosparse.estimators.notebook import SummaryMixin
from eosparse.estimators.wrong_cells import WrongCells, list_wrong_cells, tabulate_wrong
from eosparse.fitting.cell_fit import CellFit, CellVerdict, fit_cells
from eosparse.fitting.cell_rates import find_cell_cut, find_row_cut
from eosparse.fitting.notices import warn_of_early_end
from eosparse.fitting.options import combine_options
from eosparse.fitting.table_input import open_new, open_training, read_new
from eosparse.fitting.whole_fit import fit_or_restore
from eosparse.inference import Promise
from eosparse.rows import Table, collect_rows, fit_threads, is_frame


class EOSCells(OneToOneFeatureMixin, TransformerMixin, SummaryMixin, BaseEstimator):  # type: ignore[misc]  # sklearn has no types
    r"""Find wrong cells, and what should have been there, from the other cells of their rows.

    Rows keep the cells that belong together: a cell is set aside, at a cost λ, if that lowers

    .. math::
        \tfrac{1}{2} (\log\det V_{oo} + m_o) + \sum_{d \notin o} \lambda_d

    over the columns o that the row keeps, m being its squared distance in these. Entropic Outlier
    Sparsification minimises the weighted sum of these errors and the entropy of the rows' weights,
    so that rows that are wrong as a whole lose their weight.

    Parameters
    ----------
    fdr : float, default=0.01
        False-discovery rate over all cells: on average at most this share of the flagged cells are
        right. Kept where good rows follow a Gaussian after learned margins; see `promise_`.
    alpha : float or "auto", default="auto"
        Regularisation of the rows' weights. "auto" keeps `efficiency`.
    efficiency : float in (0, 1), default=0.99
        Efficiency of the location on rows without wrong cells, behind alpha="auto".
    margins : bool, default=True
        Whether skewed and heavy-tailed columns are bent to a normal law, learned from the cells
        that belong.
    kinds : mapping of str to str, optional
        What some columns hold, by their names (``"x0"``, ``"x1"``, ... without names): "number",
        "levels", "category", "heap", "date" or "ignored". Others are recognised.
    fill_gaps : bool, default=False
        Whether `transform` and `repair` put expected values into gaps too.
    tol : float, default=1e-7
        Stop when the objective falls by no more than this, relative to its size if above 1.
    max_iter : int, default=200
        Maximum number of passes over the rows.

    Attributes
    ----------
    is_wrong_cell_ : ndarray of bool of shape (n_samples, n_features)
        Cells of the training rows that are wrong at the false-discovery rate.
    cell_p_values_ : ndarray of shape (n_samples, n_features)
        P-value of each cell, given the others of its row that belong. NaN in gaps and in columns
        that are not compared. For levels, the chance that the level is right.
    cell_weights_ : ndarray of shape (n_samples, n_features)
        Chance that a cell belongs, if those that do not may lie anywhere; below a half, the cell is
        set aside.
    expected_, expected_std_ : ndarray of shape (n_samples, n_features)
        What is expected of each cell, also in gaps, and its standard deviation.
    expected_low_, expected_high_ : ndarray of shape (n_samples, n_features)
        Interval that holds 95 % of the cells that belong.
    row_p_values_ : ndarray of shape (n_samples,)
        P-value of each row with all of its cells.
    is_outlier_ : ndarray of bool of shape (n_samples,)
        Rows that do not belong as they are, at the false-discovery rate; repaired, most do.
    is_wrong_row_ : ndarray of bool of shape (n_samples,)
        Rows of which more than half of the cells do not belong: they are wrong as a whole.
    location_ : ndarray of shape (n_features,)
        Location of good rows; NaN in columns that are not compared.
    covariance_ : ndarray of shape (n_features, n_features)
        Covariance of good rows, in normal scores of columns that are bent (`columns_` says which).
    columns_ : tuple of ColumnKind
        What each column holds.
    promise_ : Promise
        Whether the false-discovery rate can be promised; true or false, with a `reason`.
    cell_cut_ : float
        Cells with smaller p-values are wrong, unless another cell of the row may be wrong instead.
    alpha_, objective_, objective_history_, n_iter_, status_, effective_sample_size_
        The alpha used, and how the alternation went.
    n_features_in_, feature_names_in_
        Number of columns, and their names, if the input has names that are all strings.

    Notes
    -----
    For rows on disk and on a cluster the fit streams, and attributes per cell are not kept: read
    the rows of interest, and call `judge`.

    A cell is compared with what the other cells of its row say. Where they say nothing, only values
    far out in their column are found.

    Examples
    --------
    >>> import numpy as np
    >>> from eosparse import EOSCells
    >>> rng = np.random.default_rng(0)
    >>> height = rng.normal(170, 8, 300)
    >>> weight = 0.9 * height - 90 + rng.normal(0, 5, 300)
    >>> X = np.column_stack([height, weight, rng.normal(5, 1, 300)])
    >>> X[7, 0], X[9, 2] = 17.1, 51.0
    >>> cells = EOSCells().fit(X)
    >>> np.argwhere(cells.is_wrong_cell_).tolist()
    [[7, 0], [9, 2]]
    >>> bool(150 < cells.transform(X)[7, 0] < 190)
    True
    """

    # Data frames may hold text, booleans, dates and gaps: see `open_training`.
    _takes_kinds = True
    _takes_gaps = True

    def __init__(
        self,
        fdr: float = 0.01,
        *,
        alpha: float | Literal["auto"] = "auto",
        efficiency: float = 0.99,
        margins: bool = True,
        kinds: Mapping[str, str] | None = None,
        fill_gaps: bool = False,
        tol: float = 1e-7,
        max_iter: int = 200,
    ) -> None:
        self.fdr = fdr
        self.alpha = alpha
        self.efficiency = efficiency
        self.margins = margins
        self.kinds = kinds
        self.fill_gaps = fill_gaps
        self.tol = tol
        self.max_iter = max_iter

    @fit_or_restore
    def fit(
        self,
        X: Any,
        y: object = None,  # noqa: ARG002  # scikit-learn's signature
        sample_weight: Any = None,
    ) -> Self:
        """Find the law of good cells, and judge the cells of rows in memory.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), data frame, path, opened rows or Dask
            The table; missing values are NaN, None or NA.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), optional
            Prior weights. A weight of k counts the row k times, 0 leaves it out.

        Returns
        -------
        EOSCells
            The fitted estimator.
        """
        fdr = check_number("fdr", self.fdr, "(0, 1)")
        options = combine_options(self.alpha, self.efficiency, self.tol, self.max_iter)
        self.__dict__.pop("cell_cut_", None)
        table = open_training(self, X, sample_weight)
        reader = getattr(self, "_reader", None)
        kinds = {**({} if reader is None else reader.kinds), **(self.kinds or {})}
        with fit_threads(table.n_features):
            self._fit: CellFit = fit_cells(table, options, kinds, bends=self.margins)
            self._set_rates(table, fdr)
        result, theta = self._fit.fit.result, self._fit.theta
        self.columns_ = self._fit.columns
        self.alpha_ = result.alpha
        self.objective_ = result.objective
        self.objective_history_ = np.array(result.objective_history)
        self.n_iter_ = result.n_iter
        self.status_ = result.status
        self.effective_sample_size_ = result.effective_size
        self.location_, self.covariance_ = self._fit.to_columns(theta)
        self.__dict__.pop("_training", None)
        if table.is_in_memory:
            self._training: CellVerdict = self._fit.judge(read_new(self, X, "fit"))
        if result.status is not Status.CONVERGED:
            warn_of_early_end(result, self.max_iter)
        return self

    def _set_rates(self, table: Table, fdr: float) -> None:
        self._cut = find_cell_cut(self._fit, table, fdr)
        self.promise_: Promise = self._cut.promise
        self.cell_cut_: float = self._cut.p_value
        self._row_cut = find_row_cut(self._fit, table, fdr)

    # The training rows

    def _get_training(self, name: str) -> CellVerdict:
        if not hasattr(self, "_training"):
            raise AttributeError(
                f"{name} is kept for rows in memory only, after a fit. Use judge() for some rows."
            )
        return self._training

    @property
    def is_wrong_cell_(self) -> Any:
        """Which cells of the training rows are wrong."""
        return self.find_wrong(self._get_training("is_wrong_cell_"))

    @property
    def cell_p_values_(self) -> FloatArray:
        """P-value of each cell of the training rows."""
        return self._get_training("cell_p_values_").p_values

    @property
    def cell_weights_(self) -> FloatArray:
        """Weight of each cell of the training rows."""
        return self._get_training("cell_weights_").weights

    @property
    def expected_(self) -> FloatArray:
        """What is expected of each cell of the training rows."""
        return self._get_training("expected_").expected

    @property
    def expected_std_(self) -> FloatArray:
        """Standard deviation of what is expected."""
        return self._get_training("expected_std_").std

    @property
    def expected_low_(self) -> FloatArray:
        """Lower end of the interval of what is expected."""
        return self._get_training("expected_low_").low

    @property
    def expected_high_(self) -> FloatArray:
        """Upper end of the interval of what is expected."""
        return self._get_training("expected_high_").high

    @property
    def row_p_values_(self) -> FloatArray:
        """P-value of each training row with all of its cells."""
        return self._get_training("row_p_values_").row_p_values

    @property
    def is_outlier_(self) -> Any:
        """Which training rows do not belong as they are."""
        return self._get_training("is_outlier_").row_p_values <= self._row_cut

    @property
    def is_wrong_row_(self) -> Any:
        """Which training rows are wrong as a whole."""
        return self.find_wrong_rows(self._get_training("is_wrong_row_"))

    # Any rows

    def judge(self, X: Any) -> CellVerdict:
        """Judge the cells of rows in memory.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or data frame
            Rows.

        Returns
        -------
        CellVerdict
            `weights`, `p_values`, `expected`, `std`, `low`, `high` and `row_p_values`.

        Examples
        --------
        >>> import numpy as np
        >>> from eosparse import EOSCells
        >>> X = np.random.default_rng(0).normal(size=(200, 3))
        >>> verdict = EOSCells().fit(X).judge([[0.0, 40.0, 0.0]])
        >>> (verdict.p_values < 1e-6).tolist()
        [[False, True, False]]
        """
        return self._fit.judge(read_new(self, X, "judge"))

    def find_wrong(self, verdict: CellVerdict) -> Any:
        """Return which cells of a verdict are wrong at the false-discovery rate."""
        is_wrong = self._cut.find_wrong(verdict)
        for column in self._fit.levels.columns:  # by their chance alone
            is_wrong[:, column.place] = verdict.p_values[:, column.place] <= self.fdr
        return is_wrong

    def find_wrong_rows(self, verdict: CellVerdict) -> Any:
        """Return which rows of a verdict are wrong as a whole."""
        places = self._fit.view.places
        there = ~np.isnan(verdict.p_values[:, places])
        n_aside = (there & ~verdict.kept[:, places]).sum(axis=1)
        return 2 * n_aside > np.maximum(there.sum(axis=1), 1)

    def list_wrong(self, X: Any = None) -> WrongCells:
        """List wrong cells, the surest first: row, column, value, what is expected, how sure.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or data frame
            Rows, such as those of the fit.

        Returns
        -------
        WrongCells
            A sequence of cells, with ``to_frame()``.

        Examples
        --------
        >>> import numpy as np
        >>> from eosparse import EOSCells
        >>> X = np.random.default_rng(0).normal(size=(200, 3))
        >>> X[5, 1] = 40.0
        >>> [(cell.row, cell.column, cell.value) for cell in EOSCells().fit(X).list_wrong(X)]
        [(5, 'x1', 40.0)]
        """
        values = read_new(self, X, "list_wrong")
        verdict = self._fit.judge(values)
        names = tuple(column.name for column in self.columns_)
        reader = getattr(self, "_reader", None)
        levels = {} if reader is None else reader.levels
        return list_wrong_cells(values, verdict, self.find_wrong(verdict), names, levels)

    def write_wrong(self, X: Any, output: str | Path, *, overwrite: bool = False) -> Path:
        """List the wrong cells of rows on disk, streamed, in a Parquet file.

        Parameters
        ----------
        X : path, glob, folder, list of paths, pyarrow Dataset or opened rows
            Rows, such as those of the fit.
        output : path
            File to write: `row` (counted from 0), `column`, `value`, `expected`, `low`, `high` and
            `p_value`. It appears when it is complete, or not at all.
        overwrite : bool, default=False
            Whether an existing file may be replaced.

        Returns
        -------
        Path
            The file written.
        """
        names = np.array([column.name for column in self.columns_])

        def find(values: FloatArray) -> dict[str, Any]:
            verdict = self._fit.judge(values)
            return tabulate_wrong(values, verdict, self.find_wrong(verdict), names)

        return open_new(self, X).write_lines(output, find, overwrite=overwrite)

    def transform(self, X: ArrayLike) -> Any:
        """Return the repaired table: wrong cells hold what is expected.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            For a data frame with more than numbers, a frame of its type, as `repair` returns.
        """
        if getattr(self, "_reader", None) is not None:
            return self.repair(X)
        values = read_new(self, X, "transform")
        return self._repair_values(values).astype(values.dtype, copy=False)

    def repair(self, X: Any) -> Any:
        """Return the repaired table, in the type of the given one: an array or a data frame.

        Whole numbers stay whole, and columns without a wrong cell stay as they are.

        Examples
        --------
        >>> import numpy as np, pandas as pd
        >>> from eosparse import EOSCells
        >>> rng = np.random.default_rng(0)
        >>> age = rng.integers(20, 90, 300)
        >>> table = pd.DataFrame({"age": age, "score": 2.0 * age + rng.normal(0, 3, 300)})
        >>> table.loc[4, "age"] = 999
        >>> repaired = EOSCells().fit(table).repair(table)
        >>> bool(abs(2 * repaired["age"][4] - table["score"][4]) < 12), repaired["age"].dtype.name
        (True, 'int64')
        """
        from eosparse.estimators.repair import repair_frame

        X = collect_rows(X)
        values = read_new(self, X, "repair")
        repaired = self._repair_values(values)
        if not is_frame(X):
            return repaired.astype(values.dtype, copy=False)
        return repair_frame(X, values, repaired, getattr(self, "_reader", None))

    def _repair_values(self, values: FloatArray) -> FloatArray:
        verdict = self._fit.judge(values)
        replaced = self.find_wrong(verdict)
        if self.fill_gaps:
            replaced |= np.isnan(values)
        return np.where(replaced & ~np.isnan(verdict.expected), verdict.expected, values)

    def _summary(self) -> list[tuple[str, str]]:
        if not hasattr(self, "_training"):
            return []
        is_wrong = self.is_wrong_cell_
        rows = f"{int(is_wrong.any(axis=1).sum())} rows"
        return [
            ("wrong cells", f"{int(is_wrong.sum())} in {rows}"),
            ("promise", str(self.promise_)),
        ]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
