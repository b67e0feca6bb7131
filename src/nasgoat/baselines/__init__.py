"""Baselines: the methods that the paper compares with, on the ask/tell interface."""

from nasgoat.baselines.method import Method, PredictorSearch, Setup

__all__ = ["Method", "PredictorSearch", "Setup"]
