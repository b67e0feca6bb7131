"""What a search of a front would find that knew every other cell of the table beforehand.

    python benchmarks/front_ceiling.py "nb201/cifar10+pixel3: error, latency"

Without a problem those of experiments/fronts.toml are taken, some three minutes of a core each. The
kernels of the default are fitted to the whole table, and each cell is predicted from all others in
closed form (leave-one-out), its noise included. With these 9,279 trainings behind every prediction,
160 cells are then chosen one by one, by the largest gain of hypervolume over the cells chosen so
far, and once more in the order of the layers of the predicted front. What they miss after 50, 100
and 160 cells is no matter of learning: those cells came out better than cells like them. No search
that starts with ten cells can be expected to have more.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dtrtri

from nasgoat.acquisition import random_problem
from nasgoat.acquisition.hypervolume import HypervolumeImprovement, find_nondominated
from nasgoat.bayesopt.evidence import (
    CANDIDATES,
    COST_CANDIDATES,
    PATH_CANDIDATES,
    Candidate,
    sees_lengths,
)
from nasgoat.bayesopt.front import hypervolume
from nasgoat.graphs import LabeledGraph
from nasgoat.surrogate import GraphGP
from nasgoat.surrogate.model_check import leave_one_out

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.front_limits import World
from benchmarks.several import POINTS, list_problems

Array = NDArray[np.float64]
Prediction = tuple[Array, Array]


def predict_from_others(
    world: World, graphs: Sequence[LabeledGraph], values: Array, candidates: Sequence[Candidate]
) -> Prediction:
    """Mean and deviation of each value given all others, by the candidate with the least error."""
    center, spread = values.mean(), values.std()
    found: list[Prediction] = []
    for candidate in candidates:
        gp = GraphGP(world.space, target="plain", standardize=False, **candidate.options)
        gp.fit(graphs, ((values - center) / spread).tolist())
        inverse, _ = dtrtri(gp.gpr_.L_, lower=1)
        diagonal = np.einsum("ij,ij->j", inverse, inverse)
        mean, std = leave_one_out(gp.targets_, gp.gpr_.alpha_, diagonal)
        found.append((center + spread * mean, spread * std))
    return min(found, key=lambda pair: float(np.mean((pair[0] - values) ** 2)))


def choose_by_gains(world: World, mean: Array, std: Array, values: Array) -> list[int]:
    """Cells one by one, each with the largest expected gain over what those before came out as."""
    # What is known is given below: the surrogates of these parts are never asked.
    parts = [random_problem(world.space, 5, seed=0).acquisition] * 2
    reference, chosen = world.arena.reference, list[int]()
    while len(chosen) < POINTS[-1]:
        gain = HypervolumeImprovement(parts, values[chosen], reference).combine(mean, std)
        gain[chosen] = np.inf
        chosen.append(int(gain.argmin()))
    return chosen


def choose_by_layers(mean: Array) -> list[int]:
    """Cells in the order of the layers of their predicted front."""
    left, chosen = np.arange(mean.shape[1]), list[int]()
    while len(chosen) < POINTS[-1]:
        layer = find_nondominated(mean[:, left].T)
        chosen += left[layer].tolist()
        left = np.delete(left, layer)
    return chosen


def measure(text: str) -> list[list[float]]:
    """Relative hypervolumes after some numbers of cells, by gains and by layers."""
    world = World(text)
    known = world.values.keys()
    graphs = [g for batch in world.space.enumerate() for g in batch if world.space.key(g) in known]
    values = np.array([world.values[world.space.key(graph)] for graph in graphs])
    errors = PATH_CANDIDATES[:1] if sees_lengths(world.space) else CANDIDATES[:3]
    pairs = [
        predict_from_others(world, graphs, values[:, 0], errors),
        predict_from_others(world, graphs, values[:, 1], COST_CANDIDATES),
    ]
    mean, std = (np.array(column) for column in zip(*pairs, strict=True))
    arena = world.arena
    return [
        [hypervolume(values[order[:count]], arena.reference) / arena.volume for count in POINTS]
        for order in (choose_by_gains(world, mean, std, values), choose_by_layers(mean))
    ]


def main() -> None:
    """Print a row for each problem."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("problems", nargs="*", default=list_problems())
    print(f"| problem | by gains after {' / '.join(map(str, POINTS))} | by layers |\n|---|---|---|")
    for text in parser.parse_args().problems:
        cells = [" / ".join(f"{volume:.3f}" for volume in volumes) for volumes in measure(text)]
        print(f"| {text} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
