"""Searches of functions that a good surrogate has little or nothing to say about.

For each kind of space and each function it prints how the proposals after the initial design
compare with random graphs: the mean of their errors less the mean over the whole space (negative is
better than random), with its standard error over seeds, and how far the best found is from the
optimum. ``--settings`` names what is searched with; ``random`` draws instead of searching.
"""

from __future__ import annotations

import argparse
import json
import logging
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nasgoat import (
    Catalogue,
    DartsSpace,
    GraphBatch,
    GraphSpace,
    NodeLabeledSpace,
    Optimizer,
    SearchSpace,
    Settings,
    nasbench201,
)
from nasgoat.kernels import block_names
from nasgoat.kernels.graph_counts import count_shape

OPS = ["conv3", "conv1", "pool"]
SPACES: Mapping[str, SearchSpace] = {
    "nodes": NodeLabeledSpace((2, 6), OPS, max_edges=9),
    "edges": nasbench201(),
    "darts-like": DartsSpace(5, OPS),
    "molecules": GraphSpace(
        (1, 5), ["C", "N", "O"], ["single", "double"], "undirected", "connected",
        degree={"C": (0, 4), "N": (0, 3), "O": (0, 2)}, edge_weights={"double": 2},
    ),
}  # fmt: skip
SETTINGS: Mapping[str, Settings] = {
    "exponential": Settings(kernel="exponential"),
    "blocks": Settings(kernel="exponential", blocks=tuple(block_names()), priors=True),
    "normalised": Settings(kernel="normalised", blocks=tuple(block_names()), priors=True),
    "evidence": Settings(kernel="evidence"),
}

Values = NDArray[np.float64]


class Table:
    """Every graph of a space with its shape."""

    def __init__(self, space: SearchSpace) -> None:
        self.space, self.catalogue = space, Catalogue(space, None)
        batches = list(space.enumerate())
        self.places = {
            space.key(graph): i for i, graph in enumerate(g for batch in batches for g in batch)
        }
        shapes = [self._describe(batch) for batch in batches]
        self.depth, self.nodes, self.edges = np.concatenate(shapes).T

    def _describe(self, batch: GraphBatch) -> NDArray[np.int64]:
        depth = count_shape(self.space, batch)[:, 0]
        return np.stack([depth, batch.sizes.astype(np.int64), batch.edge_counts], axis=1)

    def values(self, name: str, seed: int) -> Values:
        """A function's value of every graph."""
        rng = np.random.default_rng([seed, 777])
        few = 6 if isinstance(self.space, NodeLabeledSpace) else int(np.median(self.edges))
        drawn = rng.standard_normal((2, 1 + int(max(self.edges.max(), self.depth.max()))))
        functions: Mapping[str, Callable[[], Values]] = {
            "5 + abs(edges - 6)": lambda: 5.0 + abs(self.edges - few),
            "abs(edges - 6)": lambda: abs(self.edges - few).astype(float),
            "number of nodes": lambda: self.nodes.astype(float),
            "depth": lambda: 3 + abs(self.depth - np.median(self.depth)) + 0.1 * self.edges,
            "label-blind": lambda: drawn[0][self.edges] + drawn[1][self.depth],
            "constant": lambda: np.ones(len(self.edges)),
            "noise": lambda: rng.standard_normal(len(self.edges)),
            "needle": lambda: (np.arange(len(self.edges)) != rng.integers(len(self.edges))) * 1.0,
        }
        return functions[name]()


FUNCTIONS = (
    "5 + abs(edges - 6)", "abs(edges - 6)", "number of nodes", "depth", "label-blind", "constant",
    "noise", "needle",
)  # fmt: skip


def run(table: Table, y: Values, name: str, seed: int, evaluations: int) -> tuple[float, float]:
    """Mean of the proposals less that of the space, and best found less the optimum."""
    if name == "random":
        rng = np.random.default_rng([seed, 778])
        errors = y[rng.choice(len(y), min(evaluations, len(y)), replace=False)]
    else:
        optimizer = Optimizer(table.space, SETTINGS[name], table.catalogue, 10, seed, None)
        told: list[float] = []
        while len(told) < evaluations and (proposals := optimizer.ask(5 if told else 10)):
            for proposal in proposals:
                told.append(float(y[table.places[table.space.key(proposal.graph)]]))
                optimizer.tell(proposal.graph, told[-1])
        errors = np.array(told)
    return float(errors[10:].mean() - y.mean()), float(errors.min() - y.min())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs=2, default=(0, 20), metavar=("FIRST", "END"))
    parser.add_argument("--evaluations", type=int, default=40)
    parser.add_argument("--settings", nargs="+", default=["exponential", "blocks"])
    parser.add_argument("--spaces", nargs="+", choices=SPACES, default=list(SPACES))
    parser.add_argument("--functions", nargs="+", choices=FUNCTIONS, default=list(FUNCTIONS))
    parser.add_argument("--records", type=Path, help="a file to add one line of JSON a run to")
    given = parser.parse_args()
    logging.disable(logging.WARNING)
    names = [*given.settings, "random"]
    print(f"mean of proposals less mean of the space ± standard error (best less optimum); "
          f"seeds {given.seeds[0]} to {given.seeds[1] - 1}")  # fmt: skip
    for kind in given.spaces:
        table = Table(SPACES[kind])
        print(f"\n{kind}: {len(table.places):,} graphs")
        for function in given.functions:
            line = [f"{function:20}"]
            for name in names:
                found = []
                for seed in range(*given.seeds):
                    y = table.values(function, seed)
                    found.append(run(table, y, name, seed, given.evaluations))
                    if given.records:
                        with given.records.open("a") as file:
                            file.write(json.dumps([kind, function, name, seed, *found[-1]]) + "\n")
                means, gaps = np.array(found).T
                error = means.std(ddof=1) / np.sqrt(len(means)) if len(means) > 1 else 0.0
                line.append(f"{name} {means.mean():+.2f} ± {error:.2f} ({gaps.mean():.2f})")
            print("  ".join(line), flush=True)


if __name__ == "__main__":
    main()
