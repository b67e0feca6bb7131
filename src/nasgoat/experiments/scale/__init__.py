"""Seconds, gap and model size of the acquisition optimisers against the number of nodes."""

from nasgoat.experiments.scale.study import ScaleRecord, ScaleStudy, ratios

__all__ = ["ScaleRecord", "ScaleStudy", "ratios"]
