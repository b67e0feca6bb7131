"""A family that only describes itself is searched by every exact optimiser, with one answer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise, product

import numpy as np
import pytest
from numpy.typing import NDArray

from nasgoat import (
    CellSpace,
    ChainSpace,
    DartsSpace,
    EdgeLabeledSpace,
    GraphGP,
    Limit,
    LowerConfidenceBound,
    ShortestPathKernel,
)
from nasgoat.acquisition import (
    AcquisitionOptimizer,
    Catalogue,
    Chebyshev,
    Constrained,
    KnownCost,
)
from nasgoat.acquisition.branch import BranchAndBound
from nasgoat.acquisition.mip import MipOptimizer
from nasgoat.integrations import GraphParameters
from nasgoat.spaces import EdgeRow


@dataclass(frozen=True)
class Pipelines(CellSpace):
    """Different steps in a row, perhaps with a skip beside them; its structures are listed."""

    ops: tuple[str, ...]
    longest: int = 3
    shortest: int = 1
    limits: tuple[Limit, ...] = field(default=(), kw_only=True)
    kind = "pipelines"
    labels_on = "nodes"

    @property
    def sizes(self) -> range:
        return range(self.shortest + 2, self.longest + 3)

    def structures(self, n: int) -> Iterator[NDArray[np.bool_]]:
        path = np.eye(n, k=1, dtype=bool)
        skip = path.copy()
        skip[0, n - 1] = True
        yield np.array([path, skip])

    @property
    def family_limits(self) -> tuple[Limit, ...]:
        return tuple(Limit(f"{op} once", "<=", 1, node_ops={op: 1}) for op in self.ops)

    def with_nodes(self, n: int) -> Pipelines:
        return replace(self, shortest=n - 2, longest=n - 2)


@dataclass(frozen=True)
class Ladders(CellSpace):
    """A path on indexed nodes with one more edge over two steps, said by rows over edges."""

    ops: tuple[str, ...]
    limits: tuple[Limit, ...] = field(default=(), kw_only=True)
    kind = "ladders"
    labels_on = "edges"

    @property
    def sizes(self) -> range:
        return range(4, 5)

    def structures(self, n: int) -> Iterator[NDArray[np.bool_]]:
        for u in range(n - 2):
            matrix = np.eye(n, k=1, dtype=bool)
            matrix[u, u + 2] = True
            yield matrix[None]

    def structure_rows(self, n: int) -> list[EdgeRow]:
        steps = [EdgeRow("ladder", "step", (u,), {(u, u + 1): 1.0}, "==", 1) for u in range(n - 1)]
        long = {(u, u + 2): 1.0 for u in range(n - 2)}
        rest = dict.fromkeys([(0, 3)], 1.0)
        one = EdgeRow("ladder", "long", (), long, "==", 1)
        return [*steps, one, EdgeRow("ladder", "none", (), rest, "==", 0)]


@dataclass(frozen=True)
class UNets(CellSpace):
    """As many blocks down as up, any of the skips between them: numbers of nodes have gaps."""

    ops: tuple[str, ...]
    deepest: int = 3
    flattest: int = 1
    limits: tuple[Limit, ...] = field(default=(), kw_only=True)
    kind = "u-nets"
    labels_on = "nodes"

    @property
    def sizes(self) -> range:
        return range(2 * self.flattest + 2, 2 * self.deepest + 3, 2)

    def structures(self, n: int) -> Iterator[NDArray[np.bool_]]:
        skips = [(v, n - 1 - v) for v in range(1, n // 2 - 1)]
        for chosen in product((False, True), repeat=len(skips)):
            matrix = np.eye(n, k=1, dtype=bool)
            for place, there in zip(skips, chosen, strict=True):
                matrix[place] = there
            yield matrix[None]

    def with_nodes(self, n: int) -> UNets:
        return replace(self, flattest=n // 2 - 1, deepest=n // 2 - 1)


BY_LAYER = {"latency": {"a": [1, 2, 3, 4], "b": 0.5, "2": {"c": 1.5}}}
BY_EDGE = {
    "latency": {
        **{"a": 1.25, "b": 0.5, "0>3": 0.75, "edges": 0.125, "depth": 0.25, "constant": 0.5},
        **{"0>1": {"a": -0.5, "b": 1}, "2>3": {"b": 2.0}},
    }
}
BY_PAIR = {"latency": "a + 1.5*b[0>2] + 0.25*a[1>3] - 0.5*nodes + 2"}
FAMILIES: list[CellSpace] = [
    ChainSpace(4, ["a", "b", "c"]),
    ChainSpace((2, 4), ["a", "b", "c"]),
    ChainSpace((2, 4), ["a", "b", "c"]).constrain("sum(latency) <= 4", costs=BY_LAYER),
    ChainSpace(5, ["a", "b"]).constrain("a[0] + b[4] >= 1", "a <= 3"),
    ChainSpace((2, 4), ["a", "b", "c"], layer_ops={0: ["c"], 1: ["a", "b"], 3: ["b"]}),
    ChainSpace(5, ["a", "b", "c"], layer_ops={4: ["a", "b"]}).constrain("a[0] + b[4] >= 1"),
    Pipelines(("a", "b", "c", "d")),
    Pipelines(("a", "b", "c")).constrain("edges <= 4", "a + b >= 1"),
    UNets(("a", "b")),
    UNets(("a", "b", "c"), 2).constrain("a <= 2", "edges <= 5"),
    Ladders(("a", "b", "c")),
    Ladders(("a", "b")).constrain("a[0>2] + b[1>3] <= 0", "a <= 3"),
    EdgeLabeledSpace(4, ["a", "b"]).constrain("latency <= 6", "sum(latency) >= 3", costs=BY_EDGE),
    DartsSpace(4, ["a", "b"]).constrain("latency <= 4.5", costs=BY_PAIR),
]


def fitted(space: CellSpace, form: str, seed: int) -> LowerConfidenceBound:
    rng = np.random.default_rng(seed)
    graphs = space.sample(9, rng)
    noise = rng.normal(size=len(graphs))
    errors = [
        len(set((g.edge_labels or {}).values())) + g.n + e
        for g, e in zip(graphs, noise, strict=True)
    ]
    gp = GraphGP(space, ShortestPathKernel(form)).fit(graphs, errors)
    return LowerConfidenceBound(2.0).given(gp)


@pytest.mark.parametrize("form", ["linear", "exponential"])
@pytest.mark.parametrize("space", FAMILIES, ids=lambda space: space.describe()[:60])
def test_catalogue_branch_and_program_agree(space: CellSpace, form: str) -> None:
    acquisition = fitted(space, form, seed=1)
    exclude = {space.key(graph) for graph in space.sample(3, np.random.default_rng(2))}
    expected = Catalogue(space).optimize(acquisition, 4, exclude)
    values = [p.certificate.value for p in expected]
    assert all(a is not None and b is not None and a <= b for a, b in pairwise(values))
    optimizers: list[BranchAndBound | MipOptimizer] = [BranchAndBound(space)]
    if form == "linear" or space.count() < 100:
        optimizers.append(MipOptimizer(space, child=False, independent=True))
    for optimizer in optimizers:
        found = optimizer.optimize(acquisition, 4, exclude)
        assert str(found.certificate.status) == "optimal"
        assert [p.certificate.value for p in found] == pytest.approx(values, rel=1e-4, abs=1e-6)
        assert all(p.graph in space and space.key(p.graph) not in exclude for p in found)


@pytest.mark.parametrize("space", FAMILIES, ids=lambda space: space.describe()[:60])
def test_stored_parameters_tell_every_graph(space: CellSpace) -> None:
    parameters = GraphParameters(space)
    for graph in space.sample(30, np.random.default_rng(0)):
        assert space.key(parameters.decode(parameters.encode(graph))) == space.key(graph)


@pytest.mark.parametrize("seed", [1, 2, pytest.param(0, marks=pytest.mark.slow)])  # 25 s
@pytest.mark.parametrize(
    "space",
    [
        EdgeLabeledSpace(4, ["a", "b"]).constrain(costs=BY_EDGE),
        ChainSpace((3, 5), ["a", "b", "c"]).constrain(
            costs={"latency": {"a": [1, 2, 3, 4, 5], "b": 0.5, "2": {"c": 1.5}, "constant": 1}}
        ),
    ],
    ids=["edges", "layers"],
)
def test_costs_by_place_are_objectives_as_well(space: CellSpace, seed: int) -> None:
    bound, cost = fitted(space, "linear", seed), KnownCost.of(space, "sum(latency)")
    graphs = [graph for batch in space.enumerate() for graph in batch]
    assert cost.predict(graphs)[0] == pytest.approx(space.price(graphs, "latency"))
    largest = float(np.median(space.price(graphs, "latency")))
    for function in (
        Chebyshev([bound, cost], [1.0, 0.3], [0.0, 2.0]),
        Constrained([bound, cost], [largest]),
    ):
        expected = sorted(function.score(graphs).tolist())[:3]
        optimizers: list[AcquisitionOptimizer] = [Catalogue(space), BranchAndBound(space)]
        if seed == 0 or (seed == 1 and space.limit_layers):
            optimizers.append(MipOptimizer(space, child=False))
        for optimizer in optimizers:
            found = optimizer.optimize(function, 3)
            values = [proposal.certificate.value for proposal in found]
            assert str(found.certificate.status) == "optimal"
            assert values == pytest.approx(expected, rel=1e-4, abs=1e-6)  # the program's gap
