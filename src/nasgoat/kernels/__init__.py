"""Graph kernels and the feature rows they work on."""

from nasgoat.kernels.blocks import (
    PAPER_BLOCKS,
    Block,
    block_names,
    check_blocks,
    register_block,
)
from nasgoat.kernels.boundable_blocks import (
    count_searches,
    explain_unbounded,
    keep_bounded,
    list_bounded_blocks,
    require_bounded_blocks,
    require_paper_blocks,
)
from nasgoat.kernels.features import FeatureMap, Sizes
from nasgoat.kernels.shortest_path import (
    FORMS,
    PAPER_BOUNDS,
    PAPER_FORMS,
    ShortestPathKernel,
    list_kernels,
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
    "check_blocks",
    "count_searches",
    "explain_unbounded",
    "keep_bounded",
    "list_bounded_blocks",
    "list_kernels",
    "make_kernel",
    "register_block",
    "register_kernel",
    "require_bounded_blocks",
    "require_paper_blocks",
]
