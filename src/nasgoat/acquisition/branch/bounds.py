"""Bounds of all structures, compiled."""

from __future__ import annotations

import numpy as np

from nasgoat.acquisition.branch.arrays import (
    Exponential,
    Floats,
    Index,
    Shapes,
    Stack,
    Tables,
    Terms,
)
from nasgoat.acquisition.branch.compiled import compiled
from nasgoat.acquisition.branch.exponential import exponential_bound
from nasgoat.acquisition.branch.linear import linear_bound
from nasgoat.acquisition.branch.moves import load


@compiled
def linear_roots(
    tables: Tables, shapes: Shapes, stack: Stack, terms: Terms, rounds: Index, out: Floats
) -> None:
    """Lower bound of every structure under the linear kernel."""
    for s in range(len(shapes.nodes)):
        load(tables, shapes, stack, s)
        out[s] = linear_bound(tables, shapes, stack, terms, s, np.int64(0), rounds)


@compiled
def exponential_roots(
    tables: Tables,
    model: Exponential,
    shapes: Shapes,
    stack: Stack,
    terms: Terms,
    rounds: Index,
    out: Floats,
) -> None:
    """Lower bound of every structure under the exponential kernel."""
    for s in range(len(shapes.nodes)):
        load(tables, shapes, stack, s)
        out[s] = exponential_bound(tables, model, shapes, stack, terms, s, np.int64(0), rounds)
