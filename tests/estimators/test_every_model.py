"""What every model can: any start, a perplexity, a checkpoint, a path, and an infinite alpha."""

from typing import ClassVar

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning

from eosparse import EOSPCA, CollapseError, EOSDetector, EOSGaussianMixture, EOSKMeans, Status
from eosparse.fitting.engine import NAMED_MODELS
from eosparse.models import (
    GaussianModel,
    Line,
    MixtureModel,
    Normal,
    TableModel,
)


def table(name, n_rows=500, share=0.1):
    """Rows of the kind that a model describes; a share of them are not."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 4))
    if name in ("clusters", "mixture"):
        X += (
            12 * np.array([[0, 0, 0, 0], [1, 0, 1, 0], [0, 1, 0, -1]])[rng.integers(3, size=n_rows)]
        )
    elif name == "subspace":
        X += 9 * rng.normal(size=(n_rows, 2)) @ np.linalg.qr(rng.normal(size=(4, 2)))[0].T
    elif name == "regression":
        X[:, :3] *= 3
        X[:, 3] += X[:, :3] @ [2, -1, 0.5]
    is_bad = np.arange(n_rows) < share * n_rows
    X[is_bad] = rng.uniform(-60, 60, (is_bad.sum(), 4))
    return X, is_bad


def perplexity(weights):
    w = weights[weights > 0]
    return np.exp(-(w * np.log(w)).sum())


@pytest.mark.parametrize("name", NAMED_MODELS)
class TestNamed:
    @pytest.mark.parametrize("wanted", [300, 400.0, 430])
    def test_a_perplexity_is_reached(self, name, wanted):
        detector = EOSDetector(model=name, perplexity=wanted).fit(table(name)[0])
        assert detector.status_ is Status.CONVERGED
        assert perplexity(detector.weights_) == pytest.approx(wanted, rel=1e-4)

    def test_a_perplexity_out_of_reach_is_named(self, name):
        with pytest.raises(ValueError, match=r"^perplexity=600 cannot be reached with 500 rows"):
            EOSDetector(model=name, perplexity=600).fit(table(name)[0])

    @pytest.mark.parametrize("start", ["uniform", "random", "given"])
    def test_any_start_leads_to_a_fit(self, name, start):
        X, is_bad = table(name)
        given = np.where(is_bad, 0.0, 1.0) if start == "given" else start
        detector = EOSDetector(model=name, start=given, random_state=0).fit(X)
        assert detector.status_ is Status.CONVERGED
        assert np.isfinite(detector.objective_)
        assert np.isfinite(detector.score_samples(X)).all()
        assert (np.diff(detector.objective_history_) <= 1e-9).all()
        assert detector.is_outlier_[is_bad].mean() > 0.85
        assert detector.is_outlier_[~is_bad].mean() < 0.01

    def test_a_random_start_follows_its_seed(self, name):
        X, _ = table(name)
        one, two = (
            EOSDetector(model=name, start="random", random_state=7).fit(X) for _ in range(2)
        )
        np.testing.assert_array_equal(one.weights_, two.weights_)

    def test_weights_to_start_from_are_checked(self, name):
        X, _ = table(name)
        for start, words in (
            (np.ones(3), "start has shape"),
            (np.full(500, -1.0), "start must be finite, non-negative"),
            (np.zeros(500), "not all zero"),
        ):
            with pytest.raises(ValueError, match=words):
                EOSDetector(model=name, start=start).fit(X)

    @pytest.mark.parametrize("start", ["uniform", "deterministic"])
    @pytest.mark.parametrize("passes", [1, 3])
    def test_a_checkpoint_resumes_to_the_same_bits(self, name, start, passes, tmp_path):
        X, _ = table(name)
        parameters = {"model": name, "start": start, "tol": 0.0, "max_iter": 12}
        whole = fit_quietly(EOSDetector(**parameters), X)
        parameters["checkpoint"] = tmp_path / "fit"
        stop = EOSDetector(**parameters, callback=lambda step: step.number == passes)
        part = fit_quietly(stop, X)
        numbers = []
        resumed = fit_quietly(
            EOSDetector(**parameters, callback=lambda step: numbers.append(step.number)), X
        )
        assert part.n_iter_ == min(passes, whole.n_iter_)
        assert whole.n_iter_ <= passes or numbers[0] > passes
        np.testing.assert_array_equal(resumed.objective_history_, whole.objective_history_)
        assert repr(resumed.theta_) == repr(whole.theta_)
        np.testing.assert_array_equal(resumed.p_values_, whole.p_values_)
        assert resumed.n_iter_ == whole.n_iter_

    def test_effective_sizes_fall_along_a_path(self, name):
        X, is_bad = table(name)
        path = EOSDetector(model=name).path(X)
        solved = np.array([status is not Status.COLLAPSED for status in path.statuses])
        assert (np.diff(path.alphas) < 0).all()
        assert (np.diff(path.effective_sizes[solved]) < 1e-6).all()
        assert path.effective_sizes[0] > 0.9 * len(X)
        assert path.effective_sizes[-1] < 0.5 * len(X)
        assert path.weights.shape == path.is_outlier.shape == (len(path.alphas), len(X))
        np.testing.assert_allclose(path.weights[solved].sum(axis=1), 1.0)
        np.testing.assert_allclose(
            1 / np.square(path.weights[solved]).sum(axis=1), path.effective_sizes[solved], rtol=1e-6
        )
        if (
            name == "mixture"
        ):  # from equal weights, one component holds the outliers, and keeps them
            return
        plateau = path.is_outlier[path.plateau]
        assert plateau[:, is_bad].mean() > 0.85
        assert plateau[:, ~is_bad].mean() < 0.02

    def test_a_path_visits_given_alphas(self, name):
        X, _ = table(name)
        detector = EOSDetector(model=name).fit(X)
        before = repr(detector.theta_)
        path = detector.path(X, alphas=[2 * detector.alpha_, 4 * detector.alpha_])
        assert path.alphas.tolist() == [4 * detector.alpha_, 2 * detector.alpha_]
        assert repr(detector.theta_) == before

    def test_the_model_and_its_parameters_are_kept(self, name):
        X, _ = table(name)
        detector = EOSDetector(model=name).fit(X)
        assert isinstance(detector.model_, type(NAMED_MODELS[name].build()))
        fit = detector._judge.fit
        view = fit.coordinates or fit.model.view
        errors = detector.model_.distances(view(X), detector.theta_)
        np.testing.assert_allclose(-detector._judge.pull.correct(errors),
                                   detector.score_samples(X), atol=1e-12)  # fmt: skip

    def test_an_infinite_alpha_weighs_rows_alike(self, name, storage):
        X, _ = table(name)
        detector = EOSDetector(np.inf, model=name).fit(storage(X))
        assert detector.alpha_ == np.inf
        assert detector.effective_sample_size_ == pytest.approx(len(X))
        if not hasattr(storage(X), "dataset"):  # weights of rows on disk are not kept
            np.testing.assert_allclose(np.asarray(detector.weights_), 1 / len(X))
        p_values = np.asarray(detector.p_values(storage(X)))
        assert ((p_values >= 0) & (p_values <= 1)).all()


def fit_quietly(detector, X):
    """Fit without a word about passes that were not enough."""
    with np.testing.suppress_warnings() as quiet:
        quiet.filter(ConvergenceWarning)
        return detector.fit(X)


# An infinite alpha is ordinary learning.


class TestOrdinaryLearning:
    X: ClassVar = table("clusters", n_rows=1500)[0]

    def test_means_and_covariances(self, storage):
        detector = EOSDetector(np.inf, model="gaussian").fit(storage(self.X))
        assert detector.shrinkage_ == 0.0
        np.testing.assert_allclose(detector.location_, self.X.mean(axis=0), rtol=1e-10)
        covariance = np.cov(self.X, rowvar=False, ddof=0)
        np.testing.assert_allclose(detector.covariance_, covariance, rtol=1e-9, atol=1e-9)
        diagonal = EOSDetector(np.inf, model=GaussianModel("diag")).fit(storage(self.X))
        np.testing.assert_allclose(
            diagonal.covariance_, np.diag(np.diag(covariance)), rtol=1e-9, atol=1e-9
        )

    def test_principal_components(self, storage):
        ours, theirs = EOSPCA(2, alpha=np.inf).fit(storage(self.X)), PCA(2).fit(self.X)
        signs = np.sign((ours.components_ * theirs.components_).sum(axis=1))
        np.testing.assert_allclose(ours.components_ * signs[:, None], theirs.components_, atol=1e-9)
        np.testing.assert_allclose(ours.mean_, theirs.mean_, rtol=1e-10)
        biased = theirs.explained_variance_ * (1 - 1 / len(self.X))
        np.testing.assert_allclose(ours.explained_variance_, biased, rtol=1e-9)

    def test_k_means(self, storage):
        ours = EOSKMeans(3, alpha=np.inf).fit(storage(self.X))
        theirs = KMeans(3, init=ours.cluster_centers_, n_init=1, tol=0.0).fit(self.X)
        np.testing.assert_allclose(ours.cluster_centers_, theirs.cluster_centers_, atol=1e-9)
        assert ours.inertia_ == pytest.approx(theirs.inertia_, rel=1e-9)
        clean = table("clusters", share=0.0)[0]
        best = KMeans(3, n_init=10, random_state=0).fit(clean)
        found = EOSKMeans(3, alpha=np.inf).fit(storage(clean))
        assert found.inertia_ == pytest.approx(best.inertia_, rel=1e-9)

    def test_one_component_is_the_mean(self, storage):
        mixture = EOSGaussianMixture(1, alpha=np.inf).fit(storage(self.X))
        np.testing.assert_allclose(mixture.means_[0], self.X.mean(axis=0), rtol=1e-9)
        assert mixture.shares_.tolist() == [1.0]

    @pytest.mark.parametrize(
        "estimator", [EOSDetector(), EOSKMeans(3), EOSPCA(2), EOSGaussianMixture(3)], ids=type
    )
    def test_weights_are_equal_or_those_given(self, estimator):
        X, _ = table("gaussian", share=0.0)
        plain = clone(estimator).set_params(alpha=np.inf).fit(X)
        np.testing.assert_allclose(plain.weights_, 1 / len(X))
        prior = 1.0 + np.arange(len(X)) % 3
        weighted = clone(estimator).set_params(alpha=np.inf).fit(X, sample_weight=prior)
        np.testing.assert_allclose(weighted.weights_, prior / prior.sum())


# Of single models.


def test_the_gaussian_has_a_model_and_parameters_too():
    X, _ = table("gaussian")
    detector = EOSDetector().fit(X)
    assert isinstance(detector.model_, GaussianModel)
    assert isinstance(detector.model_, TableModel)
    assert isinstance(detector.theta_, Normal)
    assert detector.model_.n_features == 4
    np.testing.assert_array_equal(
        detector.location_, detector.model_.coordinates.location(detector.theta_.location)
    )
    assert isinstance(EOSDetector(model="regression").fit(X).theta_, Line)


def test_a_named_gaussian_is_the_default_model():
    X, _ = table("gaussian")
    named, given = EOSDetector().fit(X), EOSDetector(model=GaussianModel()).fit(X)
    np.testing.assert_array_equal(named.p_values_, given.p_values_)
    fixed = EOSDetector(model=GaussianModel(shrinkage=0.25)).fit(X)
    assert fixed.shrinkage_ == 0.25


def test_a_mixture_needs_alpha_above_one_over_the_columns():
    """At and below it the weights are the density's first power and more."""
    X, _ = table("mixture")
    for alpha in (0.25, 0.2, 0.01):
        with pytest.raises(CollapseError, match=r"too small for a mixture.* above .* = 0\.25"):
            EOSDetector(alpha, model=MixtureModel(3)).fit(X)


@pytest.mark.parametrize("model", ["mixture", MixtureModel(3)], ids=str)
def test_a_mixture_of_a_few_rows_is_no_answer(model):
    """Pseudo-rows keep its covariances regular even where only two rows have weight."""
    X, _ = table("mixture")
    for alpha in (0.3, 0.26):
        with pytest.raises(CollapseError, match="larger alpha"):
            EOSDetector(alpha, model=model).fit(X)
