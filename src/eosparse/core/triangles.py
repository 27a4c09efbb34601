"""Triangular factors and their inverses.

Large ones are made in blocks, whose products are NumPy's: they use all threads, which a
factorisation by SciPy's LAPACK does not here (see `rows.parallel`).
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from eosparse.core.arrays import FloatArray

# Routines for single and double precision.
_FACTOR = {"f": lapack.spotrf, "d": lapack.dpotrf}
_INVERT = {"f": lapack.strtri, "d": lapack.dtrtri}
_CONDITION = {"f": lapack.strcon, "d": lapack.dtrcon}
# Smaller matrices are left to LAPACK.
_FEW_COLUMNS, _BLOCK = 512, 256


def factor_lower(matrix: FloatArray) -> FloatArray | None:
    """Return the lower Cholesky factor of a matrix; None if it is not positive definite.

    Large factors lose as many digits as the inverse of a part of them.

    Examples
    --------
    >>> import numpy as np
    >>> factor_lower(np.array([[4.0, 2.0], [2.0, 2.0]])).tolist()
    [[2.0, 0.0], [1.0, 1.0]]
    """
    if len(matrix) < _FEW_COLUMNS:
        return factor_plainly(matrix)
    return _factor_in_blocks(matrix)


def factor_plainly(matrix: FloatArray) -> FloatArray | None:
    """Return the same by LAPACK alone, whatever the size and condition."""
    lower, info = _FACTOR[matrix.dtype.char](matrix, lower=1, clean=1)
    return np.asarray(lower) if info == 0 else None


def _factor_in_blocks(matrix: FloatArray) -> FloatArray | None:
    size = len(matrix)
    if size <= _BLOCK:
        return factor_plainly(matrix)
    half = size // 2
    first = _factor_in_blocks(matrix[:half, :half])
    if first is None:
        return None
    below = matrix[half:, :half] @ _invert_in_blocks(first).T
    second = _factor_in_blocks(matrix[half:, half:] - below @ below.T)
    return None if second is None else _join(first, below, second)


def invert_lower(lower: FloatArray) -> FloatArray:
    """Return the inverse of a lower triangular matrix.

    Examples
    --------
    >>> import numpy as np
    >>> invert_lower(np.array([[2.0, 0.0], [1.0, 1.0]])).tolist()
    [[0.5, 0.0], [-0.5, 1.0]]
    """
    return _invert_in_blocks(lower) if len(lower) >= _FEW_COLUMNS else _invert_plainly(lower)


def _invert_plainly(lower: FloatArray) -> FloatArray:
    return np.asarray(_INVERT[lower.dtype.char](lower, lower=1)[0])


def _invert_in_blocks(lower: FloatArray) -> FloatArray:
    size = len(lower)
    if size <= _BLOCK:
        return _invert_plainly(lower)
    half = size // 2
    first, second = _invert_in_blocks(lower[:half, :half]), _invert_in_blocks(lower[half:, half:])
    return _join(first, -second @ (lower[half:, :half] @ first), second)


def _join(first: FloatArray, below: FloatArray, second: FloatArray) -> FloatArray:
    """Return the lower triangular matrix of two triangles and what is below the first one."""
    half = len(first)
    whole = np.zeros((half + len(second),) * 2, first.dtype)
    whole[:half, :half], whole[half:, :half], whole[half:, half:] = first, below, second
    return whole


def find_condition(lower: FloatArray) -> float:
    """Return about how close a triangular matrix is to a singular one: zero if it is one.

    Examples
    --------
    >>> import numpy as np
    >>> find_condition(np.diag([1.0, 1e-3]))
    0.001
    """
    routine = _CONDITION[lower.dtype.char]
    if lower.flags.c_contiguous:  # LAPACK reads the transpose without a copy
        return float(routine(lower.T, norm="I", uplo="U")[0])
    return float(routine(lower, uplo="L")[0])
