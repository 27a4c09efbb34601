"""EOSDetector: what it promises to users."""

import dataclasses
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from scipy.stats import kstest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from eosparse import CollapseError, DegenerateDataWarning, EOSDetector, MaskingWarning, Status
from eosparse.core import alternate
from eosparse.datasets import load_blood_panel, make_contaminated
from eosparse.fitting.judge import TAIL_GUARD
from eosparse.models import GaussianModel, Normal
from eosparse.rows import MemoryRows


@pytest.fixture(scope="module")
def spoilt():
    return make_contaminated(600, 6, 0.1, outliers="clustered", random_state=0)


@pytest.fixture(scope="module")
def fitted(spoilt):
    return EOSDetector().fit(spoilt.X)


def test_outliers_are_found(fitted, spoilt):
    flagged = fitted.is_outlier_
    assert flagged[spoilt.is_outlier].all()
    assert flagged[~spoilt.is_outlier].mean() < 0.01
    assert fitted.status_ is Status.CONVERGED
    assert (np.diff(fitted.objective_history_) <= 1e-12).all()
    assert fitted.objective_ == fitted.objective_history_[-1]
    assert fitted.weights_.sum() == pytest.approx(1.0)
    assert fitted.weights_[spoilt.is_outlier].sum() < 1e-3
    assert 300 < fitted.effective_sample_size_ < 540


def test_estimates_are_those_of_the_inliers(fitted, spoilt):
    clean = spoilt.X[~spoilt.is_outlier]
    np.testing.assert_allclose(fitted.location_, clean.mean(axis=0), atol=0.1)
    np.testing.assert_allclose(fitted.covariance_, np.cov(clean, rowvar=False), atol=0.2)


def test_distances_are_in_the_metric_of_the_covariance(fitted, spoilt):
    centred = spoilt.X - fitted.location_
    direct = np.einsum("ij,ij->i", centred @ np.linalg.inv(fitted.covariance_), centred)
    np.testing.assert_allclose(fitted.mahalanobis(spoilt.X), direct, rtol=1e-8)
    np.testing.assert_array_equal(fitted.score_samples(spoilt.X), -fitted.mahalanobis(spoilt.X))


@pytest.mark.parametrize("method", ["score_samples", "p_values", "predict", "transform"])
def test_new_rows_are_scored_independently_of_their_batch(fitted, spoilt, method):
    score = getattr(fitted, method)
    alone = np.concatenate([score(spoilt.X[i : i + 1]) for i in range(5)])
    np.testing.assert_allclose(score(spoilt.X)[:5], alone, rtol=1e-10)
    with_garbage = np.concatenate([spoilt.X[:5], np.full((50, 6), 1e9)])
    np.testing.assert_allclose(score(with_garbage)[:5], alone, rtol=1e-10)


def test_weights_are_the_closed_form(fitted, spoilt):
    """T·w depends on the squared distance alone, with slope -c/2 in the metric of V."""
    c = 1 / (fitted.alpha_ * 6)
    near = fitted.weights_ > 1e-12
    uncorrected = fitted.mahalanobis(spoilt.X)[near] / (1 - c)
    slope = np.polyfit(uncorrected, np.log(fitted.weights_[near]), 1)
    assert slope[0] == pytest.approx(-c / 2, rel=1e-6)


@pytest.mark.parametrize("kind", ["scale", "mix", "shift"])
def test_affine_maps_change_nothing(fitted, spoilt, kind):
    matrix = {
        "scale": np.diag(10.0 ** np.arange(-3, 3)),
        "mix": np.random.default_rng(1).normal(size=(6, 6)),
        "shift": np.eye(6),
    }[kind]
    mapped = EOSDetector().fit(spoilt.X @ matrix.T + (1e3 if kind == "shift" else 0.0))
    np.testing.assert_allclose(mapped.weights_, fitted.weights_, rtol=1e-4, atol=1e-9)
    np.testing.assert_array_equal(mapped.is_outlier_, fitted.is_outlier_)


