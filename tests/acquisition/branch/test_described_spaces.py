"""Families that branch and bound knows by their description alone, against the catalogue."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest
from numpy.typing import NDArray

from nasgoat import Catalogue, LowerConfidenceBound, NodeLabeledSpace, ShortestPathKernel
from nasgoat.acquisition.branch import BranchAndBound
from nasgoat.acquisition.branch.exponential import split_labellings
from nasgoat.spaces import CellSpace, ChainSpace
from nasgoat.spaces.limits import Limit

from .problems import fitted, observed

TIES = 1e-9  # sums in different orders
LATENCY = {"latency": {"a": [1.0, 2.0, 4.0, 1.0], "b": 0.5, "c": [0.0, 3.0, 0.0, 1.0]}}


@dataclass(frozen=True)
class EvenSpace(CellSpace):
    """Cells of five nodes with an even number of edges: a list, not a rule that grows."""

    ops: Sequence[str]
    limits: tuple[Limit, ...] = field(default=(), kw_only=True)
    labels_on = "nodes"
    kind = "even"

    @property
    def sizes(self) -> range:
        return range(5, 6)

    def structures(self, n: int) -> Iterator[NDArray[np.bool_]]:
        for chunk in NodeLabeledSpace(n, self.ops).structures(n):
            yield chunk[chunk.sum(axis=(1, 2)) % 2 == 0]


SPACES = {
    "chain": ChainSpace(layers=4, ops=["a", "b", "c"]),
    "chains": ChainSpace(layers=(1, 4), ops=["a", "b", "c"]),
    "costs by layer": ChainSpace(layers=(2, 4), ops=["a", "b", "c"]).constrain(
        "sum(latency) <= 4.5", "depth >= 3", costs=LATENCY
    ),
    "operations by layer": ChainSpace(
        layers=(2, 4), ops=["a", "b", "c"], layer_ops={0: ["b"], 3: ["a", "c"]}
    ).constrain("sum(latency) <= 4.5", costs=LATENCY),
    "listed structures": EvenSpace(["a", "b"]),
    "listed structures with limits": EvenSpace(["a", "b"]).constrain("a <= 1", "depth <= 3"),
}


@pytest.mark.parametrize("split", [False, True])
@pytest.mark.parametrize("form", ["linear", "exponential"])
@pytest.mark.parametrize("name", SPACES)
def test_the_best_graphs_are_those_of_the_catalogue(
    name: str, form: str, split: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(split_labellings, "_MANY_OF_ONE", 1 if split else 10**9)
    space = SPACES[name]
    for seed in range(3):
        kernel = ShortestPathKernel(form, 1.0 + seed, 0.5, 1.0)
        acquisition = LowerConfidenceBound().given(fitted(space, kernel, 12, seed))
        exclude = {space.key(graph) for graph in observed(space, 12, seed)}
        pool = BranchAndBound(space).optimize(acquisition, 6, exclude)
        oracle = Catalogue(space).optimize(acquisition, 6, exclude)
        assert pool.certificate.status is oracle.certificate.status
        found, expected = ([proposal.lcb for proposal in one] for one in (pool, oracle))
        assert found == pytest.approx(expected, abs=TIES)
        assert all(proposal.graph in space for proposal in pool)
