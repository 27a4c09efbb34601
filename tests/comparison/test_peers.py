"""Every detector of the registry judges a table; those that cannot run say why."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from eosparse.comparison import peers
from eosparse.comparison.in_r import fitted_in_r, missing_in_r
from eosparse.comparison.peers import PEERS, Peer
from eosparse.datasets import make_contaminated


@pytest.mark.parametrize("name", PEERS)
def test_each_finds_plain_outliers(name):
    peer = PEERS[name]
    if (reason := peer.missing()) is not None:
        pytest.skip(reason)
    X, truth = make_contaminated(300, 4, 0.01, random_state=0)
    finding = peer.find(X, 0)
    assert finding.scores.shape == finding.flagged.shape == (300,)
    assert finding.flagged.dtype == bool
    # Higher is more outlying, for all of them.
    assert roc_auc_score(truth, finding.scores) > 0.95
    if finding.covariance is not None:
        assert finding.covariance.shape == (4, 4)


@pytest.mark.parametrize("name", [name for name, peer in PEERS.items() if not peer.is_random])
def test_those_said_to_be_deterministic_are(name):
    if (reason := PEERS[name].missing()) is not None:
        pytest.skip(reason)
    X, _ = make_contaminated(120, 3, 0.1, random_state=1)
    one, other = (PEERS[name].find(X, seed) for seed in (0, 1))
    assert np.array_equal(one.scores, other.scores)


def test_adding_one_takes_a_decorated_function(monkeypatch):
    monkeypatch.setattr(peers, "PEERS", dict(PEERS))

    @peers.peer("largest value", needs="numpy")
    def _largest(X, _seed):
        return peers.Finding(X.max(axis=1), X.max(axis=1) > 3)

    assert isinstance(peers.PEERS["largest value"], Peer)
    assert peers.PEERS["largest value"].missing() is None


def test_what_is_missing_is_named():
    absent = Peer("x", lambda *_: None, needs="no_such_package")
    assert "no_such_package is not installed" in absent.missing()
    reason = Peer("x", lambda *_: None, needs="R:no.such.package").missing()
    assert "Rscript is not installed" in reason or "no.such.package" in reason


def test_rscript_may_be_missing(monkeypatch):
    missing_in_r.cache_clear()
    monkeypatch.setenv("PATH", "")
    assert missing_in_r("robustbase") == "Rscript is not installed"
    missing_in_r.cache_clear()


def test_errors_of_r_are_told():
    if (reason := missing_in_r("stats")) is not None:
        pytest.skip(reason)
    X = np.arange(12.0).reshape(6, 2)
    location, covariance, seconds = fitted_in_r(
        X, "stats", "list(center = colMeans(X), cov = cov(X))", 0
    )
    assert location == pytest.approx(X.mean(axis=0))
    assert covariance == pytest.approx(np.cov(X, rowvar=False))
    assert seconds >= 0.0
    with pytest.raises(RuntimeError, match="out of cheese"):
        fitted_in_r(X, "stats", "stop('out of cheese')", 0)


def test_the_authors_run_finds_the_papers_outliers():
    X, truth = make_contaminated(1000, 20, 0.02, random_state=0)
    finding = peers.eos_as_the_author(0.5)(X, 0)
    assert np.array_equal(finding.flagged, truth)
