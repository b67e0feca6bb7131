"""The most of each operation on a path, as columns of a program."""

from __future__ import annotations

import numpy as np
import pytest

from nasgoat import (
    ChainSpace,
    DartsSpace,
    EdgeLabeledSpace,
    GraphGP,
    GraphSpace,
    LowerConfidenceBound,
    NodeLabeledSpace,
)
from nasgoat.formulations import formulate
from nasgoat.formulations.acquisition_model import AcquisitionModel
from nasgoat.kernels.blocks import code_block
from nasgoat.spaces import SearchSpace

SPACES: dict[str, SearchSpace] = {
    "nodes": NodeLabeledSpace(4, ["a", "b"], max_edges=5),
    "edges": EdgeLabeledSpace(3, ["a", "b"]),
    "darts": DartsSpace(4, ["a", "b"]).constrain("depth <= 2"),
    "chains": ChainSpace(3, ["a", "b"]),
    "declared": GraphSpace(3, ["a", "b"], ["x", "y"], "acyclic"),
    "pinned": GraphSpace(3, ["a"], ["x"], "acyclic", fixed={"edges": [[1, 0]]}),
    "ends": GraphSpace(4, ["a"], direction="acyclic", connectivity="paths", sources=1, sinks=1),
}


def model_of(space: SearchSpace, formulation: str) -> AcquisitionModel:
    graphs = space.sample(5, np.random.default_rng(0))
    gp = GraphGP(space, "linear", blocks=("paths", "longest", "shape"))
    gp.fit(graphs, [float(i) for i in range(len(graphs))])
    return formulate(space, LowerConfidenceBound().given(gp), formulation)


@pytest.mark.parametrize(
    ("name", "formulation"),
    [*((name, "compact") for name in SPACES), ("edges", "paper"), ("ends", "paper")],
)
def test_every_graph_satisfies_every_row(name: str, formulation: str) -> None:
    space = SPACES[name]
    model = model_of(space, formulation)
    graphs = [graph for batch in space.enumerate() for graph in batch]
    chosen = np.random.default_rng(1).permutation(len(graphs))[:6]
    assert len(chosen) > 1
    for i in chosen:
        assert model.rows.list_violations(model.encode(graphs[i])) == []


@pytest.mark.parametrize("name", ["nodes", "darts", "declared"])
def test_other_richest_paths_break_a_row(name: str) -> None:
    space = SPACES[name]
    model = model_of(space, "compact")
    tried = 0
    for graph in space.sample(5, np.random.default_rng(0)):
        point = model.encode(graph)
        (own,) = [key for key, value in point.items() if key.startswith("rich") and value == 1.0]
        for other in [key for key in point if key.startswith("rich") and key != own][:4]:
            changed = point | {own: 0.0, other: 1.0}
            assert any("richest" in row.row for row in model.rows.list_violations(changed))
            mixed = point | {own: 0.5, other: 0.5}
            assert any("richest" in row.row for row in model.rows.list_violations(mixed))
            tried += 1
    assert tried > 5


@pytest.mark.parametrize("name", ["nodes", "declared"])
def test_codes_are_sums_of_columns(name: str) -> None:
    """The paper's formulation has each code as a variable."""
    space = SPACES[name]
    model = model_of(space, "paper")
    for graph in space.sample(4, np.random.default_rng(2)):
        code = code_block("longest", space)
        wanted = code.encode(code.count(space.batch([graph])))[0].tolist()
        point = model.encode(graph)
        found = [point[f"code({j})"] for j in range(sum(model.features.widths[3:]))]
        names = list(model.features.codes)
        assert names == ["shape", "longest"]
        assert found[-len(wanted) :] == wanted
