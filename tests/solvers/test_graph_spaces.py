"""Three ways to one set: SCIP counts it, the enumerator lists it, a definition filters it."""

import pytest
from hypothesis import HealthCheck, given, settings

from nasgoat import GraphSpace
from nasgoat.formulations.graph_domains import build_domain_of_graphs, build_graph_domain
from nasgoat.formulations.kernel_encoding import add_distance_indicators
from nasgoat.formulations.limit_rows import limit_graphs
from nasgoat.solvers.scip_model import ScipModel
from tests.graph_spaces import DECLARED, belongs, graph_spaces, labelled_graphs

LIMITED = [
    GraphSpace(3, ["a", "b"], direction="acyclic").constrain("depth <= 1", "a >= 1"),
    GraphSpace(3, ["a"], direction="acyclic", connectivity="paths", sources=1, sinks=1).constrain(
        "depth == 2"
    ),
    GraphSpace((2, 3), ["C", "O"], ["s", "d"], "undirected").constrain("2*d + s <= 3", "C >= O"),
    GraphSpace(3, direction="directed", connectivity="connected").constrain("depth + edges <= 5"),
]


def agree(space: GraphSpace) -> None:
    for n in space.sizes:
        part = space.with_nodes(n)
        graphs = [g for g in labelled_graphs(space, n) if belongs(space, g)]
        inside = [g for g, fits in zip(graphs, space.within_limits(graphs), strict=True) if fits]
        listed = {space.key(graph) for batch in part.enumerate() for graph in batch}
        assert {space.key(graph) for graph in inside} == listed
        rows = build_graph_domain(part, n)
        if space.limits:
            add_distance_indicators(rows)
            limit_graphs(rows, part)
        assert ScipModel(rows).count() == len(inside)
        names = space.names(n)
        kept = {g for g in inside if g in names.list_orders(names.order(g), 500)}
        assert ScipModel(build_domain_of_graphs(part, n)).count() == len(kept)
        assert {space.key(graph) for graph in kept} == listed


@pytest.mark.parametrize("space", [*DECLARED, *LIMITED], ids=lambda space: space.describe())
def test_scip_enumerator_and_brute_force_agree(space: GraphSpace) -> None:
    agree(space)


@given(graph_spaces(largest=2))
@settings(max_examples=15, suppress_health_check=[HealthCheck.too_slow])
def test_the_three_agree_on_drawn_spaces(space: GraphSpace) -> None:
    agree(space)


@pytest.mark.slow
@given(graph_spaces(largest=3))
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
def test_the_three_agree_on_larger_drawn_spaces(space: GraphSpace) -> None:
    agree(space)