def test_order_of_rows_changes_nothing(fitted, spoilt):
    order = np.random.default_rng(2).permutation(600)
    shuffled = EOSDetector().fit(spoilt.X[order])
    np.testing.assert_allclose(shuffled.weights_, fitted.weights_[order], rtol=1e-5, atol=1e-10)


@pytest.mark.no_cover  # many fits of the same lines
@pytest.mark.parametrize("shape", [(20, 2), (100, 5), (200, 20), (500, 50)])
def test_clean_rows_are_flagged_at_the_level(shape):
    """A quick form of the benchmark: 1 % of clean rows, seen or new, at level .01."""
    n, d = shape
    repetitions = max(25, 10_000 // n)
    seen, new = [], []
    for seed in range(repetitions):
        X = np.random.default_rng([seed, n]).normal(size=(2 * n, d))
        detector = EOSDetector(level=0.01).fit(X[:n])
        seen.append(detector.is_outlier_.mean())
        new.append((detector.p_values(X[n:]) <= 0.01).mean())
    noise = 4 * np.sqrt(0.01 / (n * repetitions))
    assert abs(np.mean(seen) - 0.01) < 0.002 + noise
    assert abs(np.mean(new) - 0.01) < 0.003 + noise


@pytest.mark.no_cover  # many fits of the same lines
def test_false_discoveries_keep_their_promise():
    false = []
    for seed in range(40):
        X, is_outlier = make_contaminated(500, 5, 0.1, random_state=seed)
        flagged = EOSDetector(fdr=0.1).fit(X).is_outlier_
        false.append((flagged & ~is_outlier).sum() / max(flagged.sum(), 1))
    assert np.mean(false) < 0.1 + 2 * np.std(false) / np.sqrt(40)
    assert np.mean(false) > 0.03


def test_flagged_training_rows_are_those_below_the_level(spoilt):
    detector = EOSDetector(level=0.03).fit(spoilt.X)
    np.testing.assert_array_equal(detector.is_outlier_, detector.p_values_ <= 0.03)
    detector = EOSDetector(fdr=0.03).fit(spoilt.X)
    bound = 0.03 / TAIL_GUARD * detector.is_outlier_.sum() / 600
    np.testing.assert_array_equal(detector.is_outlier_, detector.p_values_ <= bound)


def test_the_rule_of_the_paper(spoilt):
    detector = EOSDetector(weight_cut=0.01).fit(spoilt.X)
    np.testing.assert_array_equal(detector.is_outlier_, 600 * detector.weights_ < 0.01)


def test_contamination_flags_that_share(spoilt):
    detector = EOSDetector(contamination=0.2).fit(spoilt.X)
    assert detector.is_outlier_.sum() == 120


def test_a_larger_fdr_flags_no_fewer_rows(spoilt):
    counts = [EOSDetector(fdr=fdr).fit(spoilt.X).is_outlier_.sum() for fdr in (0.001, 0.05, 0.3)]
    assert counts == sorted(counts)


def test_explanations_add_up_and_point_at_the_column():
    panel = load_blood_panel()
    frame = pd.DataFrame(panel.X, columns=panel.feature_names)
    detector = EOSDetector().fit(frame)
    explanation = detector.explain(frame)
    np.testing.assert_allclose(explanation.distances, detector.mahalanobis(frame), rtol=1e-9)
    assert (explanation.contributions >= 0).all()
    slipped = panel.mistakes.index("potassium: decimal point slipped")
    assert explanation.top(slipped, 1)[0][0] == "potassium_mmol_l"


def test_explanations_do_not_depend_on_units():
    X = load_blood_panel().X
    scale = 10.0 ** np.arange(-4, 4)
    before, after = EOSDetector().fit(X).explain(X), EOSDetector().fit(X * scale).explain(X * scale)
    np.testing.assert_allclose(after.contributions, before.contributions, rtol=1e-4, atol=1e-6)


def test_alpha_from_efficiency_perplexity_or_a_number(spoilt):
    by_efficiency = EOSDetector(efficiency=0.9).fit(spoilt.X)
    c = np.sqrt(1 - 0.9 ** (2 / 8))
    assert by_efficiency.alpha_ == pytest.approx(1 / (6 * c))
    by_perplexity = EOSDetector(perplexity=480).fit(spoilt.X)
    w = by_perplexity.weights_[by_perplexity.weights_ > 0]
    assert np.exp(-(w * np.log(w)).sum()) == pytest.approx(480, rel=1e-5)
    assert EOSDetector(0.7).fit(spoilt.X).alpha_ == 0.7


@pytest.mark.parametrize("wanted", [300, 400, 450, 520])
def test_any_perplexity_between_half_and_all_inliers(spoilt, wanted):
    w = EOSDetector(perplexity=wanted).fit(spoilt.X).weights_
    w = w[w > 0]
    assert np.exp(-(w * np.log(w)).sum()) == pytest.approx(wanted, rel=1e-4)


def test_explicit_alphas_are_never_replaced():
    X = np.random.default_rng(0).normal(size=(200, 4))
    with pytest.raises(CollapseError):
        EOSDetector(efficiency=1e-6).fit(X)


@pytest.mark.parametrize("start", ["deterministic", "uniform", "random", "array"])
def test_starts_lead_to_the_same_answer_when_outliers_are_few(start):
    X, _ = make_contaminated(500, 4, 0.03, random_state=3)
    given = np.random.default_rng(0).uniform(size=500) if start == "array" else start
    detector = EOSDetector(0.7, start=given, random_state=0).fit(X)
    reference = EOSDetector(0.7).fit(X)
    np.testing.assert_allclose(detector.covariance_, reference.covariance_, rtol=1e-4, atol=1e-5)


def test_a_masked_group_is_found_by_the_bolder_alpha():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(700, 2)), rng.normal(size=(300, 2)) * 0.4 + [4.0, 0.0]])
    with pytest.warns(MaskingWarning, match="no gap"):  # the group reaches into the others
        detector = EOSDetector(model="gaussian").fit(X)
    assert detector.is_outlier_[700:].mean() > 0.7
    assert detector.is_outlier_[:700].mean() < 0.02
    with pytest.warns(MaskingWarning, match="form groups"):
        masked = EOSDetector(efficiency=0.7, model="gaussian").fit(X)
    assert masked.alpha_ > detector.alpha_
    assert masked.is_outlier_[700:].mean() < 0.1


