"""The torture suite: kills, fuzz, lost workers, crowds. ``python -m benchmarks.torture``."""
