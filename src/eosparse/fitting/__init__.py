"""What is left open, decided step by step: alpha, start, law, folds, checkpoints."""