def test_path_jumps_to_the_true_number_and_stays(spoilt):
    path = EOSDetector().path(spoilt.X)
    assert (np.diff(path.alphas) < 0).all()
    assert path.n_flagged[0] <= 6
    plateau = path.n_flagged[path.plateau]
    assert abs(np.median(plateau) - 60) <= 6
    assert (path.is_outlier.sum(axis=1) == np.maximum(path.n_flagged, 0)).all()
    first, *others = path.is_outlier[path.plateau]
    assert max(np.count_nonzero(first != other) for other in others) <= 0.01 * len(spoilt.X)
    assert path.alphas[path.plateau].min() <= path.plateau_alpha <= path.alphas[path.plateau].max()
    usable = [status is not Status.COLLAPSED for status in path.statuses]
    assert (np.diff(path.effective_sizes[usable]) < 1e-6).all()
    np.testing.assert_allclose(path.weights[usable].sum(axis=1), 1.0)


def test_path_visits_given_alphas_and_leaves_the_detector_alone(fitted, spoilt):
    before = fitted.location_.copy()
    path = fitted.path(spoilt.X, alphas=[0.5, 2.0, 1.0])
    assert path.alphas.tolist() == [2.0, 1.0, 0.5]
    np.testing.assert_array_equal(fitted.location_, before)


def test_path_works_with_shrinkage(spoilt):
    path = EOSDetector(model=GaussianModel(shrinkage=0.3)).path(spoilt.X)
    assert np.isfinite(path.weights).all()


