"""Graph kernels and the feature rows they work on."""

from nasgoat.kernels.blocks import (
    PAPER_BLOCKS,
    Block,
    block_names,
    check_blocks,
    register_block,
)
from nasgoat.kernels.boundable_blocks import (
    bounded_blocks,
    count_searches,
    explain_unbounded,
    keep_bounded,
    require_bounded_blocks,
    require_paper_blocks,
)
from nasgoat.kernels.features import FeatureMap, Sizes
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
    "Block",
    "FeatureMap",
    "ShortestPathKernel",
    "Sizes",
    "block_names",
    "bounded_blocks",
    "check_blocks",
    "count_searches",
    "explain_unbounded",
    "keep_bounded",
    "kernel_names",
    "make_kernel",
    "register_block",
    "register_kernel",
    "require_bounded_blocks",
    "require_paper_blocks",
]
