"""The gallery: every script runs and draws."""

import runpy
from pathlib import Path

import pytest

SCRIPTS = sorted((Path(__file__).parents[1] / "examples").glob("plot_*.py"))


def test_there_is_a_gallery():
    assert len(SCRIPTS) >= 6


@pytest.mark.filterwarnings("ignore:FigureCanvasAgg is non-interactive")
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_it_draws_one_figure(script, tmp_path, monkeypatch):
    plt = pytest.importorskip("matplotlib.pyplot")
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.chdir(tmp_path)
    plt.close("all")
    plt.switch_backend("Agg")
    try:
        names = runpy.run_path(str(script))
        assert len(plt.get_fignums()) == 1
        figure = plt.figure(plt.get_fignums()[0])
        assert all(ax.has_data() for ax in figure.axes)
        assert figure.axes[0].get_xlabel()
        figure.canvas.draw()
    finally:
        plt.close("all")
    assert len(names["__doc__"].strip().splitlines()) >= 4
    assert not any(tmp_path.iterdir())
