"""Checks that anyone can run on an error model of their own.

`check_error_model` checks what the alternation relies on: errors are finite, one per row, and
depend on that row alone; statistics merge, however the rows are cut into blocks; a prior weight of
k has the same effect as k copies of the row; and a step does not raise the weighted error. A model
that passes runs on every storage and converges.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from eosparse.core import (
    CollapseError,
    ErrorModel,
    FloatArray,
    Mergeable,
    Visit,
    fold_blocks,
    optimal_weights,
    visit,
)

Part = TypeVar("Part", bound=Mergeable)
# Enough for five blocks, and for slices of different lengths.
_FEWEST_ROWS = 8


class ModelCheckError(AssertionError):
    """An error model lacks a property that the alternation relies on.

    Attributes
    ----------
    property : str
        Name of the property.
    """

    def __init__(self, name: str, message: str) -> None:
        super().__init__(f"{name}: {message}")
        self.property = name


def check_error_model(
    model: ErrorModel[Any, Any, Any],
    rows: FloatArray,
    alpha: float,
    start: Any,
    *,
    n_steps: int = 20,
    rtol: float = 1e-8,
) -> None:
    """Check an error model on some rows; return nothing if it has all properties.

    Parameters
    ----------
    model : ErrorModel
        The model: `errors`, `statistics`, `solve` and `smallest_size`.
    rows : array of shape (n_samples, n_features)
        Rows on which to check it: at least 8; a few hundred are enough.
    alpha : float
        A regularisation at which the alternation does not collapse on these rows.
    start : Theta
        Where the alternation starts.
    n_steps : int, default=20
        Steps along which descent is checked.
    rtol : float, default=1e-8
        Rounding allowed in each error, relative to its size, the median size, or α.

    Raises
    ------
    ModelCheckError
        If a property is violated; `property` names it: "members", "one finite error per row",
        "errors of rows alone", "blocks merge", "scaled statistics", "prior weights",
        "zero weights" or "descent".

    Examples
    --------
    >>> import numpy as np
    >>> from eosparse.checks import check_error_model
    >>> from eosparse.models import ClusterModel
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> check_error_model(ClusterModel(), X, alpha=2.0, start=X[:3])
    """
    values = np.asarray(rows)
    if len(values) < _FEWEST_ROWS:
        raise ValueError(
            f"rows: at least {_FEWEST_ROWS} are needed for the checks, got {len(values)}."
        )
    checks = _Checks(model, values, alpha, start, rtol)
    checks.check_members()
    checks.check_errors()
    checks.check_single_rows()
    checks.check_blocks()
    checks.check_scaling()
    checks.check_prior_weights()
    checks.check_zero_weights()
    if model.is_exact:
        checks.check_descent(n_steps)


@dataclass(frozen=True)
class _Blocks:
    """Rows cut into given blocks."""

    blocks: Sequence[tuple[FloatArray, FloatArray | None]]

    def fold(self, kernel: Callable[[FloatArray, FloatArray | None], Part]) -> Part:
        return fold_blocks(self.blocks, kernel)


@dataclass(frozen=True)
class _Checks:
    model: ErrorModel[Any, Any, Any]
    values: FloatArray
    alpha: float
    start: Any
    rtol: float

    def check_members(self) -> None:
        if not isinstance(self.model, ErrorModel):
            raise ModelCheckError(
                "members",
                f"{type(self.model).__name__} is not an error model: subclass "
                "eosparse.models.TableModel, or eosparse.core.ErrorModel.",
            )

    def check_errors(self) -> None:
        name = "one finite error per row"
        try:
            errors = self._errors(self.start)
        except ValueError as error:  # a model's own check
            raise ModelCheckError(name, str(error)) from error
        if errors.shape != (len(self.values),):
            raise ModelCheckError(
                name, f"errors has shape {errors.shape}, not {(len(self.values),)}."
            )
        if errors.dtype.kind != "f":
            raise ModelCheckError(name, f"errors are {errors.dtype}, not floats.")
        if not np.isfinite(errors).all():
            row = int(np.flatnonzero(~np.isfinite(errors))[0])
            raise ModelCheckError(name, f"the error of row {row} is {errors[row]}.")

    def check_single_rows(self) -> None:
        """A row's error must not depend on the other rows: new rows come in any batch."""
        whole = self._errors(self.start)
        for part in (slice(0, 1), slice(3, None), slice(None, None, -1)):
            alone = np.asarray(self.model.errors(self.values[part], self.start))
            self._compare("errors of rows alone", alone, whole[part], "of rows in other batches")

    def check_blocks(self) -> None:
        """Any cut of the rows, in any order, gives the same objective and the same step."""
        n_rows = len(self.values)
        some = self.model.statistics(self.values, np.full(n_rows, 1 / n_rows), self.start)
        for member, words in (("__add__", "merge by +"), ("scale", "have scale(factor)")):
            if not hasattr(some, member):
                raise ModelCheckError("blocks merge", f"the statistics do not {words}.")
        whole = self._visit([np.arange(n_rows)])
        shuffled = np.random.default_rng(0).permutation(n_rows)
        halves = np.array_split(np.arange(n_rows), 2)
        for blocks, words in (
            (halves, "in two blocks"),
            (halves[::-1], "in two blocks, the last one first"),
            (np.array_split(shuffled, 5), "shuffled, in five blocks"),
            ([np.arange(1), np.arange(1, n_rows)], "with a block of one row"),
        ):
            self._compare_visits("blocks merge", self._visit(blocks), whole, f"of rows {words}")
        self._check_lasting("blocks merge", lambda statistics: statistics + statistics, "merging")

    def _check_lasting(self, name: str, use: Callable[[Any], Any], words: str) -> None:
        """Statistics are used more than once: using them must not change them."""
        weights = optimal_weights(self._errors(self.start), self.alpha).weights
        statistics = self.model.statistics(self.values, weights, self.start)
        before = self._errors(self._solve(statistics, name))
        use(statistics)
        after = self._errors(self._solve(statistics, name))
        self._compare(name, after, before, f"of statistics after {words} them")

    def check_scaling(self) -> None:
        weights = optimal_weights(self._errors(self.start), self.alpha).weights
        statistics = self.model.statistics(self.values, weights, self.start)
        scaled = statistics.scale(0.25)
        direct = self.model.statistics(self.values, 0.25 * weights, self.start)
        name = "scaled statistics"
        one, other = (self._errors(self._solve(part, name)) for part in (scaled, direct))
        self._compare(name, one, other, "after statistics.scale(0.25)")
        self._check_lasting(name, lambda statistics: statistics.scale(0.25), "scaling")

    def check_prior_weights(self) -> None:
        """A prior weight of k has the same effect as k copies of the row."""
        counts = 1 + np.arange(len(self.values)) % 3
        repeated = self._visit([np.repeat(np.arange(len(self.values)), counts)])
        weighted = self._visit([np.arange(len(self.values))], counts.astype(np.float64))
        self._compare_visits("prior weights", weighted, repeated, "with weights for repeated rows")

    def check_zero_weights(self) -> None:
        """A prior weight of zero has the same effect as leaving the row out."""
        present = np.arange(len(self.values)) % 4 > 0
        absent = self._visit([np.flatnonzero(present)])
        zero = self._visit([np.arange(len(self.values))], present.astype(np.float64))
        self._compare_visits("zero weights", zero, absent, "with weight zero for absent rows")

    def check_descent(self, n_steps: int) -> None:
        """No step may raise the weighted error; then the objective falls."""
        theta = self.start
        for step in range(n_steps):
            errors = self._errors(theta)
            weights = optimal_weights(errors, self.alpha).weights
            statistics = self.model.statistics(self.values, weights, theta)
            solved = self._solve(statistics, "descent")
            # Rows without weight may have any error: they are left out before the product.
            present = weights > 0
            rise = float(weights[present] @ (self._errors(solved) - errors)[present])
            if rise > weights[present] @ self._tolerance(errors[present]):
                raise ModelCheckError(
                    "descent",
                    f"step {step + 1} raises the weighted error by {rise:.3g}. If the fit is "
                    "inexact by nature, set is_exact = False.",
                )
            theta = solved

    def _solve(self, statistics: Any, name: str) -> Any:
        try:
            return self.model.solve(statistics)
        except CollapseError as error:
            raise ModelCheckError(
                name, f"the fit collapsed ({error}): use a larger alpha, or other rows."
            ) from error

    def _errors(self, theta: Any) -> FloatArray:
        return np.asarray(self.model.errors(self.values, theta))

    def _visit(self, blocks: Sequence[Any], prior: FloatArray | None = None) -> Visit[Any]:
        parts = [(self.values[b], None if prior is None else prior[b]) for b in blocks]
        return visit(self.model, _Blocks(parts), self.start, self.alpha)

    def _compare_visits(self, name: str, one: Visit[Any], other: Visit[Any], words: str) -> None:
        mine, theirs = (np.array([part.summary.objective]) for part in (one, other))
        self._compare(name, mine, theirs, f"and the objective {words}")
        mine, theirs = (self._errors(self._solve(part.statistics, name)) for part in (one, other))
        self._compare(name, mine, theirs, f"after a step {words}")

    def _compare(self, name: str, one: FloatArray, other: FloatArray, words: str) -> None:
        """Parameters are compared by the errors that they give: θ may have symmetries."""
        if one.shape != other.shape:
            raise ModelCheckError(name, f"errors {words} have shape {one.shape}.")
        gaps = np.abs(one - other)
        beyond = ~(gaps <= self._tolerance(other))
        if beyond.any():
            gap = float(gaps[beyond].max())
            raise ModelCheckError(name, f"errors {words} differ by up to {gap:.3g}.")

    def _tolerance(self, errors: FloatArray) -> FloatArray:
        """Return the rounding allowed in each error: one huge error must not excuse the others."""
        sizes = np.abs(errors)
        usual = max(float(np.median(sizes)), self.alpha)
        return self.rtol * np.maximum(sizes, usual)
