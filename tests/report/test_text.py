"""Summaries as text and JSON."""

import json
from dataclasses import replace

import pytest

from eosparse.report.json import render_json
from eosparse.report.text import (
    format_details,
    format_group,
    format_headline,
    format_quality,
    format_rows,
)
from eosparse.tables import Column, Role
from eosparse.tables.columns import NO_EFFECT
from eosparse.tables.reasons import Reason, format_reasons
from eosparse.tables.summary import (
    ConfusedPair,
    DetectionSummary,
    FlaggedLabel,
    FlaggedRow,
    GroupSummary,
    LabelMatrix,
    LabelModelSummary,
    LabelSummary,
    ModelSummary,
    Quality,
    ScoringSummary,
    TableSummary,
)

MODEL = ModelSummary(
    rung="gaussian",
    reason="Good rows are described by one Gaussian.",
    promise=True,
    promise_reason="the p-values are as the law says",
    alpha=0.5,
    is_alpha_chosen=True,
    fdr=0.01,
    shrinkage=0.0,
    n_columns=2,
    passes=3,
    status="converged",
    effective_rows=400.0,
    objective=(1.0, 0.5),
)
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
    model=LabelModelSummary(0.1, 2, "linear", True, "the classes hardly overlap"),
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


@pytest.mark.parametrize(
    ("level", "chance", "count", "said"),
    [
        (0.05, 0.05, 2, "2 of 1,000 rows in people.csv (0.20%) lie beyond the p-value 0.05."),
        (0.05, 0.05, 0, "None of the 1,000 rows in people.csv lies beyond the p-value 0.05."),
        (None, 2e-4, 1, "1 of 1,000 rows in people.csv (0.10%) lies beyond the model's cut-off."),
        (None, 2e-4, 1000, "1,000 of 1,000 rows in people.csv (100.00%) lie beyond the model's"),
    ],
)
def test_headlines_of_new_rows_promise_no_false_discovery_rate(level, chance, count, said):
    model = ScoringSummary(**vars(DETECTION.model), level=level, chance=chance)
    headline = format_headline(replace(DETECTION, model=model, n_flagged=count))
    expected = "about 50" if level else "fewer than one"
    assert headline.startswith(said)
    assert headline.endswith(f"good rows of the training table, {expected} would.")
    assert "discovery" not in headline


NO_PROMISE = replace(MODEL, rung="local", promise=False, promise_reason="there is no law")


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (0, "None of the 1,000 rows in people.csv stands out."),
        (1, "1 of 1,000 rows in people.csv stands out (0.10%); ranked."),
        (300, "300 of 1,000 rows in people.csv stand out (30.00%); ranked."),
    ],
)
@pytest.mark.parametrize(
    "model",
    [NO_PROMISE, ScoringSummary(**vars(NO_PROMISE), level=0.05, chance=None)],
    ids=["detect", "score"],
)
def test_no_rate_is_promised_where_none_is_known(count, said, model):
    summary = replace(DETECTION, model=model, n_flagged=count)
    assert format_headline(summary) == (
        f"{said} No error rate can be promised because there is no law."
    )
    everything = " ".join([format_headline(summary), *format_details(summary)])
    assert not any(word in everything for word in ("false", "Expect", "good rows"))


def test_groups_are_sentences_with_a_remedy():
    apart = GroupSummary(600, 0.3, True, ("x0",), {"x0": 9.125, "born": "1990-01-31"})
    assert format_group(apart) == (
        "600 rows (30.0%) sit apart as a group near x0 = 9.125, by 'x0'. If they are a kind of "
        "their own and not wrong, use --groups kinds."
    )
    kind = replace(apart, is_outlier=False, columns=("born", "x0"))
    assert format_group(kind) == (
        "600 rows (30.0%) form a group of good rows near born = 1990-01-31 and x0 = 9.125."
    )
    # By categories alone: they have no middle.
    assert "sit apart as a group, by 'sex'" in format_group(replace(apart, columns=("sex",)))
    assert format_group(replace(kind, columns=("sex",))).endswith("group of good rows, by 'sex'.")


def test_the_remedy_for_groups_is_one_that_the_command_heeds():
    """A model that was asked for is fitted, whatever groups are."""
    apart = (GroupSummary(600, 0.3, True, ("x0",), {}),)
    climbed = replace(DETECTION, groups=apart)
    asked = replace(climbed, model=replace(DETECTION.model, rung=None))
    assert "wrong, use --groups kinds." in " ".join(format_details(climbed))
    assert "wrong, use --model auto --groups kinds." in " ".join(format_details(asked))


def test_kinds_of_columns_are_told():
    rating = Column("rating", Role.NUMBER, "numbers", kind="levels", kind_why="5 different values")
    born = Column("born", Role.DATE, "dates", kind="date", kind_why="dates")
    assert format_details(replace(DETECTION, columns=(rating, born)))[-2:] == [
        "Dates in days: born (dates).",
        "Of few values: rating (levels: 5 different values).",
    ]


def test_categories_are_not_compared_within_if_numbers_differ_by_chance():
    sex = Column("sex", Role.CATEGORY, "2 categories", kind="category", kind_why=NO_EFFECT)
    said = format_details(replace(DETECTION, columns=(sex,)))
    assert said[-1] == "Categories that tell nothing of the numbers: sex (2 categories)."
    assert not any("Compared within" in line for line in said)


def test_details_name_the_columns():
    assert format_details(DETECTION) == [
        "Good rows are described by one Gaussian.",
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
    doubted = replace(LABELS.model, promise=False, promise_reason="the classes overlap")
    headline = format_headline(replace(LABELS, model=doubted))
    assert "are doubtful (0.20%); ranked. No error rate can be promised because the" in headline
    assert "correct after all" in format_headline(LABELS)
    pairs = tuple(ConfusedPair("a", b, 7 - n, 0.1) for n, b in enumerate("bcdefg"))
    told = format_details(replace(LABELS, pairs=pairs))[1]
    assert told.startswith("Given and suggested: a instead of b 7, a instead of c 6")
    assert told.endswith("and 1 more pairs.")
    assert "0.900 trained on all rows, 0.950" in format_quality(LABELS.quality)
    assert "too few rows" in format_quality(replace(LABELS.quality, score_with=None))


def test_json_has_the_documented_keys():
    detection = json.loads(render_json(DETECTION))
    assert list(detection) == [
        "kind", "eosparse", "table", "columns", "notes", "model", "n_flagged", "flagged", "usual",
        "groups",
    ]  # fmt: skip
    assert detection["kind"] == "detection"
    assert detection["columns"][1] == {
        "name": "weight", "role": "number", "why": "numbers", "n_missing": 0, "kind": None,
        "kind_why": "",
    }  # fmt: skip
    assert detection["flagged"][0]["reasons"] == [
        {"column": "weight", "value": "700", "share": 0.9}
    ]
    labels = json.loads(render_json(LABELS))
    assert labels["quality"] == {
        "measure": "balanced accuracy", "n_folds": 5, "with": 0.9, "without": 0.95,
    }  # fmt: skip
    assert labels["matrix"] == {"classes": ["a", "b"], "counts": [[0, 2], [0, 0]]}
