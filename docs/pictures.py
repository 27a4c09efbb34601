"""Draw the pictures of the pages: a terminal, and the report in a browser.

Run ``python docs/pictures.py``; it needs the extra ``browser`` and Chromium.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from playwright.sync_api import sync_playwright
from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.text import Text
from typer.testing import CliRunner

from eosparse.cli.app import app

IMAGES = Path(__file__).parent / "images"
WIDTH = 108


def make_people(n: int = 600) -> pd.DataFrame:
    """Make a table with identifiers, dates, categories, missing values and four mistakes."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "patient_id": [f"P{i:05d}" for i in range(n)],
            "visit": pd.date_range("2024-01-01", periods=n).astype(str),
            "sex": rng.choice(["f", "m"], n),
            "ward": rng.choice(["A", "B", "C", "ICU"], n, p=[0.5, 0.3, 0.15, 0.05]),
            "height_cm": rng.normal(170, 9, n).round(1),
            "age": rng.integers(18, 90, n),
            "comment": [f"seen by the doctor on round {i}" for i in range(n)],
        }
    )
    table["weight_kg"] = (table["height_cm"] - 100 + rng.normal(0, 7, n)).round(1)
    table["pressure"] = rng.normal(125, 12, n).round()
    table.loc[5, "height_cm"] = 1.71
    table.loc[77, "weight_kg"] = 700
    table.loc[200, "pressure"] = 12
    table.loc[300, ["height_cm", "weight_kg"]] = [150, 110]
    table.loc[[10, 50, 90], "pressure"] = np.nan
    return table


COMMANDS = (
    "detect people.csv",
    "detect people.csv --report report.html",
)


def draw_terminal() -> None:
    """Run commands, and draw their output in a terminal."""
    console = Console(record=True, width=WIDTH, file=io.StringIO())
    for command in COMMANDS:
        console.print(Text(f"$ eosparse {command}", style="bold green"))
        outcome = CliRunner().invoke(app, command.split())
        console.print(Text(outcome.output.rstrip()))
        console.print()
    # Rich's template fetches a font from the network.
    frame = re.sub(r"@font-face \{\{.*?\}\}", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
    console.save_svg(str(IMAGES / "terminal.svg"), title="eosparse", code_format=frame)


def take_screenshot() -> None:
    """Open the report, focus a row, and take a screenshot."""
    with sync_playwright() as playwright:
        path = shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1000, "height": 1150}, color_scheme="light")
        page.goto(Path("report.html").resolve().as_uri())
        page.locator("#map").focus()
        page.keyboard.press("ArrowRight")
        page.screenshot(path=IMAGES / "report.png")
        browser.close()


if __name__ == "__main__":
    images, os.environ["COLUMNS"] = IMAGES.resolve(), str(WIDTH)
    IMAGES = images
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        make_people().to_csv("people.csv", index=False)
        draw_terminal()
        take_screenshot()