def test_path_ends_at_an_alpha_that_is_too_small(spoilt):
    """At 1/D and below, no solution holds more than a few rows."""
    path = EOSDetector().path(spoilt.X, alphas=[0.1, 0.05, 0.5])
    assert path.alphas.tolist() == [0.5, 0.1]
    assert path.statuses == (Status.CONVERGED, Status.COLLAPSED)
    assert path.n_flagged[1] == -1
    assert not path.weights[1].any()
    for alphas in (0.0, [1.0, -2.0], np.nan, []):
        with pytest.raises(ValueError, match="alphas must be a list of positive numbers"):
            EOSDetector().path(spoilt.X, alphas=alphas)


def test_infinite_and_collapsed_alphas_are_no_plateau(spoilt):
    assert np.isnan(EOSDetector().path(spoilt.X, alphas=[0.05]).plateau_alpha)
    path = EOSDetector().path(spoilt.X, alphas=[np.inf, 0.5, 0.05])
    assert (path.plateau, path.plateau_alpha) == (slice(1, 2), 0.5)


@pytest.mark.parametrize("attempt", ["path", "failed fit", "nothing"])
def test_only_a_fit_makes_it_fitted(spoilt, attempt):
    detector = EOSDetector()
    if attempt == "path":
        detector.path(spoilt.X, alphas=[1.0])
    elif attempt == "failed fit":
        with pytest.raises(ValueError, match="fdr"):
            detector.set_params(fdr=7.0).fit(spoilt.X)
    for method in ("predict", "explain", "p_values", "transform"):
        with pytest.raises(NotFittedError):
            getattr(detector, method)(spoilt.X)


