"""Properties of small molecules: nasgoat against random and evolutionary searches.

For each number of heavy atoms and each method it prints the mean over seeds of the best value after
so many evaluations, its standard error, and, for drug-likeness (QED), how many seeds reach the best
molecule of that size in QM9. ``mutation`` is nasgoat with mutated graphs as candidates instead of
an exact optimiser, ``spread`` nasgoat with that batch strategy. The genetic algorithm is the usual
one on molecular graphs (Jensen, Chemical Science 2019): parents are chosen by rank; a child
joins one part of each by a bond, or is a mutated parent. Runs that are in the folder are not
repeated; ``--optimum`` lists all molecules of a size.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import networkx
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from examples.molecules import penalised_log_p, qed

from nasgoat import LabeledGraph, SearchSpace, Settings, molecules, run
from nasgoat.acquisition import Proposal
from nasgoat.baselines import Method, propose_heuristically
from nasgoat.bayesopt.settings import CALM_SQRT_BETAS
from nasgoat.search_methods import make_method, register_method

SPREAD = Settings(kernel="evidence", sqrt_betas=CALM_SQRT_BETAS, batch_strategy="spread")
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "goat": ("goat", {}),
    "spread": ("goat", {"settings": SPREAD}),
    "mutation": ("goat", {"optimizer": "mutation"}),
    "evolution": ("evolution", {}),
    "graph GA": ("graph-ga", {}),
    "random": ("random", {}),
}
OBJECTIVES = {"qed": qed, "penalised_log_p": penalised_log_p}
KNOWN = {6: 0.537, 7: 0.573}  # best QED of QM9's molecules of that size
SHOWN = (20, 40, 60)


class GraphGenetic(Method):
    """A genetic algorithm on molecular graphs of one size.

    The population is the best twenty so far. A child joins, by a single bond, a part of each of two
    parents, cut at bonds in no ring; half of the children are mutated too, and where no two parts
    fit a parent is.
    """

    batch = 1
    population = 20
    mutated = 0.5
    tries = 50

    def _choose(self, k: int, taken: set[bytes], rng: np.random.Generator) -> list[Proposal]:
        members, seen = self._best(self.population), set(taken)
        weights = 1.0 / np.arange(1.0, len(members) + 1)
        found: list[Proposal] = []
        for _ in range(self.tries * k):
            first, second = rng.choice(len(members), 2, p=weights / weights.sum())
            child = self._cross(members[first], members[second], rng)
            if child is None or rng.random() < self.mutated:
                child = self.space.mutate(members[first] if child is None else child, rng)
            if self.space.key(child) not in seen:
                seen.add(self.space.key(child))
                found.append(propose_heuristically(child))
            if len(found) == k:
                break
        return found

    def _cross(
        self, one: LabeledGraph, two: LabeledGraph, rng: np.random.Generator
    ) -> LabeledGraph | None:
        """A molecule of a part of each, or None if none is in the space."""
        pairs = [
            (a, b)
            for a in _cut_once(one)
            for b in _cut_once(two)
            if len(a) + len(b) in self.space.sizes
        ]
        for place in rng.permutation(len(pairs)):
            child = _join(one, pairs[place][0], two, pairs[place][1])
            if child in self.space:
                return child
        return None


def _cut_once(graph: LabeledGraph) -> Iterator[list[int]]:
    """The parts of a molecule on either side of a bond in no ring, the atom at the bond first."""
    linked = networkx.Graph(graph.edges)
    for u, v in list(networkx.bridges(linked)):
        linked.remove_edge(u, v)
        for atom in (u, v):
            yield [atom, *sorted(networkx.node_connected_component(linked, atom) - {atom})]
        linked.add_edge(u, v)


def _join(one: LabeledGraph, a: list[int], two: LabeledGraph, b: list[int]) -> LabeledGraph:
    """Two parts with a single bond between their first atoms."""
    labels: list[str] = []
    bonds = {(0, len(a)): "single"}
    for graph, part in ((one, a), (two, b)):
        place = {atom: i + len(labels) for i, atom in enumerate(part)}
        kept = (graph.edge_labels or {}).items()
        bonds |= {(place[u], place[v]): x for (u, v), x in kept if u in place and v in place}
        labels += [(graph.node_labels or ())[atom] for atom in part]
    return LabeledGraph.from_edges(
        len(labels), list(bonds), labels, list(bonds.values()), directed=False
    )


def run_seed(
    name: str, space: SearchSpace, objective: str, seed: int, evaluations: int
) -> list[float]:
    """The value of every molecule that a method evaluates, in turn."""
    method, options = METHODS[name]
    asker = make_method(method, space, 10, seed, evaluations, **options)
    result = run(asker, OBJECTIVES[objective], evaluations=evaluations, batch=5)
    return [float(evaluation.metrics[objective]) for evaluation in result.evaluations]


def show(found: dict[str, dict[str, list[float]]], atoms: int, objective: str) -> None:
    """The table of one size."""
    known = KNOWN.get(atoms, np.inf) if objective == "qed" else np.inf
    print(f"{objective}, {atoms} heavy atoms; best of QM9's of that size {known:.3f}")
    print(f"{'':14}" + "".join(f"{f'after {t}':>17}" for t in SHOWN) + f"{'as good as QM9':>17}")
    for name, runs in found.items():
        curves = np.array([np.maximum.accumulate(values) for values in runs.values()])
        kept = [t for t in SHOWN if t <= curves.shape[1]]
        error = curves.std(axis=0, ddof=1) / np.sqrt(len(curves)) if len(curves) > 1 else curves[0]
        said = [f"{curves[:, t - 1].mean():.3f} ({error[t - 1]:.3f})" for t in kept]
        reached = int((curves[:, -1] >= known - 5e-4).sum())
        row = [*said, f"{reached} of {len(curves)}"]
        print(f"{name:14}" + "".join(f"{text:>17}" for text in row))


def list_all(atoms: int, objective: str) -> None:
    """The best molecules of all of a size."""
    values: dict[str, float] = {}
    for batch in molecules(atoms).enumerate():
        for graph in batch:
            metrics = OBJECTIVES[objective](graph)
            values[str(metrics["smiles"])] = float(metrics[objective])
    best = sorted(values, key=lambda smiles: -values[smiles])[:5]
    said = ", ".join(f"{smiles} {values[smiles]:.3f}" for smiles in best)
    print(f"{atoms} heavy atoms, {len(values):,} molecules; the best: {said}")


def main() -> None:
    """Run what is missing, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--atoms", type=int, nargs="*", default=[6, 7])
    parser.add_argument("--seeds", default="0:10", help="first:last, the last not included")
    parser.add_argument("--methods", nargs="*", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--objective", default="qed", choices=list(OBJECTIVES))
    parser.add_argument("--rings", type=int, help="at most so many rings, for every method")
    parser.add_argument("--evaluations", type=int, default=60)
    parser.add_argument("--folder", type=Path, default=Path("runs/molecules"))
    parser.add_argument("--optimum", action="store_true", help="list all molecules instead")
    options = parser.parse_args()
    register_method("graph-ga", GraphGenetic, "genetic algorithm on molecular graphs")
    options.folder.mkdir(parents=True, exist_ok=True)
    for atoms in options.atoms:
        if options.optimum:
            list_all(atoms, options.objective)
            continue
        space, rings = molecules(atoms), options.rings
        if rings is not None:  # a tree of n atoms has n - 1 bonds, each further one closes a ring
            space = space.constrain(f"edges <= {atoms - 1 + rings}")
        said = "" if rings is None else f"-rings{rings}"
        path = options.folder / f"{options.objective}-{atoms}-{options.evaluations}{said}.json"
        found = json.loads(path.read_text()) if path.exists() else {}
        for seed in range(*map(int, options.seeds.split(":"))):
            for name in options.methods:
                runs = found.setdefault(name, {})
                if str(seed) not in runs:
                    runs[str(seed)] = run_seed(
                        name, space, options.objective, seed, options.evaluations
                    )
                    path.write_text(json.dumps(found))
        show({name: found[name] for name in options.methods}, atoms, options.objective)


if __name__ == "__main__":
    main()
