"""What a search of a front misses, and what it would find if one of the values were known.

    python benchmarks/front_limits.py --seeds 0 2 --out runs.jsonl
    python benchmarks/front_limits.py "nb201/cifar10+pixel3: error, latency" --seeds 0 4
    python benchmarks/front_limits.py --seeds 8000 8010 --known nothing --in-turn

Without a problem those of experiments/fronts.toml are taken. Three searches by the exponential
kernel alone for each problem and seed: as it is; with the second value of every cell known
beforehand, as if its model were perfect; and with the error known so. They bound what a better
model of one value can bring. With ``--in-turn`` a fourth: half of the gains of hypervolume come
from a second model of the error, of logarithms instead of ranks
(docs/decisions/0131-what-fronts-miss.md).

The hypervolume that a search misses after 100 and 160 evaluations is split in two ways. By place:
thirds of the true front's range of the second value, and beyond its slowest cell, where only the
lowest error counts. By cause: for each cell of the true front that was not evaluated, would the
predicted values lie on the front that was found if the error, or the other value, were as it is?
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nasgoat import Settings
from nasgoat.acquisition import (
    Catalogue,
    KnownCost,
    Proposal,
    SeveralAcquisition,
    draw_initial_design,
)
from nasgoat.acquisition.hypervolume import find_front
from nasgoat.bayesopt.evidence import Voice
from nasgoat.bayesopt.front import hypervolume
from nasgoat.bayesopt.objectives import Objectives
from nasgoat.bayesopt.several_objectives import SeveralProposer, Told
from nasgoat.experiments.fronts_problem import Arena, FrontProblem
from nasgoat.graphs import GraphBatch, LabeledGraph
from nasgoat.spaces.limits import Limit
from nasgoat.surrogate import GraphGP

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.several import POINTS, collect_rows, list_problems

Array = NDArray[np.float64]
Row = dict[str, Any]
NOTHING, IN_TURN = "nothing", "nothing, two models in turn"
SECOND_TURNS = (2, 5, 9)  # of ten proposals, of which six are gains of hypervolume
PLACES = ("fast third", "middle third", "slow third", "beyond")
CAUSES = ("predicted", "error", "other", "either", "both")


@dataclass(frozen=True, eq=False)
class TableCost(KnownCost):
    """A value that a table knows of every graph."""

    table: dict[bytes, float]

    def measure(self, batch: GraphBatch) -> Array:
        """The value of each graph of a batch."""
        return np.array([self.table[self.space.key(graph)] for graph in batch])


class KnowingProposer(SeveralProposer):
    """The proposer of a search that knows one value beforehand, or has a second model of errors."""

    def __init__(self, costs: dict[str, KnownCost], in_turn: bool, *given: Any) -> None:
        self._given_costs = costs
        super().__init__(*given)
        self.second: GraphGP | None = None
        if in_turn:
            *_, told, fit = given
            errors = [metrics["error"] for metrics in told.metrics]  # logarithms: see World.values
            (voice,) = fit(told.graphs, errors, "plain", "error")
            self.second = gp = voice.surrogate
            scaled = gp.scale_.to_target(np.array(errors))
            self._others = np.column_stack([scaled, self._ranges[:, 1:]])

    def _list_costs(self) -> dict[str, KnownCost]:
        return self._given_costs or super()._list_costs()

    def believe(self, graphs: Sequence[LabeledGraph]) -> None:
        """Take these graphs to come out as predicted, by each model in its own way."""
        if self.second is not None:
            first = self.second.predict(graphs)[0]
            rest = [part.predict(graphs)[0] for part in self.list_parts(0.0)[1:]]
            self._others = np.concatenate([self._others, np.column_stack([first, *rest])])
            self.second = self.second.assume_predicted(graphs)
        super().believe(graphs)

    def _make_function(self, place: int) -> SeveralAcquisition:
        if self.second is None or place % 10 not in SECOND_TURNS:
            return super()._make_function(place)
        kept = self.voices, self._ranges
        self.voices, self._ranges = {**kept[0], "error": [Voice(self.second)]}, self._others
        function = super()._make_function(place)
        self.voices, self._ranges = kept
        return function


class World:
    """A problem with its values on the scale of the hypervolume, and a catalogue of its graphs."""

    def __init__(self, text: str) -> None:
        self.text, self.arena = text, Arena(text)
        self.space, self.names = self.arena.table.space, self.arena.problem.names
        self.catalogue = Catalogue(self.space)
        rng = np.random.default_rng(0)  # tables answer means
        self.values: dict[bytes, Array] = {}  # of the graphs that can be measured
        self.front: list[LabeledGraph] = []
        wanted = {tuple(point) for point in self.arena.front.tolist()}
        for graph in (graph for batch in self.space.enumerate() for graph in batch):
            metrics = self.arena.table.query(graph, rng)
            if self.arena.is_measured(metrics):
                self.values[self.space.key(graph)] = point = self.arena.scale(metrics)
                if tuple(point.tolist()) in wanted:  # one graph for each point
                    wanted.remove(tuple(point.tolist()))
                    self.front.append(graph)

    def find_known(self, known: str) -> dict[str, KnownCost]:
        """The value that a search knows, for every graph; what can't be measured is far off."""
        if known in (NOTHING, IN_TURN):
            return {}
        column = np.array([point[self.names.index(known)] for point in self.values.values()])
        table = dict(zip(self.values, column.tolist(), strict=True))
        keys = (self.space.key(graph) for batch in self.space.enumerate() for graph in batch)
        everywhere = {key: table.get(key, 1e3 * float(column.max())) for key in keys}
        return {known: TableCost(self.space, Limit(f"table of {known}", "<=", 0.0), everywhere)}


