"""The one place where matplotlib is imported, and the colours of all pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's palette: told apart with any colour vision, and in grey by their lightness.
KEPT = "#56B4E9"
FLAGGED = "#D55E00"
LINE = "#000000"


def new_axes() -> Axes:
    """Return axes on a new figure; an error that names the extra if matplotlib is missing."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("plots need matplotlib: pip install 'eosparse[plots]'.") from error
    _, ax = plt.subplots(constrained_layout=True)
    return ax
