"""One name for the bounds of both kernels, compiled."""

from __future__ import annotations

from nasgoat.acquisition.branch.arrays import Exponential, Floats, Shapes, Stack, Tables, Terms
from nasgoat.acquisition.branch.compiled import compiled
from nasgoat.acquisition.branch.exponential import exponential_bound
from nasgoat.acquisition.branch.linear import linear_bound
from nasgoat.acquisition.branch.moves import load


@compiled
def bound(
    tables: Tables,
    model: Exponential,
    shapes: Shapes,
    stack: Stack,
    terms: Terms,
    s: int,
    t: int,
    rounds: int,
) -> float:
    """Lower bound on all completions at depth t; also those of each further choice."""
    if len(model.dual) > 0:
        return exponential_bound(tables, model, shapes, stack, terms, s, t, rounds)
    return linear_bound(tables, shapes, stack, terms, s, t, rounds)


@compiled
def root_bounds(
    tables: Tables,
    model: Exponential,
    shapes: Shapes,
    stack: Stack,
    terms: Terms,
    rounds: int,
    out: Floats,
) -> None:
    """Lower bound of every structure."""
    for s in range(len(shapes.nodes)):
        load(tables, shapes, stack, s)
        out[s] = bound(tables, model, shapes, stack, terms, s, 0, rounds)
