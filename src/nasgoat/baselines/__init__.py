"""Baselines: the methods that the paper compares with, on the ask/tell interface."""

from nasgoat.baselines.method import Method, Setup
from nasgoat.baselines.registry import (
    OURS,
    available,
    check_options,
    make_method,
    methods,
    own_batch,
    register_method,
    remedy,
)

__all__ = [
    "OURS",
    "Method",
    "Setup",
    "available",
    "check_options",
    "make_method",
    "methods",
    "own_batch",
    "register_method",
    "remedy",
]
