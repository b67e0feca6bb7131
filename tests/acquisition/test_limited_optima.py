"""Under limits every exact optimiser finds what the filtered catalogue finds, and nothing else."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nasgoat import (
    Catalogue,
    DartsSpace,
    EdgeLabeledSpace,
    GraphSpace,
    NodeLabeledSpace,
    Optimizer,
    molecules,
)
from nasgoat.acquisition import AcquisitionOptimizer, make_optimizer, random_problem
from nasgoat.acquisition.branch import BranchAndBound
from nasgoat.acquisition.mip import MipOptimizer
from nasgoat.solvers import SolveLimits
from nasgoat.spaces import SearchSpace

K = 3
MOLECULES = GraphSpace(
    (1, 3), ["C", "O"], ["single", "double"], "undirected", "connected",
    degree={"C": (0, 4), "O": (0, 2)}, edge_weights={"double": 2},
)  # fmt: skip
PLAIN: list[tuple[SearchSpace, Sequence[str]]] = [
    (NodeLabeledSpace((2, 4), ["a", "b"]), ("a", "b", "edges", "depth")),
    (NodeLabeledSpace(5, ["a", "b"], max_edges=6), ("a", "b", "edges", "depth")),
    (EdgeLabeledSpace(4, ["a", "b"]), ("a", "b", "edges", "depth")),
    (EdgeLabeledSpace(3, ["a", "b", "c"], connected=False), ("a", "b", "edges", "depth")),
    (DartsSpace(5, ["a", "b"]), ("a", "b", "depth")),
    (MOLECULES, ("C", "single", "edges", "depth")),
    (GraphSpace(3, ["a", "b"], direction="directed", connectivity="strong"), ("a", "edges")),
    (
        GraphSpace(4, ["a", "b"], direction="acyclic", connectivity="paths", sources=1, sinks=1),
        ("a", "b", "edges", "depth"),
    ),
    (GraphSpace(4, direction="undirected"), ("edges", "depth")),
    (GraphSpace(3, ["a"], ["x", "y"], "acyclic", "connected"), ("x", "y", "edges", "depth")),
]


def triple(number: int) -> SearchSpace:
    """The space of a triple: limits are drawn until they leave some graphs and take some away."""
    plain, words = PLAIN[number % len(PLAIN)]
    rng = np.random.default_rng(number)
    whole = plain.count()
    while True:
        chosen = rng.choice(words, size=min(2, len(words)), replace=False).tolist()
        texts = [
            f"{rng.integers(1, 3)}*{word} {rng.choice(['<=', '>=', '=='])} {rng.integers(1, 6)}"
            for word in chosen[: rng.integers(1, 3)]
        ]
        space = plain.constrain(*texts)
        if K < space.count() < whole:
            return space


def exact_optimizers(space: SearchSpace, kernel: str) -> list[AcquisitionOptimizer]:
    found: list[AcquisitionOptimizer] = [
        MipOptimizer(space, child=False, limits=SolveLimits(seconds=200.0))
    ]
    if kernel == "linear" or not isinstance(space, GraphSpace):
        found.append(BranchAndBound(space))
    return found


def agree(number: int) -> None:
    space = triple(number)
    kernel = "exponential" if (number + number // 10) % 4 == 3 else "linear"
    problem = random_problem(space, 6, kernel, seed=number)
    wanted = Catalogue(space).optimize(problem.acquisition, K, problem.observed)
    for optimizer in exact_optimizers(space, kernel):
        pool = optimizer.optimize(problem.acquisition, K, problem.observed)
        assert all(proposal.graph in space for proposal in pool)
        assert str(pool.certificate.status) == str(wanted.certificate.status)
        values = [proposal.certificate.value for proposal in pool]
        expected = [proposal.certificate.value for proposal in wanted]
        assert values == pytest.approx(expected, rel=2e-4, abs=1e-7), (
            optimizer.name
        )  # the MIP's gap


@pytest.mark.parametrize("number", range(6))
def test_constrained_optima_are_those_of_the_filtered_catalogue(number: int) -> None:
    agree(number)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(6, 100))
def test_the_other_constrained_optima(number: int) -> None:
    agree(number)


@given(st.integers(0, 10**6), st.sampled_from(["auto", "mutation", "sampling"]))
@settings(max_examples=6, suppress_health_check=[HealthCheck.too_slow])
def test_no_proposal_ever_breaks_a_limit(number: int, name: str) -> None:
    space = triple(number)
    optimizer = Optimizer(space, optimizer=name, initial=3, seed=number)
    seen = set()
    for _ in range(3):
        for proposal in optimizer.ask(2):
            assert proposal.graph in space
            assert space.key(proposal.graph) not in seen
            seen.add(space.key(proposal.graph))
            optimizer.tell(proposal.graph, float(len(proposal.graph.edges)) + len(seen))
    assert len(seen) == min(6, space.count())


def test_few_declared_graphs_are_listed_and_many_are_not() -> None:
    assert make_optimizer("auto", MOLECULES).name == "catalogue"
    assert make_optimizer("auto", replace(molecules(), nodes=(1, 8))).name == "branch"
