"""From rows to a fit of their cells, and what it says about each cell of any row.

Margins are learned from the cells that a first fit keeps, as in the ladder of the rows. Each column
then gets the spread of its own standardised residuals: variances of a fit that sets cells aside are
a little too small.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
from scipy.special import chdtrc, expit, ndtr, ndtri

from eosparse.core import BoolArray, FloatArray
from eosparse.fitting.engine import fit_model
from eosparse.fitting.level_cells import LevelCells, learn_level_cells
from eosparse.fitting.options import FitOptions
from eosparse.fitting.rungs import sample_once
from eosparse.inference import TailCheck
from eosparse.models import (
    CellModel,
    Fit,
    Normal,
    RowCells,
    find_rivals,
    find_spreads,
    measure_cells,
)
from eosparse.rows import (
    ColumnKind,
    Kind,
    MemoryRows,
    Sample,
    Table,
    TableView,
    learn_view,
    recognise_kinds,
)
from eosparse.rows.coordinates import check_scale
from eosparse.rows.memory import block_slices

# Without margins, the scale of a column is that of its middle half. A first guess of margins leaves
# out less; they are then learned in turns with the cells that belong.
_LEFT_OUT, _TAILS_LEFT_OUT, _TURNS = 0.25, 0.1, 2
# Where the alternations stop between which margins are learned.
_TOL = 1e-6
# With more cells set aside than this share, heavy tails are not believed.
_MANY_ASIDE = 0.08
# Margins are worth it if they take away a tenth of what is too much beyond the law.
_HELP = 0.9
# A bend must not push more than this share of the cells beyond such p-values.
_PUSHED, _FAR = 0.005, 1e-4
# Steps with the costs at which cells are judged. With one, variances of clean tables are still too
# small, and cells of real tables flagged too often; with many, near wrong cells come back.
_STEPS = 4
# Expected values come with this interval.
_INTERVAL = 0.95


@dataclass(frozen=True)
class CellVerdict:
    """What is said about the cells of some rows, in the columns' own units.

    NaN and weight one where nothing is said: in gaps, and in columns that are not compared.

    Attributes
    ----------
    weights : array of shape (n_rows, n_columns)
        Chance that a cell belongs, if one that does not may lie anywhere.
    p_values : array of shape (n_rows, n_columns)
        Chance that a cell that belongs lies as far from what is expected.
    rivals : array of shape (n_rows, n_columns)
        Chance that another cell of the row is wrong instead; zero for cells that are kept.
    expected, std, low, high : array of shape (n_rows, n_columns)
        What is expected, also in gaps; its standard deviation and 95 % interval.
    kept : array of bool of shape (n_rows, n_columns)
        Cells from which the others are expected.
    row_p_values : array of shape (n_rows,)
        Chance that a row that belongs lies as far out, with all of its cells.
    """

    weights: FloatArray
    p_values: FloatArray
    rivals: FloatArray
    expected: FloatArray
    std: FloatArray
    low: FloatArray
    high: FloatArray
    kept: BoolArray
    row_p_values: FloatArray


@dataclass(frozen=True)
class Compared:
    """Cells and what is expected of them, in the coordinates of the model.

    Attributes
    ----------
    codes : array
        The rows, with the levels that they probably have.
    chances : dict
        By column of levels, the chance of those that they were given.
    z : array
        Their coordinates.
    cells : RowCells
        Which cells are kept, and how far all lie from what is expected.
    deviations : array
        Standard deviations of that.
    """

    codes: FloatArray
    chances: dict[int, FloatArray]
    z: FloatArray
    cells: RowCells
    deviations: FloatArray

    @property
    def p_values(self) -> FloatArray:
        """Chance that a cell that belongs lies as far out; NaN for gaps."""
        return np.asarray(2 * ndtr(-np.abs(self.cells.residuals / self.deviations)))

    @property
    def is_wrong_row(self) -> BoolArray:
        """Rows of which more than half of the cells are set aside."""
        there = ~np.isnan(self.z)
        n_aside = (there & ~self.cells.kept).sum(axis=1)
        return np.asarray(2 * n_aside > np.maximum(there.sum(axis=1), 1))


@dataclass(frozen=True)
class CellFit:
    """A fitted `CellModel`, with everything needed to judge the cells of any row.

    Attributes
    ----------
    fit : Fit
        The fit, which sets aside one in a hundred good cells.
    model : CellModel
        Its model, with the costs at which cells are judged.
    law : Normal
        Location and covariance after a few more steps with these costs.
    view : TableView
        The columns as the model sees them.
    columns : tuple of ColumnKind
        What the columns hold.
    spreads : array
        Of the standardised residuals of each coordinate; about one.
    lows, highs : array
        The smallest and largest cell of each coordinate that belongs: nothing else is expected.
    levels : LevelCells
        What the numbers of a row say about its levels.
    """

    fit: Fit[Normal]
    model: CellModel
    law: Normal
    view: TableView
    columns: tuple[ColumnKind, ...]
    spreads: FloatArray
    lows: FloatArray
    highs: FloatArray
    levels: LevelCells

    @property
    def theta(self) -> Normal:
        """Location and covariance of good rows, consistent on Gaussian ones."""
        raw = self.law
        shrunk = 1 - self.model.coupling(self.fit.result.alpha)
        return Normal(raw.location, raw.covariance / shrunk)

    def compare(self, values: FloatArray) -> Compared:
        """Compare the cells of rows with what is expected of them."""
        codes, chances = self.levels.judge(self, values)
        z = self.view(codes)
        cells = self.model.choose(z, self.law)
        return Compared(codes, chances, z, cells, np.sqrt(cells.variances) * self.spreads)

    def find_rivals(self, compared: Compared) -> FloatArray:
        """Return the chance of each coordinate that another cell of the row is wrong instead."""
        assert self.model.costs is not None
        theta = self.law
        return find_rivals(theta, compared.z, compared.cells, self.model.costs)

    def judge(self, values: FloatArray) -> CellVerdict:
        """Judge the cells of rows, some in the cache at a time."""
        parts = [self._judge_block(values[rows]) for rows in block_slices(values.shape)]
        if len(parts) < 2:  # or no row at all
            return parts[0] if parts else self._judge_block(values)
        names = CellVerdict.__dataclass_fields__
        return CellVerdict(*(np.concatenate([getattr(p, name) for p in parts]) for name in names))

    def _judge_block(self, values: FloatArray) -> CellVerdict:
        compared = self.compare(values)
        cells, z, reach = compared.cells, compared.z, float(ndtri(0.5 + _INTERVAL / 2))
        at_gaps = self.law.location + cells.filled
        expected = np.where(np.isnan(z), at_gaps, z - cells.residuals)
        own, low, high = (
            self._to_units(expected + k * compared.deviations, compared.codes)
            for k in (0.0, -reach, reach)
        )
        assert self.model.costs is not None
        there, places = ~np.isnan(values), self.view.places
        is_seen = ~np.isnan(z)  # a number may be there, and its level unknown
        weights, p_values = np.ones(values.shape), np.full(values.shape, np.nan)
        rivals, kept = np.zeros(values.shape), there.copy()
        weights[:, places] = np.where(is_seen, expit(self.model.costs - cells.errors), 1.0)
        p_values[:, places] = compared.p_values
        kept[:, places] = np.where(is_seen, cells.kept, there[:, places])
        rivals[:, places] = self.find_rivals(compared)
        std = (high - low) / (2 * reach)
        rows = self.judge_rows(values)
        verdict = CellVerdict(weights, p_values, rivals, own, std, low, high, kept, rows)
        return self.levels.add(verdict, values, compared.codes, compared.chances)

    def to_columns(self, theta: Normal) -> tuple[FloatArray, FloatArray]:
        """Return location and covariance for all columns; NaN for those that are no coordinate.

        In the units of columns that are only scaled, and in normal scores of those that are bent.
        """
        size, places = self.view.n_features, self.view.places
        units = np.array(
            [1 / m.slope * m.unit if m.is_line else 1.0 for m in self.view.margins.columns]
        )
        covariance = np.full((size, size), np.nan)
        covariance[np.ix_(places, places)] = theta.covariance * np.outer(units, units)
        return self.view.location(theta.location), covariance

    def _to_units(self, z: FloatArray, values: FloatArray) -> FloatArray:
        """Return coordinates in the units of the columns."""
        found = np.full(values.shape, np.nan)
        own = self.view.restore(z, values)
        found[:, self.view.places] = np.clip(own, self.lows, self.highs)
        return found

    def judge_rows(self, values: FloatArray) -> FloatArray:
        """Return the p-value of each row, by all cells that it has."""
        z = self.view(values)
        there = ~np.isnan(z)
        whole = measure_cells(self.law, z, there)
        scale = float(np.mean(np.square(self.spreads)))
        counts = there.sum(axis=1)
        chances: FloatArray = chdtrc(np.maximum(counts, 1), whole.distances / scale)
        return np.where(counts > 0, chances, 1.0)


def fit_cells(
    table: Table,
    options: FitOptions,
    kinds: Mapping[str, Kind | str],
    *,
    bends: bool,
) -> CellFit:
    """Fit the cells of a table; given are kinds of columns, and whether margins may be bent."""
    sample = sample_once(table)
    columns = recognise_kinds(sample.values, sample.mass, table.columns, kinds)
    view = learn_view(sample.values, sample.mass, columns, left_out=_LEFT_OUT)
    if not len(view.places):  # then numbers with few values are compared as such
        view = learn_view(sample.values, sample.mass, columns, left_out=_LEFT_OUT, is_local=True)
    if not len(view.places):
        raise ValueError(
            "X has no column of numbers, and cells of others are compared with such. Pass "
            "kinds={'column': 'number'} if a column is one."
        )
    units = np.array([margin.unit for margin in view.margins.columns])
    check_scale(units, [columns[int(place)].name for place in view.places])
    fit = fit_model(table, CellModel(), options, seen_as=view)
    found = _calibrate(fit, view, columns, table, sample)
    if bends:
        found = _bend(found, table, sample, options)
    return replace(found, levels=learn_level_cells(found, sample.values, sample.mass))


def _bend(lines: CellFit, table: Table, sample: Sample, options: FitOptions) -> CellFit:
    """Return a fit with margins, if cells follow it better than one without."""
    compared = lines.compare(sample.values)
    before = _find_excess(compared.p_values, sample.mass)
    if before <= 1.0:
        return lines
    quick = replace(options, callbacks=(), checkpoint=None, tol=_TOL)
    share = np.mean(~compared.cells.kept & ~np.isnan(compared.z))
    may_bend = np.ones(len(lines.columns), dtype=np.bool_)
    for _ in range(2):  # with all columns, then without those that are worse for it
        view = _learn_margins(sample, lines.columns, quick, may_bend)
        # Tails and many wrong cells look alike, and calling cells good is the worse mistake.
        if view.margins.are_lines or (view.margins.heavy and share > _MANY_ASIDE):
            return lines
        fit = fit_model(table, CellModel(), options, seen_as=view)
        bent = _calibrate(fit, view, lines.columns, table, sample)
        found = bent.compare(sample.values).p_values
        pushed = _find_pushed(compared.p_values, found, sample.mass)
        if not pushed.any():
            break
        may_bend[view.places[pushed]] = False
    return bent if _find_excess(found, sample.mass) < _HELP * before else lines


def _find_pushed(before: FloatArray, after: FloatArray, mass: FloatArray) -> BoolArray:
    """Return the columns whose bend pushes cells far out, if bends do more of it than they mend.

    A curve through the middle of a column may end where its values do, and cells at this end then
    lie anywhere.
    """
    with np.errstate(invalid="ignore"):  # gaps
        shares = [mass @ (p_values < _FAR) / mass.sum() for p_values in (before, after)]
    rise = np.asarray(shares[1] - shares[0])
    return np.asarray((rise > _PUSHED) & (rise.mean() > _PUSHED))


def _find_excess(p_values: FloatArray, mass: FloatArray) -> float:
    """Return how far the tail of all cells, or of the worst column, is too heavy."""
    columns = (p_values[:, [j]] for j in range(p_values.shape[1]))
    return max(check_p_values(part, mass).excess for part in (p_values, *columns))


def _calibrate(
    fit: Fit[Normal],
    view: TableView,
    columns: tuple[ColumnKind, ...],
    table: Table,
    sample: Sample,
) -> CellFit:
    """Return a fit with the costs at which cells are judged, after a few more steps with them.

    Good cells far out that the fit sets aside make variances too small. Where next to no wrong ones
    are among them they count again; a few steps do not let wrong cells widen the law that hides
    them.
    """
    seen = replace(sample, values=view(sample.values))
    fitted, law = cast(CellModel, fit.model), fit.result.theta
    model = fitted.set_costs(law, fitted.choose_chance(seen, law))
    for _ in range(_STEPS):
        law = _step(model, table, view, law, fit.result.alpha)
        model = model.set_costs(law, model.choose_chance(seen, law))
    cells = model.choose(seen.values, law)
    kept = np.where(cells.kept, sample.values[:, view.places], np.nan)
    lows, highs = np.nanmin(kept, axis=0), np.nanmax(kept, axis=0)
    spreads = find_spreads(cells, sample.mass)
    return CellFit(fit, model, law, view, columns, spreads, lows, highs, LevelCells(()))


def _step(model: CellModel, table: Table, view: TableView, law: Normal, alpha: float) -> Normal:
    """Return the law after one pass over all rows."""
    visit = table.fold(lambda values, prior: model.visit(view(values), prior, law, alpha))
    return model.solve(visit.statistics)


def check_p_values(p_values: FloatArray, mass: FloatArray, flagged_at: float = 0.0) -> TailCheck:
    """Compare the p-values of cells with those of good ones; given is the mass of each row."""
    there = ~np.isnan(p_values)
    masses = np.broadcast_to(mass[:, None], p_values.shape)
    return TailCheck.of(p_values[there], masses[there], flagged_at)


def _learn_margins(
    sample: Sample, columns: tuple[ColumnKind, ...], options: FitOptions, may_bend: BoolArray
) -> TableView:
    """Return a view with margins, of some columns, learned in turns with the cells that belong.

    At first from the middle of each column: with lines, tails of skewed ones would be set aside.
    """
    rows = MemoryRows(sample.values, sample.mass, names=tuple(sample.table.columns))
    view = learn_view(sample.values, sample.mass, columns, bends=may_bend, left_out=_TAILS_LEFT_OUT)
    for _ in range(_TURNS if len(view.places) else 0):
        fit = fit_model(rows, CellModel(), options, seen_as=view)
        found = _calibrate(fit, view, columns, rows, sample)
        kept = found.model.choose(view(sample.values), found.law).kept
        believed = np.array(sample.values, dtype=np.float64)
        believed[:, view.places] = np.where(kept, believed[:, view.places], np.nan)
        view = learn_view(believed, sample.mass, columns, bends=may_bend)
        if view.margins.are_lines:
            break
    return view
