"""The categories of warnings, and a function that points them at the user's call."""

from __future__ import annotations

import sys
import warnings


class DegenerateDataWarning(UserWarning):
    """Rows are tied, satisfy an exact relation, or are too few for the fit."""


class MaskingWarning(UserWarning):
    """No solution holds half of the rows: the answer may describe a minority."""


class LostClassWarning(UserWarning):
    """A class lost almost all of its weight."""


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn, pointing at the first line outside this package: the user's call."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("eosparse."):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
