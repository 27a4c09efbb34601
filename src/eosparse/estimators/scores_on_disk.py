"""Statements about rows on disk, streamed to a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from eosparse.estimators.row_estimator import RowEstimator
from eosparse.fitting.table_input import open_new


class ScoresOnDisk(RowEstimator):
    """An estimator that writes its statements about rows to a file."""

    def write_scores(
        self,
        X: Any,
        output: str | Path,
        *,
        keys: Sequence[str] = (),
        overwrite: bool = False,
    ) -> Path:
        """Judge rows on disk, streamed, and write the results to a Parquet file.

        Parameters
        ----------
        X : path, glob, folder, list of paths, pyarrow Dataset or opened rows
            New rows.
        output : path
            File to write: the keys, or the number of each row, with `eos_score`, `eos_p_value`,
            `eos_weight` (1 for an average training row) and `eos_is_outlier`. It appears when it is
            complete, or not at all.
        keys : sequence of str, optional
            Columns that identify a row, copied to the output.
        overwrite : bool, default=False
            Whether an existing file may be replaced.

        Returns
        -------
        Path
            The file written.
        """
        table = open_new(self, X)
        judge = self._judge
        statements = {
            "eos_score": judge.scores,
            "eos_p_value": judge.p_values,
            "eos_weight": judge.relative_weights,
            "eos_is_outlier": judge.is_outlier,
        }
        distances = table.map(judge.fit.measure)
        return distances.write_columns(output, statements, keys, overwrite=overwrite)
