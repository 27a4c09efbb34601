"""Why a row is far out: its distance, split among the columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from eosparse.core import FloatArray

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Explanation:
    """Contributions of the columns to squared distances.

    Attributes
    ----------
    deviations : array of shape (n_samples, n_features)
        Signed, standardised deviations, without what the other columns explain.
    feature_names : tuple of str
        Names of the columns.
    index : pandas Index, optional
        What identifies the rows, if they came from a pandas DataFrame.

    Examples
    --------
    >>> import numpy as np
    >>> from eosparse.inference import Explanation
    >>> explanation = Explanation(np.array([[1.0, -3.0]]), ("height", "weight"))
    >>> explanation.distances.tolist(), explanation.top(0, n=1)
    ([10.0], [('weight', 0.9)])
    """

    deviations: FloatArray
    feature_names: tuple[str, ...]
    index: Any = None

    @property
    def contributions(self) -> FloatArray:
        """Squares of the deviations; each row sums to its squared distance."""
        squares: FloatArray = np.square(self.deviations)
        return squares

    @property
    def distances(self) -> FloatArray:
        """Squared distance of each row."""
        total: FloatArray = self.contributions.sum(axis=1)
        return total

    def top(self, row: int, n: int = 3) -> list[tuple[str, float]]:
        """Return the columns that contribute most to one row, with their share of its distance."""
        squares = np.square(self.deviations[row])
        shares = squares / max(float(squares.sum()), 1e-300)
        order = np.argsort(-shares, kind="stable")[:n]
        return [(self.feature_names[i], float(shares[i])) for i in order]

    def to_frame(self) -> pd.DataFrame:
        """Return the contributions as a pandas DataFrame (needs the extra ``eosparse[frames]``).

        It has the index of the DataFrame that was explained.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError(
                "to_frame() needs pandas: pip install 'eosparse[frames]', or use .contributions."
            ) from error
        return pd.DataFrame(self.contributions, self.index, list(self.feature_names))
