import numpy as np
import pytest

from eosparse import EOSDetector
from eosparse.rows import find_rare_writing


def find_surprise(column, is_usual=None):
    rows = np.asarray(column, dtype=float)[:, None]
    usual = np.arange(len(rows)) % 2 == 0 if is_usual is None else is_usual
    found = find_rare_writing(rows, np.ones(len(rows)), usual, (0,))
    return np.zeros(len(rows)) if found is None else found.surprise(rows)


LAWS = {
    "normal": lambda rng, n: rng.normal(size=n),
    "a lower tail below zero": lambda rng, n: rng.normal(2, 1, n),
    "heavy tails below zero": lambda rng, n: 3 + rng.standard_t(3, n),
    "a log below zero": lambda rng, n: np.log(rng.gamma(8, size=n)) / 2,
    "log-normal": lambda rng, n: np.exp(rng.normal(size=n)),
    "rounded": lambda rng, n: rng.normal(40, 12, n).round(),
    "rounded to cents": lambda rng, n: np.exp(rng.normal(3, 1, n)).round(2),
    "three significant digits": lambda rng, n: np.array(
        [float(f"{x:.3g}") for x in np.exp(rng.normal(4, 1, n))]
    ),
    "counts": lambda rng, n: rng.poisson(2, n).astype(float),
    "single precision": lambda rng, n: rng.normal(40, 12, n).round(1).astype(np.float32),
}


@pytest.mark.parametrize("law", LAWS)
def test_clean_columns_are_written_alike(law):
    rng = np.random.default_rng(0)
    # Tails are no usual rows, which makes what is rare in them suspicious.
    for n_rows in (100, 1000, 10_000):
        for _ in range(5):
            column = LAWS[law](rng, n_rows)
            far = np.abs(column - np.median(column))
            assert find_surprise(column, far < np.median(far)).max() == 0.0


def test_decimals_and_signs_surprise_by_how_rare_they_are():
    hours = np.arange(50.0).repeat(20)
    wrong = np.array([90, 300, 800])
    for spoilt in (hours[wrong] + 0.5, -hours[wrong]):
        column = hours.copy()
        column[wrong] = spoilt
        surprise = find_surprise(column, np.ones(1000, dtype=bool))
        # All three are good rows, as far as their distances tell.
        np.testing.assert_allclose(surprise[wrong], -np.log(4 / 1001))
        assert np.count_nonzero(surprise) == 3
        np.testing.assert_allclose(
            find_surprise(column, np.zeros(1000, dtype=bool))[wrong], -np.log(1 / 1001)
        )


def test_many_ways_of_writing_are_not_rare_together():
    rng = np.random.default_rng(0)
    rows = rng.integers(20, 70, (1000, 20)).astype(float)
    half = rng.random(rows.shape) < 0.02
    rows[half] += 0.5
    usual = rng.random(1000) < 0.5
    alone = find_rare_writing(rows, np.ones(1000), usual, (0,))
    together = find_rare_writing(rows, np.ones(1000), usual, tuple(range(20)))
    assert np.median(together.more) < alone.more[0] - 1


def test_gaps_are_not_written_at_all():
    column = np.r_[np.arange(300.0), 3.5, np.nan]
    assert find_surprise(column)[-1] == 0.0


@pytest.mark.parametrize("model", ["margins", "local", "auto"])
def test_what_is_written_wrongly_is_flagged_and_blamed(model):
    rng = np.random.default_rng(0)
    X = np.column_stack([np.exp(rng.normal(4, 1, 1500)).round(), rng.normal(size=1500)])
    wrong = np.argsort(np.abs(X[:, 0] - np.exp(5)))[:3]
    X[wrong, 0] += 0.25  # nothing but the decimals is odd
    detector = EOSDetector(model=model).fit(X)
    surprise = detector._judge.fit.surprise
    assert np.flatnonzero(surprise.writing.surprise(X)).tolist() == sorted(wrong.tolist())
    without = EOSDetector(model=model).fit(X.round(0) + [0, 1] * (X - X.round(0)))
    ratio = detector.p_values_[wrong] / without.p_values_[wrong]
    assert ratio.max() < 0.01
    assert (np.abs(detector.transform(X[wrong])).argmax(axis=1) == 0).all()


def test_gaussian_tables_have_no_surprise():
    X = np.random.default_rng(0).normal(2, 1, (500, 10))
    assert EOSDetector().fit(X)._judge.fit.surprise is None
