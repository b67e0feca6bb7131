"""Graph kernels and the feature rows they work on."""

from nasgoat.kernels.features import FeatureMap
from nasgoat.kernels.shortest_path import (
    FORMS,
    PAPER_BOUNDS,
    ShortestPathKernel,
    kernel_names,
    make_kernel,
    register_kernel,
)

__all__ = [
    "FORMS",
    "PAPER_BOUNDS",
    "FeatureMap",
    "ShortestPathKernel",
    "kernel_names",
    "make_kernel",
    "register_kernel",
]
