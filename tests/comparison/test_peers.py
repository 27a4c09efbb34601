"""The registry of peers: each does its task; those that cannot run say why."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score, roc_auc_score

from eosparse.comparison.peers import PEERS, Detection, Peer, Task, list_peers, register
from eosparse.comparison.peers.affinities import AffinitySettings
from eosparse.comparison.peers.eos import AUTHOR_OPTIONS, EOS
from eosparse.comparison.peers.in_r import explain_missing_in_r, fit_in_r
from eosparse.datasets import make_contaminated


def choose(name):
    """Return a peer, or skip the test if it cannot run on this machine."""
    if (reason := PEERS[name].explain_missing()) is not None:
        pytest.skip(reason)
    return PEERS[name]


@pytest.mark.parametrize("name", list_peers(Task.DETECT))
def test_detectors_find_plain_outliers(name):
    X, truth = make_contaminated(300, 4, 0.01, random_state=0)
    detection = choose(name).run(X, 0)
    assert detection.scores.shape == detection.flagged.shape == (300,)
    assert detection.flagged.dtype == bool
    # Higher is more outlying, for all of them.
    assert roc_auc_score(truth, detection.scores) > 0.95


@pytest.mark.parametrize("name", [name for name, peer in PEERS.items() if peer.estimate])
def test_estimates_are_those_of_the_detector(name):
    X, _ = make_contaminated(300, 4, 0.01, random_state=0)
    peer = choose(name)
    estimate = peer.estimate(X, 0)
    assert estimate.covariance == pytest.approx(np.eye(4), abs=0.5)
    if peer.task is Task.DETECT:
        assert np.array_equal(estimate.covariance, peer.run(X, 0).covariance)


@pytest.mark.parametrize(
    "name", [name for name in list_peers(Task.DETECT) if not PEERS[name].is_random]
)
def test_deterministic_detectors_ignore_the_seed(name):
    X, _ = make_contaminated(120, 3, 0.1, random_state=1)
    one, other = (choose(name).run(X, seed) for seed in (0, 1))
    assert np.array_equal(one.scores, other.scores)


@pytest.mark.parametrize("name", list_peers(Task.REGRESS))
def test_regressors_find_the_coefficients(name):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = X @ [1.0, -2.0] + 0.1 * rng.normal(size=200)
    assert choose(name).run(X, y) == pytest.approx([1.0, -2.0], abs=0.1)


@pytest.mark.parametrize("name", list_peers(Task.CLUSTER))
def test_clusterings_separate_two_groups(name):
    rng = np.random.default_rng(0)
    truth = np.arange(100) % 2
    labels = choose(name).run(rng.normal(size=(100, 2)) + 20 * truth[:, None], 2, 0)
    assert adjusted_rand_score(truth, labels) > 0.95


@pytest.mark.parametrize("name", list_peers(Task.REDUCE))
def test_components_find_the_main_direction(name):
    rng = np.random.default_rng(0)
    directions = choose(name).run(rng.normal(size=(300, 3)) * [9.0, 1.0, 1.0], 1, 0)
    assert directions.shape == (3, 1)
    assert abs(directions[0, 0]) > 0.99


@pytest.mark.parametrize("name", list_peers(Task.AFFINITIES))
def test_affinities_are_computed_when_called(name):
    X = np.random.default_rng(0).normal(size=(100, 3))
    compute = choose(name).run(X, AffinitySettings(5.0, 15, n_threads=1))
    assert compute() is not None


def test_one_decorated_function_adds_a_peer(monkeypatch):
    monkeypatch.setattr("eosparse.comparison.peers.registry.PEERS", dict(PEERS))

    @register("largest value", Task.DETECT, needs="numpy")
    def _detect_by_largest(X, _seed):
        return Detection(X.max(axis=1), X.max(axis=1) > 3)

    assert "largest value" in list_peers(Task.DETECT)


def test_names_are_unique():
    with pytest.raises(ValueError, match="'LOF' is registered already"):
        register("LOF", Task.DETECT, needs="numpy")


def test_what_is_missing_is_named():
    absent = Peer("x", Task.DETECT, lambda *_: None, needs="no_such_package")
    assert "no_such_package is not installed" in absent.explain_missing()
    reason = Peer("x", Task.DETECT, lambda *_: None, needs="R:no.such.package").explain_missing()
    assert "Rscript is not installed" in reason or "no.such.package" in reason


def test_rscript_may_be_missing(monkeypatch):
    explain_missing_in_r.cache_clear()
    monkeypatch.setenv("PATH", "")
    assert explain_missing_in_r("robustbase") == "Rscript is not installed"
    explain_missing_in_r.cache_clear()


def test_errors_of_r_are_reported():
    if (reason := explain_missing_in_r("stats")) is not None:
        pytest.skip(reason)
    X = np.arange(12.0).reshape(6, 2)
    location, covariance, seconds = fit_in_r(
        X, "stats", "list(center = colMeans(X), cov = cov(X))", 0
    )
    assert location == pytest.approx(X.mean(axis=0))
    assert covariance == pytest.approx(np.cov(X, rowvar=False))
    assert seconds >= 0.0
    with pytest.raises(RuntimeError, match="out of cheese"):
        fit_in_r(X, "stats", "stop('out of cheese')", 0)


def test_the_authors_run_finds_the_papers_outliers():
    X, truth = make_contaminated(1000, 20, 0.02, random_state=0)
    detection = PEERS[EOS].run(X, 0, alpha=0.5, **AUTHOR_OPTIONS)
    assert np.array_equal(detection.flagged, truth)
