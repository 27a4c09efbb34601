"""The code in the README runs, and prints what the README shows."""

import re
from pathlib import Path

import pandas as pd
from sklearn.datasets import load_iris

from eosparse.cli.demo import demo
from eosparse.datasets import load_blood_panel

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


def test_the_example_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    panel = load_blood_panel()
    table = pd.DataFrame(panel.X, columns=panel.feature_names)
    table.to_csv("panel.csv", index=False)
    code = re.search(r"```python\n(.*?)```", README, re.S).group(1)
    exec(compile(code, "README.md", "exec"), {"new_rows": table.head(3)})
    assert "potassium_mmol_l" in capsys.readouterr().out


def test_the_example_with_labels_runs(capsys):
    X, y = load_iris(return_X_y=True)
    y[::10] = 0
    code = re.findall(r"```python\n(.*?)```", README, re.S)[1]
    names = {"X": X, "y": y}
    exec(compile(code, "README.md", "exec"), names)
    assert "probability_wrong" in capsys.readouterr().out
    assert names["robust"].score(X, y) > 0.7


def test_it_has_fewer_than_150_lines():
    assert len(README.splitlines()) < 150


def test_the_demo_prints_what_is_shown(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    demo(Path("demo.png"), Path("demo.html"))
    shown = re.search(r"```text\n(.*?)```", README, re.S).group(1)
    printed = [line.strip() for line in capsys.readouterr().out.splitlines()]
    for line in shown.splitlines():
        if line.strip() not in ("", "..."):
            assert line.strip() in printed