def test_an_interrupted_search_is_no_answer(spoilt, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("eosparse.models.gaussian.GaussianModel.solve", interrupted)
    with pytest.raises(KeyboardInterrupt):
        EOSDetector().fit(spoilt.X)


def test_sample_weight_of_k_equals_the_row_k_times(spoilt):
    counts = np.random.default_rng(5).integers(0, 4, size=600)
    weighted = EOSDetector().fit(spoilt.X, sample_weight=counts)
    repeated = EOSDetector().fit(np.repeat(spoilt.X, counts, axis=0))
    np.testing.assert_allclose(weighted.covariance_, repeated.covariance_, rtol=1e-6)
    np.testing.assert_allclose(weighted.offset_, repeated.offset_, rtol=1e-6)
    np.testing.assert_array_equal(weighted.predict(spoilt.X), repeated.predict(spoilt.X))


def test_a_cut_beyond_single_precision_flags_nothing(spoilt):
    single = EOSDetector().fit(spoilt.X.astype(np.float32))
    far = dataclasses.replace(single._judge, cut=1e300)
    with np.errstate(all="raise"):
        assert not far.is_outlier(np.array([1.0, 1e200])).any()
        assert far.margins(np.array([1.0])).dtype == np.float32


def test_float32_stays_float32(spoilt):
    single = EOSDetector().fit(spoilt.X.astype(np.float32))
    double = EOSDetector().fit(spoilt.X)
    X = spoilt.X.astype(np.float32)
    for value in (
        single.weights_,
        single.location_,
        single.covariance_,
        single.p_values_,
        single.score_samples(X),
        single.p_values(X),
        single.transform(X),
    ):
        assert value.dtype == np.float32
    np.testing.assert_allclose(single.location_, double.location_, atol=1e-4)
    np.testing.assert_array_equal(single.predict(X), single.fit_predict(X))


def test_same_seed_same_bits(spoilt):
    one, two = (EOSDetector(0.7, start="random", random_state=7).fit(spoilt.X) for _ in range(2))
    np.testing.assert_array_equal(one.weights_, two.weights_)
    np.testing.assert_array_equal(one.p_values_, two.p_values_)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_and_names(spoilt, frame):
    names = [f"gene_{i}" for i in range(6)]
    given = {"schema": names} if frame is pl.DataFrame else {"columns": names}
    table = frame(spoilt.X, **given)
    detector = EOSDetector().fit(table)
    assert detector.feature_names_in_.tolist() == names
    assert detector.get_feature_names_out().tolist() == names
    assert detector.explain(table).feature_names == tuple(names)
    kind = "polars" if frame is pl.DataFrame else "pandas"
    out = detector.set_output(transform=kind).transform(table)
    assert isinstance(out, frame)
    assert list(out.columns) == names
    np.testing.assert_allclose((np.asarray(out) ** 2).sum(axis=1), detector.mahalanobis(table))


def test_it_nests(spoilt):
    pipeline = make_pipeline(StandardScaler(), EOSDetector())
    labels = pipeline.fit_predict(spoilt.X)
    np.testing.assert_array_equal(labels == -1, EOSDetector().fit(spoilt.X).is_outlier_)
    search = GridSearchCV(
        EOSDetector(),
        {"efficiency": [0.6, 0.9]},
        scoring=lambda estimator, X, y: float((estimator.predict(X) == y).mean()),
        cv=2,
    )
    search.fit(spoilt.X, np.where(spoilt.is_outlier, -1, 1))
    assert search.best_score_ > 0.97


def test_sample_weight_is_routed_through_a_pipeline(spoilt):
    weights = np.random.default_rng(0).integers(1, 3, size=600)
    with sklearn.config_context(enable_metadata_routing=True):
        detector = EOSDetector().set_fit_request(sample_weight=True)
        pipeline = make_pipeline(FunctionTransformer(), detector)
        pipeline.fit(spoilt.X, sample_weight=weights)
    direct = EOSDetector().fit(spoilt.X, sample_weight=weights)
    np.testing.assert_array_equal(pipeline[-1].weights_, direct.weights_)


def test_clone_and_pickle(fitted, spoilt):
    assert clone(fitted).get_params() == fitted.get_params()
    copy = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(copy.p_values(spoilt.X), fitted.p_values(spoilt.X))


@pytest.mark.parametrize("share", [0.05, 0.2])
def test_far_outliers_do_not_widen_the_law_of_wide_tables(share):
    """Each has next to no weight, but all of the squared distance: p-values were .37 to .65."""
    rng = np.random.default_rng(0)
    X, n_wrong = rng.normal(size=(700, 500)), round(share * 700)
    X[:n_wrong] = rng.uniform(1, 6, (n_wrong, 500))
    detector = EOSDetector().fit(X)
    assert detector.rung_ == "gaussian"
    assert detector.is_outlier_[:n_wrong].all()
    assert kstest(detector.p_values_[n_wrong:], "uniform").statistic < 0.06


def test_many_more_columns_than_rows():
    rng = np.random.default_rng(0)
    factors = rng.normal(size=(80, 5)) @ rng.normal(size=(5, 2000))
    X = factors + 0.5 * rng.normal(size=(80, 2000))
    X[:4] += 6 * rng.normal(size=2000)
    detector = EOSDetector().fit(X)
    assert 0 < detector.shrinkage_ < 1
    assert set(np.argsort(detector.score_samples(X))[:4]) == {0, 1, 2, 3}
    assert detector.is_outlier_[:4].all()
    assert detector.is_outlier_[4:].mean() < 0.05
    assert detector.covariance_.shape == (2000, 2000)
    np.testing.assert_allclose(detector.explain(X).distances, detector.mahalanobis(X), rtol=1e-6)
    new = factors[:1] + 0.5 * rng.normal(size=(1, 2000))
    assert detector.mahalanobis(new)[0] < detector.mahalanobis(X[:1])[0]


@pytest.mark.parametrize("covariance", ["diag", "spherical"])
def test_structured_covariances(covariance):
    X, is_outlier = make_contaminated(600, 10, 0.1, random_state=1)
    detector = EOSDetector(model=GaussianModel(covariance)).fit(X)
    assert detector.is_outlier_[is_outlier].all()
    assert detector.is_outlier_[~is_outlier].mean() < 0.02
    off_diagonal = detector.covariance_ - np.diag(np.diag(detector.covariance_))
    assert not off_diagonal.any()
    if covariance == "spherical":
        X = X / np.arange(1, 11)
        again = EOSDetector(model=GaussianModel(covariance)).fit(X)
        np.testing.assert_array_equal(again.is_outlier_, detector.is_outlier_)
    else:
        np.testing.assert_allclose(np.diag(detector.covariance_), 1.0, atol=0.25)


@pytest.mark.parametrize("covariance", ["diag", "spherical"])
def test_structured_covariances_are_calibrated(covariance):
    flagged = [
        EOSDetector(model=GaussianModel(covariance), level=0.01)
        .fit(np.random.default_rng(seed).normal(size=(400, 10)))
        .is_outlier_.mean()
        for seed in range(40)
    ]
    assert 0.005 < np.mean(flagged) < 0.02


def test_dependent_columns_count_once(spoilt):
    doubled = np.column_stack([spoilt.X, spoilt.X[:, 0], np.full(600, 2.0), spoilt.X.sum(axis=1)])
    plain, dependent = EOSDetector().fit(spoilt.X), EOSDetector().fit(doubled)
    np.testing.assert_allclose(dependent.p_values_, plain.p_values_, rtol=1e-3, atol=1e-12)
    broken = doubled[~spoilt.is_outlier][:1].copy()
    assert dependent.predict(broken)[0] == 1
    broken[0, 7] = 2.5
    assert dependent.predict(broken)[0] == -1


def test_an_exact_relation_that_some_rows_break_is_reported():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 2))
    X = np.column_stack([X, X.sum(axis=1)])
    X[:5, 2] += 8.0
    with pytest.warns(DegenerateDataWarning, match="99.0% .* an exact linear relation") as caught:
        detector = EOSDetector().fit(X)
    assert caught[0].filename == __file__
    assert detector.shrinkage_ == 0.0
    assert detector.is_outlier_[:5].all()
    assert detector.is_outlier_[5:].mean() < 0.05


