"""Every acquisition optimiser keeps the contract of optimisers."""

from nasgoat import Catalogue, DartsSpace, EdgeLabeledSpace, GraphSpace, NodeLabeledSpace
from nasgoat.acquisition import AcquisitionOptimizer, make_optimizer
from nasgoat.acquisition.branch import BranchAndBound
from nasgoat.acquisition.mip import MipOptimizer
from nasgoat.solvers import SolveLimits
from nasgoat.spaces import SearchSpace
from nasgoat.testing import OptimizerContract

CELLS: dict[str, SearchSpace] = {
    "labels on nodes": NodeLabeledSpace((2, 5), ["a", "b", "c"], max_edges=6),
    "labels on nodes, limits": NodeLabeledSpace((2, 5), ["a", "b"]).constrain("a <= 1"),
    "labels on edges": EdgeLabeledSpace(4, ["a", "b"]),
    "not connected": EdgeLabeledSpace(3, ["a", "b", "c"], connected=False),
    "darts-like": DartsSpace(5, ["a", "b"]),
}
SMALL: dict[str, SearchSpace] = {
    "labels on nodes": NodeLabeledSpace((2, 4), ["a", "b"]),
    "labels on edges, limits": EdgeLabeledSpace(3, ["a", "b", "c"]).constrain("a <= 1"),
    "undirected": GraphSpace((2, 3), ["C", "O"], direction="undirected"),
}
GRAPHS: dict[str, SearchSpace] = {
    "molecules": GraphSpace(
        (1, 3), ["C", "O"], ["single", "double"], "undirected", "connected",
        degree={"C": (0, 4), "O": (0, 2)}, edge_weights={"double": 2},
    ),
    "acyclic": GraphSpace(3, ["a", "b"], direction="acyclic", connectivity="connected"),
}  # fmt: skip


class TestCatalogue(OptimizerContract):
    spaces = CELLS | GRAPHS

    def make(self, space: SearchSpace) -> AcquisitionOptimizer:
        return Catalogue(space)


class TestBranchAndBound(OptimizerContract):
    spaces = CELLS

    def make(self, space: SearchSpace) -> AcquisitionOptimizer:
        return BranchAndBound(space)

    def make_limited(self, space: SearchSpace) -> AcquisitionOptimizer:
        return BranchAndBound(space, time_limit=0.0)


class TestBranchAndBoundOnDeclaredGraphs(TestBranchAndBound):
    spaces = GRAPHS
    kernels = ("linear",)


class TestScip(OptimizerContract):
    spaces = SMALL
    seeds = range(1)
    k = 3

    def make(self, space: SearchSpace) -> AcquisitionOptimizer:
        return MipOptimizer(space, child=False)

    def make_limited(self, space: SearchSpace) -> AcquisitionOptimizer:
        return MipOptimizer(space, child=False, limits=SolveLimits(gap=0.0, nodes=1))


class TestMutation(OptimizerContract):
    spaces = SMALL
    exact = False
    name = "mutation"

    def make(self, space: SearchSpace) -> AcquisitionOptimizer:
        return make_optimizer(self.name, space)


class TestSampling(TestMutation):
    name = "sampling"
