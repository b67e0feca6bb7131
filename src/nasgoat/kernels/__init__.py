"""Graph kernels and the feature rows they work on."""

from nasgoat.kernels.blocks import PAPER_BLOCKS, block_names, check_blocks, require_paper_blocks
from nasgoat.kernels.features import FeatureMap
from nasgoat.kernels.shortest_path import (
    FORMS,
    PAPER_BOUNDS,
    PAPER_FORMS,
    ShortestPathKernel,
    kernel_names,
    make_kernel,
    register_kernel,
)

__all__ = [
    "FORMS",
    "PAPER_BLOCKS",
    "PAPER_BOUNDS",
    "PAPER_FORMS",
    "FeatureMap",
    "ShortestPathKernel",
    "block_names",
    "check_blocks",
    "kernel_names",
    "make_kernel",
    "register_kernel",
    "require_paper_blocks",
]