def test_non_convergence_is_a_warning(spoilt):
    with pytest.warns(ConvergenceWarning, match="max_iter") as caught:
        detector = EOSDetector(start="uniform", max_iter=2).fit(spoilt.X)
    assert caught[0].filename == __file__  # it points at the user's line
    assert detector.status_ is Status.MAX_ITER


def test_a_callback_interrupts(spoilt):
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        detector = EOSDetector(start="uniform", callback=lambda _: True).fit(spoilt.X)
    assert detector.status_ is Status.INTERRUPTED


def test_collapse_is_an_error_never_an_answer(spoilt):
    with pytest.raises(CollapseError, match="larger alpha"):
        EOSDetector(alpha=0.9 / 6).fit(spoilt.X)
    with pytest.raises(CollapseError, match="larger alpha"):
        EOSDetector(alpha=0.9 / 6, start="uniform").fit(spoilt.X)


def test_samples_and_acceleration_lead_to_the_answer_of_the_plain_algorithm():
    """A start from a sample, first steps on a part, over-relaxation: the same basin, to 1e-8."""
    rng = np.random.default_rng(11)
    X = rng.normal(size=(60_000, 4)) @ rng.normal(size=(4, 4))
    X[::6] += 15
    detector = EOSDetector(tol=1e-18).fit(X)
    assert detector.n_iter_ < 12
    theta = detector.theta_
    start = Normal(theta.location + 0.1, 1.5 * theta.covariance)
    rows = MemoryRows(X, None, np.asarray)
    plain = alternate(detector.model_, rows, detector.alpha_, start, tol=1e-18, accelerate=False)
    assert plain.n_iter > detector.n_iter_
    assert detector.objective_ == pytest.approx(plain.objective, rel=1e-12)
    np.testing.assert_allclose(theta.location, plain.theta.location, rtol=1e-9, atol=1e-8)
    np.testing.assert_allclose(theta.covariance, plain.theta.covariance, rtol=1e-9, atol=1e-8)


@pytest.mark.filterwarnings("ignore::eosparse.core.MaskingWarning")  # where one hides, it is said
def test_a_group_does_not_hide_in_few_rows_per_column():
    """25 rows per column: the first α keeps 15 % of clustered outliers; a bolder one shows them."""
    found = []
    for seed in range(6):
        X, is_outlier = make_contaminated(
            300, 12, 0.15, outliers="clustered", inliers="autoregressive", random_state=9000 + seed
        )
        found.append(EOSDetector().fit(X).is_outlier_[is_outlier].mean())
    assert np.mean(found) > 0.8
