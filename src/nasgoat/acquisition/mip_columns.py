"""Which structures a mixed-integer program has to hold, given the value to beat.

A structure whose bound for a composition of labels is not below the cut-off has no graph of it that
the search could still want. Those that are left become columns of the compact formulation
(:mod:`~nasgoat.formulations.listed`): far fewer than there are, and a far tighter relaxation than
that of layered paths.
"""

from __future__ import annotations

from math import comb

import numpy as np

from nasgoat.acquisition.branch import BranchAndBound
from nasgoat.acquisition.branch.blocks import OutOfTimeError
from nasgoat.acquisition.branch.composition_bounds import bound_compositions
from nasgoat.acquisition.lower_confidence_bound import LowerConfidenceBound
from nasgoat.errors import TooLargeError
from nasgoat.formulations.compositions import compositions
from nasgoat.formulations.listed import Columns, Listed
from nasgoat.formulations.parts import PARTS
from nasgoat.kernels import FeatureMap
from nasgoat.spaces import NodeLabeledSpace
from nasgoat.surrogate import LinearPosterior

_SMALLEST = 4  # nodes: below, there is no pair of labelled nodes
_COLUMNS = 30_000  # structures beyond which layers are the smaller model


def promising_structures(
    search: BranchAndBound,
    acquisition: LowerConfidenceBound,
    n: int,
    value: float,
    deadline: float,
) -> Listed | None:
    """The structures of n nodes that may have graphs below a value; None where that can't be said.

    Args:
        search: Knows the structures of the space.
        acquisition: What is minimised.
        n: Number of nodes.
        value: What a graph must be worth less than.
        deadline: Of ``time.perf_counter``, for bounds.
    """
    space, posterior = search.space, acquisition.gp.posterior_
    if not isinstance(space, NodeLabeledSpace) or not isinstance(posterior, LinearPosterior):
        return None
    inner, ops = n - 2, len(space.ops)
    if n < _SMALLEST or not np.isfinite(value) or comb(inner + ops - 1, inner) > PARTS:
        return None
    try:
        block = search.structures(n, deadline)
    except (OutOfTimeError, TooLargeError):
        block = None
    if block is None:
        return None
    found = bound_compositions(
        block,
        FeatureMap(space),
        posterior,
        acquisition.sqrt_beta,
        n,
        compositions(inner, ops),
        value,
        deadline,
    )
    none = np.zeros(0, dtype=np.int64)
    kept = np.unique(np.concatenate([none, *(rows for rows, _ in found.values())]))
    if len(kept) > _COLUMNS:
        return None
    allowed = {C: Columns(np.searchsorted(kept, rows), best) for C, (rows, best) in found.items()}
    return Listed(block.adjacency[kept, :n, :n], allowed)
