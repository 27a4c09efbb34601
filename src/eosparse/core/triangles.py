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
# Smaller matrices are left to LAPACK: as a whole, and as blocks.
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
    lower = np.zeros(matrix.shape, matrix.dtype)
    return lower if _factor_into(lower, matrix) else None


def factor_plainly(matrix: FloatArray) -> FloatArray | None:
    """Return the same by LAPACK alone, whatever the size and condition."""
    lower, info = _FACTOR[matrix.dtype.char](matrix, lower=1, clean=1)
    return np.asarray(lower) if info == 0 else None


def _factor_into(lower: FloatArray, matrix: FloatArray) -> bool:
    """Fill in the factor of a matrix; return whether it has one."""
    size = len(matrix)
    if size <= _BLOCK:
        found = factor_plainly(matrix)
        if found is not None:
            lower[:] = found
        return found is not None
    half = size // 2
    first, below = lower[:half, :half], lower[half:, :half]
    if not _factor_into(first, matrix[:half, :half]):
        return False
    np.matmul(matrix[half:, :half], invert_lower(first).T, out=below)
    rest = below @ below.T
    np.subtract(matrix[half:, half:], rest, out=rest)
    return _factor_into(lower[half:, half:], rest)


def invert_lower(lower: FloatArray) -> FloatArray:
    """Return the inverse of a lower triangular matrix.

    Examples
    --------
    >>> import numpy as np
    >>> invert_lower(np.array([[2.0, 0.0], [1.0, 1.0]])).tolist()
    [[0.5, 0.0], [-0.5, 1.0]]
    """
    if len(lower) < _FEW_COLUMNS:
        return _invert_plainly(lower)
    inverse = np.zeros(lower.shape, lower.dtype)
    _invert_into(inverse, lower)
    return inverse


def _invert_plainly(lower: FloatArray) -> FloatArray:
    return np.asarray(_INVERT[lower.dtype.char](lower, lower=1)[0])


def _invert_into(inverse: FloatArray, lower: FloatArray) -> None:
    size = len(lower)
    if size <= _BLOCK:
        inverse[:] = _invert_plainly(lower)
        return
    half = size // 2
    first, second, below = inverse[:half, :half], inverse[half:, half:], inverse[half:, :half]
    _invert_into(first, lower[:half, :half])
    _invert_into(second, lower[half:, half:])
    np.matmul(second, lower[half:, :half] @ first, out=below)
    np.negative(below, out=below)


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
