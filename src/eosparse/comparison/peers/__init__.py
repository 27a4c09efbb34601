"""Peers: one registry of the methods to compare, and one file per task with their adapters."""

from eosparse.comparison.peers import (
    affinities,
    classifiers,
    clusterings,
    components,
    covariances,
    detectors,
    eos,
    label_rankings,
    regressors,
)
from eosparse.comparison.peers.outcomes import Detection, Estimate
from eosparse.comparison.peers.registry import (
    PEERS,
    Peer,
    Task,
    explain_missing,
    list_peers,
    register,
)

__all__ = [
    "PEERS",
    "Detection",
    "Estimate",
    "Peer",
    "Task",
    "affinities",
    "classifiers",
    "clusterings",
    "components",
    "covariances",
    "detectors",
    "eos",
    "explain_missing",
    "label_rankings",
    "list_peers",
    "register",
    "regressors",
]
