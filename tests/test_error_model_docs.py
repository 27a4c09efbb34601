"""The page on error models runs as it stands, and does what it says."""

import re
from pathlib import Path

import numpy as np

PAGE = (Path(__file__).parents[1] / "docs" / "error-models.md").read_text(encoding="utf-8")


def test_the_page_runs():
    names = {"__name__": "page"}
    for code in re.findall(r"```python\n(.*?)```", PAGE, re.S):
        exec(compile(code, "error-models.md", "exec"), names)
    truth = [1.0, 1.0, -0.5]
    assert np.abs(names["robust"].theta - truth).max() < 0.15
    assert np.abs(names["classical"] - truth).max() > 0.5
    assert (np.diff(names["robust"].objective_history) <= 1e-9).all()
