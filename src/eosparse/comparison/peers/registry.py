"""The registry of peers: every method that panels and benchmarks compare, by name.

To add a peer, write its adapter in the file of its task and decorate it::

    @register("my detector", Task.DETECT, needs="my_package")
    def _detect_by_mine(X, seed, **options):
        from my_package import Detector

        model = Detector(random_state=seed, **options).fit(X)
        return Detection(model.outlier_scores_, model.is_outlier_)

A detector then runs in all detection panels, on the ADBench sets and in ``eosparse compare``; a
classifier runs in all panels with wrong labels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from importlib.util import find_spec
from typing import Any, TypeVar

from eosparse.comparison.peers.in_r import explain_missing_in_r
from eosparse.comparison.peers.outcomes import Estimate
from eosparse.core import FloatArray

Run = TypeVar("Run", bound=Callable[..., Any])
EstimateCovariance = Callable[[FloatArray, int], Estimate]


class Task(StrEnum):
    """What a peer does, and with it the signature of its `Peer.run`.

    ================  ==================================================================
    task              ``run``
    ================  ==================================================================
    ``DETECT``        ``(X, seed, **options) -> Detection``
    ``ESTIMATE``      ``(X, seed) -> Estimate``: a covariance, which only benchmarks use
    ``CLASSIFY``      ``() -> classifier``, not fitted
    ``RANK_LABELS``   ``(X, y, make_classifier) -> suspicion`` of every label
    ``REGRESS``       ``(X, y) -> coefficients``
    ``CLUSTER``       ``(X, n_clusters, seed, **options) -> labels``
    ``REDUCE``        ``(X, n_components, seed) -> directions``, as columns
    ``AFFINITIES``    ``(X, settings) -> function``, which computes them when called
    ================  ==================================================================
    """

    DETECT = "detect"
    ESTIMATE = "estimate"
    CLASSIFY = "classify"
    RANK_LABELS = "rank labels"
    REGRESS = "regress"
    CLUSTER = "cluster"
    REDUCE = "reduce"
    AFFINITIES = "affinities"


@dataclass(frozen=True)
class Peer:
    """A method to compare.

    Attributes
    ----------
    name : str
        Its name in tables and figures.
    task : Task
        What it does.
    run : callable
        Does it; see `Task` for the signature.
    needs : str
        The Python package that it needs, or ``"R:package"`` for one of R.
    is_random : bool
        Whether its answer depends on the seed.
    estimate : callable or None
        Returns location and covariance alone, if the method estimates them.

    Examples
    --------
    >>> from eosparse.comparison.peers import PEERS
    >>> PEERS["LOF"].task
    <Task.DETECT: 'detect'>
    """

    name: str
    task: Task
    run: Callable[..., Any]
    needs: str
    is_random: bool = False
    estimate: EstimateCovariance | None = None

    def explain_missing(self) -> str | None:
        """Return why the peer cannot run on this machine; None if it can.

        Examples
        --------
        >>> Peer("mine", Task.DETECT, print, needs="no_such_package").explain_missing()
        "no_such_package is not installed: pip install 'eosparse[bench]'"
        """
        if self.needs.startswith("R:"):
            return explain_missing_in_r(self.needs.removeprefix("R:"))
        if find_spec(self.needs) is None:
            return f"{self.needs} is not installed: pip install 'eosparse[bench]'"
        return None


PEERS: dict[str, Peer] = {}


def register(
    name: str,
    task: Task,
    needs: str,
    *,
    is_random: bool = False,
    estimate: EstimateCovariance | None = None,
) -> Callable[[Run], Run]:
    """Return a decorator that adds a function to the registry; see `Peer` for the parameters.

    Examples
    --------
    >>> @register("largest value", Task.DETECT, needs="numpy")
    ... def detect_by_largest(X, seed):
    ...     return Detection(X.max(axis=1), X.max(axis=1) > 3)
    >>> PEERS.pop("largest value").needs
    'numpy'
    """
    if name in PEERS:
        raise ValueError(f"A peer named {name!r} is registered already. Choose another name.")

    def add(run: Run) -> Run:
        PEERS[name] = Peer(name, task, run, needs, is_random, estimate)
        return run

    return add


def list_peers(task: Task) -> tuple[str, ...]:
    """Return the names of all peers of a task.

    Examples
    --------
    >>> from eosparse.comparison.peers import Task, list_peers
    >>> list_peers(Task.RANK_LABELS)
    ('find_label_issues', 'cleanlab', 'nearest rows', 'self-confidence')
    """
    return tuple(name for name, peer in PEERS.items() if peer.task is task)


def explain_missing(method: str) -> str | None:
    """Return why a method cannot run on this machine; None if it can.

    Variants of our own methods are not in the registry. They need nothing else.

    Examples
    --------
    >>> explain_missing("EOS, another setting") is None
    True
    """
    return PEERS[method].explain_missing() if method in PEERS else None
