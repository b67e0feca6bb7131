"""Optuna's samplers, which know nothing of graphs, on a space as a list of categorical parameters.

What a user of Optuna gets without telling it of graphs: the tree-structured Parzen estimator
(``TPESampler``) and the Gaussian process (``GPSampler``, needs PyTorch), with their defaults.

Where edges carry the labels, each pair u < v has one parameter: no edge, or an operation. Where
nodes carry them, each pair has a parameter (edge or not) and each inner node one (its operation);
nodes on no path from first to last are dropped. Not every choice is a graph of the space.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, cast

import numpy as np
import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution
from optuna.trial import TrialState, create_trial

from nasgoat.acquisition import Proposal
from nasgoat.baselines import Method, propose_heuristically
from nasgoat.baselines.encodings import arrange
from nasgoat.errors import SettingError
from nasgoat.graphs import LabeledGraph
from nasgoat.graphs.conversions import Slots, drop_idle_nodes
from nasgoat.progress import quieten_optuna
from nasgoat.spaces import CellSpace, SearchSpace

NOTHING = "none"
_EDGE = "edge"

Choice = dict[str, str]
Question = tuple[Choice, Callable[[float | None], None]]
Ask = Callable[[], Question]


@dataclass(frozen=True)
class CategoricalSpace:
    """The parameters of a space, and the way to graphs and back.

    Example:
        >>> from nasgoat import nasbench201
        >>> encoded = CategoricalSpace(nasbench201())
        >>> len(encoded.parameters), encoded.parameters["0>1"][:3]
        (6, ('none', 'skip_connect', 'nor_conv_1x1'))
        >>> cell = nasbench201().from_digits([1, 2, 3, 4, 0, 1])
        >>> encoded.decode(encoded.encode(cell)) == cell
        True
    """

    space: SearchSpace

    def __post_init__(self) -> None:
        if self.space.layout == "graph":
            raise SettingError(
                "methods on categorical parameters must have a space of cells, got "
                f"{self.space.describe()}; use another method"
            )

    @cached_property
    def places(self) -> tuple[tuple[int, int], ...]:
        """The pairs with a parameter: all u < v, or those of the one structure of each size."""
        n = self.space.sizes[-1]
        if self._one_structure:
            return tuple(self.space.edge_places(n))
        return tuple((u, v) for u in range(n) for v in range(u + 1, n))

    @cached_property
    def parameters(self) -> dict[str, tuple[str, ...]]:
        """Each parameter's choices by its name."""
        n = self.space.sizes[-1]
        needed = self._one_structure and len(self.space.sizes) == 1
        choices = self._edge_choices[1:] if needed else self._edge_choices
        found = {f"{u}>{v}": choices for u, v in self.places}
        if self._one_structure and self.space.edge_vocabulary:
            found = self._keep_to_choices(found)
        if self.space.node_vocabulary:
            found |= {f"node {v}": self.space.node_vocabulary[1:-1] for v in range(1, n - 1)}
        return found

    @cached_property
    def distributions(self) -> dict[str, BaseDistribution]:
        """The parameters as Optuna takes them."""
        choices = self.parameters.items()
        return {name: CategoricalDistribution(values) for name, values in choices}

    def encode(self, graph: LabeledGraph) -> Choice:
        """The choices that decode to the graph; idle nodes take the first operation."""
        batch = arrange(self.space, [graph])
        choice = {name: choices[0] for name, choices in self.parameters.items()}
        for u, v in self.places:
            if batch.adjacency[0, u, v]:
                code = batch.edge_codes[0, u, v] if batch.edge_codes is not None else 0
                choice[f"{u}>{v}"] = self._edge_choices[int(code) + 1]
        if batch.node_codes is not None:
            for v in range(1, batch.n - 1):
                if (code := int(batch.node_codes[0, v])) >= 0:
                    choice[f"node {v}"] = self.space.node_vocabulary[code]
        return choice

    def decode(self, choice: Mapping[str, str]) -> LabeledGraph | None:
        """The graph of some choices, or None if the space has no such graph."""
        digits = [self._edge_choices.index(str(choice[f"{u}>{v}"])) for u, v in self.places]
        n, vocabulary = self.space.sizes[-1], self.space.node_vocabulary
        if not vocabulary:  # nodes behind the last edge are left out where the space may do so
            heads = [v for (_, v), digit in zip(self.places, digits, strict=True) if digit]
            graph = self._slots.decode(1 + max([self.space.sizes[0] - 1, *heads]), digits)
        else:
            inner = [vocabulary.index(str(choice[f"node {v}"])) for v in range(1, n - 1)]
            whole = self._slots.decode(n, digits, [0, *inner, len(vocabulary) - 1])
            graph = drop_idle_nodes(whole)
        return graph if graph in self.space else None

    @cached_property
    def _one_structure(self) -> bool:
        """Whether all cells of a size have the same edges, as in a chain."""
        return all(self.space.structure_bound(n) == 1 for n in self.space.sizes)

    def _keep_to_choices(self, found: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
        """The parameters without operations that the edges of the one structure never have."""
        space = cast(CellSpace, self.space)
        matrix = next(space.structures(space.sizes[-1]))[0]
        own = [{NOTHING, *(space.ops[c] for c in codes)} for codes in space.choices(matrix)]
        pairs = zip(found.items(), own, strict=True)
        return {name: tuple(c for c in choices if c in fits) for (name, choices), fits in pairs}

    @cached_property
    def _edge_choices(self) -> tuple[str, ...]:
        return (NOTHING, *(self.space.edge_vocabulary or (_EDGE,)))

    @cached_property
    def _slots(self) -> Slots:
        return self.space.slots(self.places)


class CategoricalSearch(Method):
    """Another package's optimiser over the categorical encoding.

    A choice that is no graph of the space is told as infeasible, one that was evaluated before is
    told its known error, and the optimiser is asked again: nothing is evaluated twice. After
    ``tries`` such choices a new graph one change from the last of them is taken.
    """

    batch: ClassVar[int] = 1
    #: Choices for each wanted graph before one is repaired; few where each takes a new fit.
    tries: ClassVar[int] = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        # Now, not at the first proposal: a space without an encoding is refused before anything
        # is evaluated.
        self.encoded = CategoricalSpace(self.space)

    def _collect(
        self, k: int, taken: set[bytes], rng: np.random.Generator, ask: Ask
    ) -> list[Proposal]:
        """Up to k new graphs; each question of the optimiser comes with a way to answer it."""
        graphs, errors = self._data()
        known = {self.space.key(g): float(e) for g, e in zip(graphs, errors, strict=True)}
        taken = set(taken)
        found: list[Proposal] = []
        for _ in range(k):
            graph = self._find_next(taken, known, rng, ask)
            if graph is None:
                break  # random graphs fill what is left
            taken.add(self.space.key(graph))
            found.append(propose_heuristically(graph))
        return found

    def _find_next(
        self, taken: set[bytes], known: dict[bytes, float], rng: np.random.Generator, ask: Ask
    ) -> LabeledGraph | None:
        """The next new graph, or None if there is none even near the optimiser's last choice."""
        choice: Choice = {}
        for _ in range(self.tries):
            choice, answer = ask()
            graph = self.encoded.decode(choice)
            key = None if graph is None else self.space.key(graph)
            if key is None:
                answer(None)
            elif key not in taken:
                return graph
            elif key in known:
                answer(known[key])
        near = [  # one change from the last choice
            self.encoded.decode({**choice, name: value})
            for name, values in self.encoded.parameters.items()
            for value in values
            if value != choice[name]
        ]
        new = [graph for graph in near if graph is not None and self.space.key(graph) not in taken]
        return new[rng.integers(len(new))] if new else None


class OptunaTpe(CategoricalSearch):
    """Optuna's tree-structured Parzen estimator."""

    sampler: ClassVar[Callable[..., optuna.samplers.BaseSampler]] = optuna.samplers.TPESampler

    tries: ClassVar[int] = 50
    #: Whether an infeasible choice is told the worst error so far, or as a pruned trial.
    infeasible_is_worst: ClassVar[bool] = False

    def _choose(self, k: int, taken: set[bytes], rng: np.random.Generator) -> list[Proposal]:
        with quieten_optuna(), warnings.catch_warnings():
            # GPSampler announces that it is experimental; there is nothing to do about it.
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            study = self._make_study(int(rng.integers(2**31)))
            return self._collect(k, taken, rng, lambda: self._ask_optimizer(study))

    def _make_study(self, seed: int) -> optuna.Study:
        """A study that holds every observation."""
        study = optuna.create_study(sampler=type(self).sampler(seed=seed))
        spaces = self.encoded.distributions
        for graph, error in zip(*self._data(), strict=True):
            choice = self.encoded.encode(graph)
            study.add_trial(create_trial(params=choice, distributions=spaces, value=float(error)))
        return study

    def _ask_optimizer(self, study: optuna.Study) -> Question:
        trial = study.ask(self.encoded.distributions)

        def answer(error: float | None) -> None:
            if error is None and not self.infeasible_is_worst:
                study.tell(trial, state=TrialState.PRUNED)
            else:
                study.tell(trial, max(self._errors) if error is None else error)

        return trial.params, answer


class OptunaGp(OptunaTpe):
    """Optuna's Gaussian process sampler.

    It takes no notice of pruned trials and would suggest the same infeasible choice for ever, so
    that infeasible choices are told the worst error.
    """

    tries: ClassVar[int] = 1
    infeasible_is_worst: ClassVar[bool] = True
    sampler: ClassVar[Callable[..., optuna.samplers.BaseSampler]] = optuna.samplers.GPSampler
