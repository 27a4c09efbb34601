"""Clocks for peers: what they load and compile is not part of their time."""

from __future__ import annotations

import time
from functools import cache
from typing import Any

import numpy as np

from eosparse.comparison.peers.eos import EOS
from eosparse.comparison.peers.outcomes import Detection
from eosparse.comparison.peers.registry import PEERS
from eosparse.core import FloatArray


@cache
def warm_up(name: str) -> None:
    """Let a detector judge a small table, so that its packages are loaded and compiled.

    Variants of ours, which are not in the registry, need what ours needs.

    Examples
    --------
    >>> warm_up("LOF")
    """
    peer = PEERS.get(name, PEERS[EOS])
    if not peer.needs.startswith("R:"):
        peer.run(np.random.default_rng(0).standard_normal((60, 2)), 0)


def time_detection(name: str, X: FloatArray, seed: int, **options: Any) -> tuple[Detection, float]:
    """Return what a detector says about the rows, and its processor time in seconds.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((100, 2))
    >>> detection, seconds = time_detection("classical covariance", X, 0)
    >>> detection.scores.shape, seconds >= 0
    ((100,), True)
    """
    begun = time.process_time()
    detection: Detection = PEERS[name].run(X, seed, **options)
    spent = time.process_time() - begun
    return detection, spent if detection.seconds is None else detection.seconds
