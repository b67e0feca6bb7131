"""Random acquisition problems under kernel blocks beside the paper's, for every family."""

from __future__ import annotations

import numpy as np

from nasgoat import (
    Cells,
    ChainSpace,
    DartsSpace,
    EdgeLabeledSpace,
    GraphGP,
    GraphSpace,
    LowerConfidenceBound,
    NodeLabeledSpace,
)
from nasgoat.acquisition.costs import measure_program
from nasgoat.kernels import check_blocks, count_searches, explain_unbounded, list_bounded_blocks
from nasgoat.spaces import SearchSpace
from nasgoat.surrogate.posterior import make_posterior
from tests.acquisition.branch.declared.graph_problems import random_graph_space
from tests.acquisition.branch.problems import Problem, observed, random_space

#: A small space of every family.
FAMILIES: dict[str, SearchSpace] = {
    "cells, labels on nodes": NodeLabeledSpace((3, 5), ["a", "skip", "c"], max_edges=6),
    "cells, labels on edges": EdgeLabeledSpace(4, ["a", "skip"]),
    "DARTS": DartsSpace(5, ["a", "skip"]),
    "chains": ChainSpace((3, 5), ["a", "skip", "c"]),
    "declared, acyclic": GraphSpace(
        4, ["a", "skip"], ["x", "y"], "acyclic", "paths", sources=1, sinks=1
    ),
    "declared, undirected": GraphSpace(
        (2, 4), ["C", "O"], ["-", "="], "undirected", "connected",
        degree={"C": (0, 4), "O": (0, 2)}, edge_weights={"=": 2},
    ),
    "declared, directed": GraphSpace(3, ["a", "b"], ["x"], "directed", "connected"),
    "several cells": Cells(x=EdgeLabeledSpace(3, ["a", "b"]), y=NodeLabeledSpace(4, ["a", "b"])),
}  # fmt: skip
_MOST_SEARCHES = 400  # summaries of a random problem
_MOST_VARIABLES = 300  # of a random program, about: two hundred are solved in minutes
_CELLS: list[SearchSpace] = [
    EdgeLabeledSpace(3, ["a", "b"]),
    NodeLabeledSpace((2, 4), ["b", "c"]),
    ChainSpace((1, 3), ["a", "c"]),
    DartsSpace(4, ["a", "b"]),
    GraphSpace(3, ["a", "O"], ["x", "y"], "undirected", "connected"),
    GraphSpace(3, ["a", "b"], direction="acyclic"),
]


def fitted(
    space: SearchSpace, form: str, blocks: tuple[str, ...], t: int, rng: np.random.Generator
) -> GraphGP:
    """A process with random weights on t random graphs and a random linear error."""
    gp = GraphGP(space, form, blocks=blocks)
    largest = 2.0 if form == "linear" else -1.0  # of a logarithm: exp needs small exponents
    names = gp.kernel.block_weights
    gp.kernel.set_params(**{name: float(np.exp(rng.uniform(-3, largest))) for name in names})
    gp.graphs_ = observed(space, t, int(rng.integers(1000)))
    rows = gp.features.rows(gp.graphs_)
    y = rows @ rng.normal(size=rows.shape[1]) + 0.01 * rng.normal(size=len(rows))
    y = (y - y.mean()) / (y.std() + 1e-9)
    gp.targets_, noise = y, np.full(len(rows), 1e-3)
    gp.posterior_, gp._observed = make_posterior(gp.kernel, rows, noise, y), (rows, y, noise)
    return gp


def make_problem(
    space: SearchSpace,
    form: str,
    rng: np.random.Generator,
    must: str | None = None,
    program: bool = False,
) -> Problem:
    """Random blocks that can be bounded, ``must`` among them, k, observed and excluded graphs."""
    known = list_bounded_blocks(space, program)
    names = [name for name in known if rng.random() < 0.6 or name == must]
    blocks = check_blocks(names or ["operations"])
    if explain_unbounded(space, blocks, program) or count_searches(space, blocks) > _MOST_SEARCHES:
        blocks = check_blocks(["paths", must or "shape"])
    t = int(rng.integers(1, 60))
    gp = fitted(space, form, blocks, t, rng)
    acquisition = LowerConfidenceBound(float(rng.choice([0.0, 1.0, 3.0]))).given(gp)
    seen = observed(space, t, int(rng.integers(1000)))[: int(rng.integers(0, t + 1))]
    return Problem(space, acquisition, int(rng.integers(1, 8)), {space.key(g) for g in seen})


def cell_problem(form: str, seed: int, largest: int, must: str | None = None) -> Problem:
    """A problem over cells of a random family, chains among them, half of them with limits."""
    rng = np.random.default_rng(seed)
    space = random_space(rng, largest)
    if rng.random() < 0.2:
        high = int(rng.integers(2, 6))
        space = ChainSpace((int(rng.integers(1, high + 1)), high), ["a", "b", "c"])
    return make_problem(space, form, rng, must)


def declared_problem(seed: int, must: str | None = None, program: bool = False) -> Problem:
    """A problem over a random declared space, half of them with limits."""
    rng = np.random.default_rng([seed, 4])
    most = _MOST_VARIABLES * (2 if must == "longest" else 1)  # few are acyclic, and larger
    while True:
        space = random_graph_space(rng)
        if program and not 20 <= sum(measure_program(space, n) for n in space.sizes) <= most:
            continue
        if must == "longest" and not space.acyclic:
            continue
        wanted = must is None or must in list_bounded_blocks(space, program)
        if wanted and count_searches(space, [must or "shape"]) <= _MOST_SEARCHES:
            return make_problem(space, "linear", rng, must, program)


def several_problem(seed: int) -> Problem:
    """A problem over two random cells, some of them with limits."""
    rng = np.random.default_rng([seed, 5])
    x, y = (_CELLS[i] for i in rng.integers(len(_CELLS), size=2))
    space: SearchSpace = Cells(x=x, y=y)
    if space.size_bound() > 30_000:
        space = Cells(x=x, y=_CELLS[1])
    if rng.random() < 0.3:
        space = space.constrain("edges <= 5")
    if not any(len(batch) for batch in space.enumerate()):
        space = space.with_limits(())
    return make_problem(space, "linear", rng)