class Search:
    """One search: what it was told, and the hypervolume it covers."""

    def __init__(self, world: World, known: str, seed: int) -> None:
        self.world, self.seed = world, seed
        self.costs, self.in_turn = world.find_known(known), known == IN_TURN
        declared = Objectives.of(world.names, (), world.arena.failing_share > 0, world.space)
        self.objectives = replace(declared, known=declared.known or tuple(self.costs))
        self.settings = Settings(acquisition="hypervolume")
        self.told, self.failed = list[LabeledGraph](), list[LabeledGraph]()
        self._tell(draw_initial_design(world.space, 10, seed))

    def __len__(self) -> int:
        return len(self.told) + len(self.failed)

    @property
    def points(self) -> Array:
        """What was measured, on the scale of the hypervolume."""
        return np.array([self.world.values[self.world.space.key(graph)] for graph in self.told])

    def measure(self) -> float:
        """The hypervolume relative to that of the true front."""
        arena = self.world.arena
        return hypervolume(self.points, arena.reference) / arena.volume

    def propose(self) -> KnowingProposer:
        """A proposer that was fitted to all that is known."""
        metrics = [dict(zip(self.world.names, point, strict=True)) for point in self.points]
        told = Told(self.told, metrics, self.failed)
        given = self.world.space, self.objectives, self.settings, told, self._fit
        return KnowingProposer(self.costs, self.in_turn, *given)

    def step(self) -> None:
        """Evaluate a batch of five."""
        proposer = self.propose()
        taken = {self.world.space.key(graph) for graph in (*self.told, *self.failed)}
        found = proposer.propose(5, len(self), taken, self._minimise)
        self._tell([proposal.graph for proposal in found])

    def _tell(self, graphs: Sequence[LabeledGraph]) -> None:
        for graph in graphs:
            known = self.world.space.key(graph) in self.world.values
            (self.told if known else self.failed).append(graph)

    def _fit(
        self, graphs: Sequence[LabeledGraph], values: Sequence[float], target: str, name: str
    ) -> list[Voice]:
        target = "plain" if "error" in self.costs else target  # ranks are for errors
        gp = GraphGP(self.world.space, "exponential", target=target, seed=self.seed)
        return [Voice(gp.fit(graphs, values))]

    def _minimise(self, function: SeveralAcquisition, k: int, out: set[bytes]) -> list[Proposal]:
        return list(self.world.catalogue.optimize(function, k, out))


def split_by_place(search: Search) -> list[float]:
    """The missing hypervolume in each of the places, relative to that of the true front."""
    arena = search.world.arena
    found, true = find_front(search.points), find_front(arena.front)
    right, top = arena.reference
    inside = true[(true < np.array(arena.reference)).all(axis=1), 1]
    starts = [*np.linspace(inside.min(), inside.max(), 4)]
    levels = np.unique(np.concatenate([found[:, 1], true[:, 1], [top]]))
    levels = levels[levels <= top]
    lost = [0.0] * len(PLACES)
    for low, high in pairwise(levels):
        ends = [min([right, *f[f[:, 1] <= low, 0]]) for f in (found, true)]
        place = int(np.clip(np.searchsorted(starts, low, side="right") - 1, 0, 3))
        lost[place] += (ends[0] - ends[1]) * (high - low) / arena.volume
    return lost


