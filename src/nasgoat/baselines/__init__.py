"""Baselines: the methods that the paper compares with, on the ask/tell interface."""

from nasgoat.baselines.method import Method
from nasgoat.baselines.registry import available, make_method, methods, own_batch

__all__ = ["Method", "available", "make_method", "methods", "own_batch"]
