"""Speeds of the companion, as ratios measured in one run; `python -m tests.bench`."""
