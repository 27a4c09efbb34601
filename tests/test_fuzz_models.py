"""A small part of the fuzz of saved models and checkpoints."""

from benchmarks.fuzz.models import ATTACKS, fuzz_models

# Each attack on each of the files twice.
_CASES = 2 * len(ATTACKS) * 13


def test_attacked_files_are_refused_or_harmless():
    outcomes = fuzz_models(seed=0, seconds=60, most_cases=_CASES)
    assert outcomes.broken == []
    assert outcomes.counts.total() == _CASES
    refused = sum(count for (_, outcome), count in outcomes.counts.items() if outcome == "refused")
    assert refused > 0.8 * _CASES
