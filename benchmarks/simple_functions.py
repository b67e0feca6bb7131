"""Searches of functions that a surrogate has little or nothing to say about, beside random ones.

For each kind of space and each function it prints how the proposals after the initial design
compare with random graphs after the same design, seed by seed: the mean of the differences with its
standard error (negative is better than random), of the proposals' mean error and of the best error
found. Random graphs are drawn from the list of all of them, each as likely as any other; with
``--against sampled`` as a search of random graphs draws them, where sparse ones are more likely.
The last line says which means are above 0 by more than two standard errors.

``--settings`` names what is searched with; ``exponential:branch`` and the like stand for another
acquisition optimiser than the catalogue. ``--records FILE`` keeps every run and goes on where the
file stops; ``--show`` prints what it holds and runs nothing. With ``--noise 0.5`` each evaluation
has normal noise of that standard deviation, and searches repeat evaluations; what counts is the
function itself, at graphs that were not proposed before; such runs need a FILE of their own.
"""

from __future__ import annotations

import argparse
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

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
    "readme": NodeLabeledSpace((2, 7), OPS, max_edges=9),
    "edges": nasbench201(),
    "darts-like": DartsSpace(5, OPS),
    "molecules": GraphSpace(
        (1, 5), ["C", "N", "O"], ["single", "double"], "undirected", "connected",
        degree={"C": (0, 4), "N": (0, 3), "O": (0, 2)}, edge_weights={"double": 2},
    ),
}  # fmt: skip
KINDS = ["nodes", "edges", "darts-like", "molecules"]  # by default; the README's takes longer
SETTINGS: Mapping[str, Settings] = {
    "default": Settings(),
    "exponential": Settings(kernel="exponential"),
    "blocks": Settings(kernel="exponential", blocks=tuple(block_names()), priors=True),
    "normalised": Settings(kernel="normalised", blocks=tuple(block_names()), priors=True),
    "evidence": Settings(kernel="evidence"),
    "together": Settings(kernel="together"),
    "explore-1": Settings(explore=1),
    "explore-3": Settings(explore=3),
    "explore-4": Settings(explore=4),
    "explore-5": Settings(explore=5),
    "linear-explore-3": Settings(kernel="linear", explore=3),
}

Values = NDArray[np.float64]
INITIAL = 10  # random graphs, the same for both


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


def run(
    table: Table, y: Values, name: str, seed: int, evaluations: int, noise: float
) -> dict[str, float]:
    """Mean error of the proposals and lowest error, of a search and of random graphs."""
    kernel, _, named = name.partition(":")
    settings = SETTINGS[kernel]
    if noise:
        settings = replace(settings, repeats=Settings.preset("default", noisy=True).repeats)
    optimizer = Optimizer(table.space, settings, named or table.catalogue, INITIAL, seed, None)
    luck = np.random.default_rng([seed, 780])
    places: list[int] = []
    while len(places) < evaluations and (proposals := optimizer.ask(5 if places else INITIAL)):
        for proposal in proposals:
            places.append(table.places[table.space.key(proposal.graph)])
            error = float(y[places[-1]])
            optimizer.tell(proposal.graph, error + luck.normal(0.0, noise) if noise else error)
    first = places[:INITIAL]
    told = [float(y[place]) for place in dict.fromkeys(places)]
    others = np.setdiff1d(np.arange(len(y)), first)
    rng = np.random.default_rng([seed, 778])
    drawn = y[rng.choice(others, min(evaluations - INITIAL, len(others)), replace=False)]
    sampled = draw_sampled(table, y, seed, first, evaluations - INITIAL)
    return {
        "mean": float(np.mean(told[INITIAL:])),
        "best": min(told),
        "random mean": float(drawn.mean()),
        "random best": float(min(*told[:INITIAL], *drawn)),
        "sampled mean": float(sampled.mean()),
        "sampled best": float(min(*told[:INITIAL], *sampled)),
    }


def draw_sampled(table: Table, y: Values, seed: int, first: Sequence[int], count: int) -> Values:
    """The values of graphs as a search of random graphs draws them, after the first ones."""
    taken = {key for key, place in table.places.items() if place in {*first}}
    graphs = table.space.sample(count, np.random.default_rng([seed, 779]), taken)
    return y[[table.places[table.space.key(graph)] for graph in graphs]]


def _check_name(text: str) -> str:
    """Settings by their name, and after a colon an acquisition optimiser."""
    if text.partition(":")[0] not in SETTINGS:
        raise argparse.ArgumentTypeError(f"must be one of {', '.join(SETTINGS)}, got {text!r}")
    return text


def compare(
    runs: Sequence[Mapping[str, float]], what: str, against: str = "random"
) -> tuple[float, float]:
    """Mean difference to random graphs and its standard error."""
    differences = np.array([run[what] - run[f"{against} {what}"] for run in runs])
    spread = differences.std(ddof=1) if len(differences) > 1 else 0.0
    return float(differences.mean()), float(spread / np.sqrt(len(differences)))


def read(path: Path | None) -> dict[tuple[str, str, str, int], dict[str, float]]:
    """The runs that a file holds, by space, function, settings and seed."""
    if path is None or not path.exists():
        return {}
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return {(kind, function, name, seed): found for kind, function, name, seed, found in lines}


def show(given: argparse.Namespace, kept: Mapping[tuple[str, str, str, int], Any]) -> None:
    """A line for each space, function and settings."""
    worse = []
    print("| space | function | settings | seeds | mean of proposals | best found |")
    print("|---|---|---|---|---|---|")
    for kind, function, name in product(given.spaces, given.functions, given.settings):
        seeds = range(*given.seeds)
        runs = [kept[kind, function, name, s] for s in seeds if (kind, function, name, s) in kept]
        if not runs:
            continue
        cells = []
        for what in ("mean", "best"):
            difference, error = compare(runs, what, given.against)
            cells.append(f"{difference:+.3f} ± {error:.3f}")
            if difference > 2 * error:
                worse.append(f"{kind}, {function}, {name} ({what})")
        print(f"| {kind} | {function} | {name} | {len(runs)} | {' | '.join(cells)} |")
    print(f"\nworse than random by more than two standard errors: {'; '.join(worse) or 'none'}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs=2, default=(0, 20), metavar=("FIRST", "END"))
    parser.add_argument("--evaluations", type=int, default=40)
    parser.add_argument("--settings", nargs="+", type=_check_name, default=["evidence"])
    parser.add_argument("--spaces", nargs="+", choices=SPACES, default=KINDS)
    parser.add_argument("--functions", nargs="+", choices=FUNCTIONS, default=list(FUNCTIONS))
    parser.add_argument("--against", choices=("random", "sampled"), default="random")
    parser.add_argument("--noise", type=float, default=0.0, help="its standard deviation")
    parser.add_argument("--records", type=Path, help="a file of JSON lines, one a run")
    parser.add_argument("--show", action="store_true", help="run nothing")
    given = parser.parse_args()
    logging.disable(logging.WARNING)
    kept = read(given.records)
    for kind in () if given.show else given.spaces:
        table = Table(SPACES[kind])
        for seed, function, name in product(range(*given.seeds), given.functions, given.settings):
            if (key := (kind, function, name, seed)) in kept:
                continue
            y = table.values(function, seed)
            kept[key] = run(table, y, name, seed, given.evaluations, given.noise)
            if given.records:
                with given.records.open("a") as file:
                    file.write(json.dumps([*key, kept[key]]) + "\n")
    show(given, kept)


if __name__ == "__main__":
    main()
