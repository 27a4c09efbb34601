"""Summaries as text and JSON."""

import json
from dataclasses import replace

import pytest

from eosparse.report.json import render_json
from eosparse.report.text import format_details, format_headline, format_quality, format_rows
from eosparse.tables import Column, Role
from eosparse.tables.reasons import Reason, format_reasons
from eosparse.tables.summary import (
    DetectionSummary,
    FlaggedLabel,
    FlaggedRow,
    LabelMatrix,
    LabelModelSummary,
    LabelSummary,
    ModelSummary,
    Quality,
    ScoringSummary,
    TableSummary,
)

MODEL = ModelSummary(0.5, True, 0.01, 0.0, 2, 3, "converged", 400.0, (1.0, 0.5))
ROW = FlaggedRow(7, "P7", 1e-120, 12.0, 0.0, (Reason("weight", "700", 0.9),))
DETECTION = DetectionSummary(
    table=TableSummary("people.csv", 1000, 1000),
    columns=(
        Column("id", Role.IDENTIFIER, "a different text in each row"),
        Column("weight", Role.NUMBER, "numbers"),
        Column("level", Role.NUMBER, "numbers stored as text"),
        Column("sex", Role.CATEGORY, "2 categories"),
    ),
    notes=("people.csv uses decimal commas.",),
    model=MODEL,
    n_flagged=1,
    flagged=(ROW,),
    usual={"weight": "50 to 90, median 70"},
)
LABELS = LabelSummary(
    task="classification",
    target="kind",
    table=TableSummary("people.csv", 1000, 1000),
    columns=DETECTION.columns,
    notes=(),
    model=LabelModelSummary(0.1, 2),
    noise_rates={"a": 0.01, "b": 0.2},
    n_flagged=2,
    flagged=(FlaggedLabel(3, None, "a", "b", 0.1, 0.93, ()),),
    matrix=LabelMatrix(("a", "b"), ((0, 2), (0, 0))),
    quality=Quality("balanced accuracy", 5, 0.9, 0.95),
    usual={},
)


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (0, "None of the 1,000 rows in people.csv is an outlier (false-discovery rate 0.01)."),
        (
            1,
            "1 of 1,000 rows in people.csv is an outlier (0.10%). Expect fewer than one of "
            "these to be a false alarm",
        ),
        (
            300,
            "300 of 1,000 rows in people.csv are outliers (30.00%). Expect about 3 of these "
            "to be false alarms",
        ),
    ],
)
def test_headlines_agree_with_the_count(count, said):
    assert format_headline(replace(DETECTION, n_flagged=count)).startswith(said)


def test_headlines_of_a_level_promise_no_false_discovery_rate():
    model = ScoringSummary(**vars(DETECTION.model), level=0.05)
    scored = replace(DETECTION, model=model, n_flagged=2)
    assert format_headline(scored) == (
        "2 of 1,000 rows in people.csv are outliers (0.20%), with p-values below 0.05. Expect "
        "these in about 5% of good rows."
    )
    assert format_headline(replace(scored, n_flagged=0)) == (
        "None of the 1,000 rows in people.csv is an outlier (no p-value is below 0.05)."
    )


def test_details_name_the_columns():
    assert format_details(DETECTION) == [
        "2 columns, alpha=0.5 (automatic), 3 passes, converged.",
        "Not used: id (a different text in each row).",
        "Read as numbers: level (numbers stored as text).",
        "Compared within categories: sex (2 categories).",
    ]


def test_rows_have_an_id_only_if_there_is_one():
    assert format_rows(DETECTION, 5) == {
        "row": ["7"],
        "id": ["P7"],
        "p-value": ["< 1e-99"],
        "why (share of the distance)": ["weight=700 (90%)"],
    }
    assert "id" not in format_rows(LABELS, 5)
    assert format_rows(LABELS, 0)["row"] == []


def test_reasons_without_a_main_one_say_so():
    assert format_reasons([Reason("a", "1", 0.004)]) == "many columns, first a=1 (0.40%)"


def test_labels_as_text():
    assert format_headline(LABELS).startswith("2 of 1,000 labels in column kind of people.csv are")
    assert format_details(LABELS)[0] == "Estimated share of wrong labels by class: a 1.0%, b 20.0%."
    assert "0.900 trained on all rows, 0.950" in format_quality(LABELS.quality)
    assert "too few rows" in format_quality(replace(LABELS.quality, score_with=None))


def test_json_has_the_documented_keys():
    detection = json.loads(render_json(DETECTION))
    assert list(detection) == [
        "kind", "eosparse", "table", "columns", "notes", "model", "n_flagged", "flagged", "usual",
    ]  # fmt: skip
    assert detection["kind"] == "detection"
    assert detection["columns"][1] == {
        "name": "weight", "role": "number", "why": "numbers", "n_missing": 0,
    }  # fmt: skip
    assert detection["flagged"][0]["reasons"] == [
        {"column": "weight", "value": "700", "share": 0.9}
    ]
    labels = json.loads(render_json(LABELS))
    assert labels["quality"] == {
        "measure": "balanced accuracy", "n_folds": 5, "with": 0.9, "without": 0.95,
    }  # fmt: skip
    assert labels["matrix"] == {"classes": ["a", "b"], "counts": [[0, 2], [0, 0]]}
