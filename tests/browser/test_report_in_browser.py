"""The report in a real browser: what you can do with it, and what a hostile table cannot."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from eosparse.cli.app import app

HOSTILE = "</script><script>window.hit=1</script><img src=x onerror='window.hit=1'>"
RIGHT_TO_LEFT = "שם \u202eevil\u202c مرحبا"


def report_of(frame, folder, *arguments):
    table, out = folder / "table.csv", folder / "report.html"
    frame.to_csv(table, index=False)
    command = [arguments[0], str(table), *arguments[1:], "--report", str(out), "--force"]
    outcome = CliRunner().invoke(app, command)
    assert outcome.exit_code == 0, outcome.output
    return out


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    n = 400
    frame = pd.DataFrame({"patient": [f"P{i:04d}" for i in range(n)]})
    frame["height"] = rng.normal(170, 9, n).round(1)
    frame["weight"] = (frame["height"] - 100 + rng.normal(0, 7, n)).round(1)
    frame.loc[[5, 77, 200], "weight"] = [700.0, 5.0, 300.0]
    return frame


@pytest.fixture(scope="module")
def report(frame, tmp_path_factory):
    return report_of(frame, tmp_path_factory.mktemp("report"), "detect")


def picture(page):
    """The pixels of the map, as text."""
    return page.evaluate("document.getElementById('map').toDataURL()")


def test_it_opens_from_disk_without_requests_or_errors(opened, report):
    watched = opened(report)
    assert watched.page.locator("h1").inner_text() == "Outliers in table.csv"
    assert watched.page.locator("#rows tbody tr").count() == 3
    assert "distance" in watched.page.locator("#rows th").all_inner_texts()
    assert watched.is_quiet()


def test_the_slider_changes_counts_and_picture(opened, report):
    watched = opened(report)
    page, slider = watched.page, watched.page.locator("#alpha")
    text, before = page.locator("#alpha-text"), picture(page)
    first = text.inner_text()
    assert "3 rows flagged" in first
    slider.focus()
    for _ in range(60):
        page.keyboard.press("ArrowLeft")
    assert text.inner_text() != first
    assert "effective rows" in text.inner_text()
    assert picture(page) != before
    page.locator("#reset").click()
    assert text.inner_text() == first
    assert picture(page) == before
    assert watched.is_quiet()


def rows(page):
    return [cell.inner_text() for cell in page.locator("#rows tbody tr td:nth-child(2)").all()]


def test_sorting_and_searching(opened, report):
    page = opened(report).page
    assert sorted(rows(page)) == sorted(["6", "78", "201"])
    page.locator("#rows th button").nth(1).click()
    assert rows(page) == ["6", "78", "201"]
    page.locator("#rows th button").nth(1).click()
    assert rows(page) == ["201", "78", "6"]
    head = page.locator("#rows th", has_text="row").first
    assert head.get_attribute("aria-sort") == "descending"
    page.locator("#search").fill("p0077")
    assert rows(page) == ["78"]
    assert page.locator("#count").inner_text() == "1 of 3 rows"
    page.locator("#search").fill("nobody")
    assert rows(page) == []


def test_hovering_shows_the_row_in_its_own_units(opened, report):
    page = opened(report).page
    box = page.locator("#map").bounding_box()
    tip = page.locator("#tip")
    assert not tip.is_visible()
    found = False
    # Row 6 is the farthest: near the upper edge at the left.
    for y in range(10, 120, 4):
        for x in range(60, 110, 4):
            page.mouse.move(box["x"] + x, box["y"] + y)
            if tip.is_visible() and "row 6 " in tip.inner_text():
                found = True
                break
        if found:
            break
    assert found
    text = tip.inner_text()
    assert "P0005" in text
    assert "700" in text
    assert "usually" in text
    page.mouse.move(box["x"] + 300, box["y"] - 60)
    assert not tip.is_visible()


def test_it_works_with_the_keyboard(opened, report):
    page = opened(report).page
    page.locator("#map").focus()
    page.keyboard.press("ArrowRight")
    assert "row 6 (P0005)" in page.locator("#tip").inner_text()
    page.keyboard.press("Enter")
    assert page.locator("#rows tr.open").count() == 1
    page.locator("#rows tbody tr[data-row='78']").focus()
    page.keyboard.press("Enter")
    assert "weight" in page.locator("#rows tr.open").inner_text()
    assert page.locator("#rows tbody tr[data-row='78']").get_attribute("aria-expanded") == "true"


def test_light_dark_and_print(opened, report):
    colours = {}
    for scheme in ("light", "dark"):
        page = opened(report, color_scheme=scheme).page
        colours[scheme] = page.evaluate("getComputedStyle(document.body).backgroundColor")
        page.locator("#theme").click()
        flipped = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert flipped != colours[scheme]
    assert colours["light"] != colours["dark"]
    page.emulate_media(media="print")
    assert not page.locator("#theme").is_visible()


def test_a_hostile_table_does_nothing_and_looks_right(opened, frame, tmp_path):
    hostile = frame.rename(columns={"height": HOSTILE, "weight": RIGHT_TO_LEFT})
    hostile.loc[5, "patient"] = HOSTILE
    hostile["=1+1"] = '=HYPERLINK("http://x")'
    hostile["long"] = "x" * 10_000 + hostile.index.astype(str)
    watched = opened(report_of(hostile, tmp_path, "detect", "--id", "patient"))
    page = watched.page
    page.locator("#map").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    assert page.evaluate("window.hit === undefined")
    assert page.locator("img").count() == 0
    assert HOSTILE in page.locator("#rows").inner_text()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth + 1")
    assert watched.is_quiet()


def test_tiny_weights_stay_in_their_column(opened, tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(200, 2)), columns=["a", "b"])
    table["price"] = 3 * table["a"] + 0.1 * rng.normal(size=200)
    table.loc[7, "price"] += 40
    page = opened(report_of(table, tmp_path, "labels", "--target", "price")).page
    names = page.locator("#rows th").all_inner_texts()
    cell = page.locator("#rows tbody tr").first.locator("td").nth(names.index("weight"))
    assert cell.inner_text() == "< 0.001"
    assert cell.evaluate("cell => cell.scrollWidth <= cell.clientWidth")


def test_the_report_of_labels(opened, frame, tmp_path):
    labelled = frame.iloc[:, 1:].copy()
    labelled["kind"] = np.where(labelled["height"] > 170, "tall", "short")
    labelled["height"] += 15 * np.sign(labelled["height"] - 170)
    wrong = list(range(11, 400, 20))
    labelled.loc[wrong, "kind"] = np.where(labelled.loc[wrong, "kind"] == "tall", "short", "tall")
    watched = opened(report_of(labelled, tmp_path, "labels", "--target", "kind"))
    page = watched.page
    assert len(set(rows(page)) & {str(row + 1) for row in wrong}) >= 12
    assert page.locator("#pairs tbody tr").count() == 2
    page.locator("#rows tbody tr").first.click()
    assert "height" in page.locator("#rows tr.open").inner_text()
    assert watched.is_quiet()


def is_drawn(page, name):
    """Whether a canvas has more than one colour."""
    colours = """name => {
        const canvas = document.getElementById(name), g = canvas.getContext("2d");
        const image = g.getImageData(0, 0, canvas.width, canvas.height);
        return new Set(new Uint32Array(image.data.buffer)).size;
    }"""
    return page.evaluate(colours, name) > 2


def test_bent_columns_are_drawn(opened, frame, tmp_path):
    rng = np.random.default_rng(1)
    skewed = frame.assign(income=np.exp(rng.normal(size=len(frame))).round(4))
    watched = opened(report_of(skewed, tmp_path, "detect"))
    page = watched.page
    assert page.locator("canvas.margin").count() == 1
    assert is_drawn(page, "margin0")
    before = page.evaluate("document.getElementById('margin0').toDataURL()")
    page.locator("#theme").click()
    assert page.evaluate("document.getElementById('margin0').toDataURL()") != before
    assert page.locator("#alpha").count() == 0
    assert watched.is_quiet()


def test_a_report_of_local_distances(opened, frame, tmp_path):
    rng = np.random.default_rng(1)
    heap = frame.assign(rain=np.maximum(rng.normal(size=len(frame)), 0).round(4))
    watched = opened(report_of(heap, tmp_path, "detect"))
    page = watched.page
    assert "No error rate can be promised" in page.locator(".headline").inner_text()
    assert "false-discovery" not in page.locator("body").inner_text()
    assert is_drawn(page, "map")
    page.locator("#map").focus()
    page.keyboard.press("ArrowRight")
    assert "surprise" in page.locator("#tip").inner_text()
    assert "distance" not in page.locator("#rows th").all_inner_texts()  # it is no scale here
    assert watched.is_quiet()


def test_groups_are_one_line_each(opened, frame, tmp_path):
    apart = frame.copy()
    apart.loc[:99, "height"] += 150
    watched = opened(report_of(apart, tmp_path, "detect"))
    groups = watched.page.locator("#groups tbody tr")
    assert groups.count() == 1
    assert "height" in groups.inner_text()
    assert watched.is_quiet()


def test_a_screenshot(opened, report, tmp_path):
    page = opened(report).page
    folder = Path(os.environ.get("EOSPARSE_SCREENSHOTS", tmp_path))
    page.screenshot(path=folder / "report.png", full_page=True)
    assert (folder / "report.png").stat().st_size > 20_000


@pytest.mark.parametrize("n_rows", [20, 20_000])
def test_the_cell_map_shows_where_and_in_which_direction(opened, tmp_path, n_rows):
    rng = np.random.default_rng(0)
    X = rng.multivariate_normal(np.zeros(5), 0.7 + 0.3 * np.eye(5), n_rows).round(3)
    X[7, 2], X[n_rows - 1, 4] = 30.0, -30.0
    table, report = tmp_path / "t.csv", tmp_path / "cells.html"
    pd.DataFrame(X, columns=list("abcde")).to_csv(table, index=False)
    outcome = CliRunner().invoke(app, ["cells", str(table), "--report", str(report)])
    assert outcome.exit_code == 0, outcome.output
    watched = opened(report)
    page = watched.page
    colours = {
        name: page.locator(f"#map rect.{name}").first.evaluate("e => getComputedStyle(e).fill")
        for name in ("above", "below")
    }
    assert len(set(colours.values())) == 2
    drawing = page.locator("#map").bounding_box()
    for rect in page.locator("#map rect").all():
        box = rect.bounding_box()
        assert box["height"] >= 2
        assert drawing["y"] <= box["y"] <= drawing["y"] + drawing["height"]
        assert drawing["x"] <= box["x"] <= drawing["x"] + drawing["width"]
    above, below = (
        page.locator(f"#map rect.{name}").first.bounding_box() for name in ("above", "below")
    )
    assert (above["x"], above["y"]) < (below["x"], below["y"])
    assert page.locator("#cells tbody tr").count() >= 2
    assert watched.is_quiet()