def split_by_cause(search: Search) -> list[int]:
    """How many cells of the true front are missing for each of the causes."""
    parts, world = search.propose().list_parts(0.0), search.world
    told = {tuple(point) for point in search.points.tolist()}
    values = [(graph, world.values[world.space.key(graph)].tolist()) for graph in world.front]
    missing = [graph for graph, point in values if tuple(point) not in told]
    counts = dict.fromkeys(CAUSES, 0)
    if not missing:
        return list(counts.values())
    scales = [getattr(getattr(part, "surrogate", None), "scale_", None) for part in parts]

    def to_targets(points: Array) -> Array:
        pairs = zip(points.T, scales, strict=True)
        return np.column_stack([c if s is None else s.to_target(c) for c, s in pairs])

    front = find_front(to_targets(search.points))
    predicted = np.column_stack([part.predict(missing)[0] for part in parts])
    true = to_targets(np.array([world.values[world.space.key(graph)] for graph in missing]))
    for guess, fact in zip(predicted, true, strict=True):
        tried = (guess, (fact[0], guess[1]), (guess[0], fact[1]))
        alone, error, other = ((front > np.array(point)).any(axis=1).all() for point in tried)
        cause = CAUSES[3] if error and other else CAUSES[1] if error else CAUSES[2]
        counts[CAUSES[0] if alone else cause if error or other else CAUSES[4]] += 1
    return list(counts.values())


def run(world: World, known: str, seed: int) -> Row:
    """One search to the end, with what it misses."""
    search, start = Search(world, known, seed), time.process_time()
    row: Row = {"problem": world.text, "known": known, "seed": seed, "volumes": []}
    while len(search) < POINTS[-1]:
        search.step()
        if (count := len(search)) in POINTS:
            row["volumes"].append(round(search.measure(), 5))
        if known == NOTHING and count in POINTS[1:]:
            row[f"places {count}"] = [round(lost, 5) for lost in split_by_place(search)]
            row[f"causes {count}"] = split_by_cause(search)
    return row | {"seconds": round(time.process_time() - start, 2)}


def measure(given: argparse.Namespace, known: list[Row]) -> Iterator[Row]:
    """The runs that are not known yet, seed by seed."""
    done = {(row["problem"], row["known"], row["seed"]) for row in known}
    make = cache(World)
    for seed in range(*given.seeds):
        for text in given.problems:
            names = FrontProblem.parse(text).names
            wanted = [*given.known, *([IN_TURN] if given.in_turn else [])]
            for what in wanted:
                has_cost = text.startswith("macro")  # FLOPs are known as it is
                if (text, what, seed) not in done and not (has_cost and what in names):
                    yield run(make(text), what, seed)


def show(rows: list[Row]) -> None:
    """Means over the seeds: what is found, and what is missed."""
    print("| problem | known | seeds | 50 | 100 | 160 |\n|---|---|---|---|---|---|")
    cases = list(dict.fromkeys((row["problem"], row["known"]) for row in rows))
    for text, known in sorted(cases, key=lambda case: (case[0], case[1] != NOTHING)):
        runs = [r for r in rows if (r["problem"], r["known"]) == (text, known)]
        mean = np.mean([r["volumes"] for r in runs], axis=0)
        print(f"| {text} | {known} | {len(runs)} | {' | '.join(f'{v:.3f}' for v in mean)} |")
    plain = [row for row in rows if row["known"] == NOTHING]
    other = {(r["problem"], r["seed"]): r["volumes"] for r in rows if r["known"] == IN_TURN}
    both = [(r, other[case]) for r in plain if (case := (r["problem"], r["seed"])) in other]
    if len(both) > 1:
        apart = np.array([np.subtract(volumes, row["volumes"]) for row, volumes in both])
        error = apart.std(axis=0, ddof=1) / np.sqrt(len(apart))
        told = [f"{m:+.4f} ± {e:.4f}" for m, e in zip(apart.mean(axis=0), error, strict=True)]
        print(f"\nin turn less as it is, {len(apart)} pairs of runs: {'; '.join(told)}")
    for what, kinds, form in (("places", PLACES, ".4f"), ("causes", CAUSES, ".1f")):
        print(f"\n| problem | after | {' | '.join(kinds)} |\n|---|---|{'---|' * len(kinds)}")
        for text in dict.fromkeys(row["problem"] for row in plain):
            for count in POINTS[1:]:
                kept = [r[f"{what} {count}"] for r in plain if r["problem"] == text]
                mean = np.mean(kept, axis=0)
                print(f"| {text} | {count} | {' | '.join(f'{v:{form}}' for v in mean)} |")


def main() -> None:
    """Search, and print tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("problems", nargs="*", default=list_problems())
    parser.add_argument("--seeds", nargs=2, type=int, default=(0, 2), metavar=("FROM", "TO"))
    known = [NOTHING, "latency", "error"]
    parser.add_argument("--known", nargs="+", default=known, choices=known)
    parser.add_argument("--in-turn", action="store_true", help="two models of the error as well")
    parser.add_argument("--out", type=Path, help="runs are added to this file, and not repeated")
    given = parser.parse_args()
    rows = collect_rows(given.out, partial(measure, given))
    show(rows)


if __name__ == "__main__":
    main()
