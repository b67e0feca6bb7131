"""The graphs of Optuna trials: how they are written and read, and handed to an objective.

A graph is one integer parameter, or a few where one is too small. While a trial runs, a claim says
which graph it will have, so that no two trials get the same.

Notation
    digits   one for the number of nodes, one per node's label, one per possible edge (0: no edge)
    radix    how many values a digit has
A parameter is the number that consecutive digits write in mixed radix. One parameter costs one
write to the storage; one per edge would cost more than the rest of a trial
(docs/decisions/0030-graph-as-integer.md).
"""

from __future__ import annotations

import logging
import reprlib
from collections.abc import Mapping
from difflib import get_close_matches
from functools import cached_property
from itertools import islice
from math import prod
from typing import Any

import numpy as np
import optuna
from optuna.distributions import BaseDistribution, IntDistribution
from optuna.storages import BaseStorage
from optuna.trial import FrozenTrial, TrialState

from nasgoat.acquisition import Proposal
from nasgoat.errors import GraphError, SettingError
from nasgoat.graphs import LabeledGraph, NamedGraphs
from nasgoat.spaces import SearchSpace, load_space

logger = logging.getLogger(__name__)

CLAIM = "proposal"  # trial attribute: the graph it was given, before Optuna knows the parameter
_LARGEST = 2**53  # Optuna stores parameters as double precision numbers


class GraphParameters:
    """Turns the graphs of a space into trial parameters and back.

    Args:
        space: The space.
        name: Name of the parameter; with a number behind it if there are several.

    Example:
        >>> from nasgoat import nasbench201
        >>> parameters = GraphParameters(nasbench201())
        >>> cell = nasbench201().from_digits([1, 0, 2, 3, 0, 4])
        >>> parameters.encode(cell)
        {'graph': 3454}
        >>> parameters.decode({"graph": 3454}) == cell
        True
    """

    def __init__(self, space: SearchSpace, name: str = "graph") -> None:
        self.space = space
        self.name = name
        self._cells = {key: GraphParameters(cell) for key, cell in space.cells.items()}
        n = space.sizes[-1]
        # Acyclic graphs in topological order have edges u → v with u < v alone.
        forward = space.stores_forward_edges or not space.directed
        self._slots = space.slots(
            [(u, v) for v in range(n) for u in range(n) if (u < v if forward else u != v)]
        )

    @cached_property
    def radices(self) -> list[int]:
        """How many values each digit has: nodes, labels of nodes, edges; cell after cell."""
        if self._cells:
            return [radix for cell in self._cells.values() for radix in cell.radices]
        n = self.space.sizes[-1]
        labels = [len(self.space.node_vocabulary)] * n if self.space.node_vocabulary else []
        edges = [len(self.space.edge_vocabulary) + 1 if self.space.edge_vocabulary else 2]
        return [len(self.space.sizes), *labels, *edges * len(self._slots.pairs)]

    @cached_property
    def distributions(self) -> dict[str, BaseDistribution]:
        """The distribution of each parameter."""
        return {name: IntDistribution(0, prod(part) - 1) for name, part in self._parts.items()}

    def encode(self, graph: LabeledGraph) -> dict[str, int]:
        """The parameters of a graph, in topological order if its space is acyclic."""
        digits = iter(self._read_digits(graph))
        parameters = {}
        for name, radices in self._parts.items():
            value = 0
            for radix in radices:
                value = value * radix + next(digits)
            parameters[name] = value
        return parameters

    def decode(self, parameters: Mapping[str, Any]) -> LabeledGraph:
        """The graph of parameters.

        Raises:
            GraphError: If they are not those of a graph of the space.
        """
        digits: list[int] = []
        for name, radices in self._parts.items():
            value = parameters.get(name)
            if not isinstance(value, int) or not 0 <= value < prod(radices):
                raise GraphError(f"{name} must be from 0 to {prod(radices) - 1}, got {value!r}")
            part = []
            for radix in reversed(radices):
                value, digit = divmod(value, radix)
                part.append(digit)
            digits += reversed(part)
        graph = self._build_graph(digits)
        self.space.check(graph)
        return graph

    @cached_property
    def _parts(self) -> dict[str, list[int]]:
        """Radices of each parameter's digits."""
        parts: list[list[int]] = [[]]
        for radix in self.radices:
            if prod(parts[-1]) * radix > _LARGEST:
                parts.append([])
            parts[-1].append(radix)
        if len(parts) == 1:
            return {self.name: parts[0]}
        return {f"{self.name}_{i}": part for i, part in enumerate(parts)}

    def _read_digits(self, graph: LabeledGraph) -> list[int]:
        self.space.check(graph)
        if self._cells:
            return [
                x
                for name, cell in self._cells.items()
                for x in cell._read_digits(graph.cells[name])
            ]
        if self.space.stores_forward_edges and np.tril(graph.adjacency).any():
            graph = graph.sorted_topologically()
        nodes = self._slots.encode_nodes(graph)
        missing = self.space.sizes[-1] - graph.n if self.space.node_vocabulary else 0
        size = self.space.sizes.index(graph.n)
        return [size, *nodes, *[0] * missing, *self._slots.encode_edges(graph)]

    def _build_graph(self, digits: list[int]) -> LabeledGraph:
        if self._cells:
            found, rest = {}, iter(digits)
            for name, cell in self._cells.items():
                found[name] = cell._build_graph(list(islice(rest, len(cell.radices))))
            return NamedGraphs(found)
        n = self.space.sizes[digits[0]]
        labels = self.space.sizes[-1] if self.space.node_vocabulary else 0
        return self._slots.decode(n, digits[1 + labels :], digits[1 : 1 + labels][:n])


def write_claim(storage: BaseStorage, trial: FrozenTrial, proposal: Proposal) -> None:
    """Keep in a running trial which graph it will have, and its certificate.

    One attribute for both: each costs a commit.
    """
    claim = {"graph": proposal.graph.to_json(), "certificate": proposal.certificate.to_dict()}
    storage.set_trial_user_attr(trial._trial_id, CLAIM, claim)


def read_claimed_graph(trial: FrozenTrial) -> LabeledGraph | None:
    """The graph that a running trial will have; None if it has claimed none."""
    if trial.state is not TrialState.RUNNING or CLAIM not in trial.user_attrs:
        return None
    return LabeledGraph.from_json(trial.user_attrs[CLAIM]["graph"])


class TrialGraphs:
    """The graphs of trials, each decoded once, with the keys by which isomorphic ones are equal.

    Args:
        parameters: Turns trial parameters into graphs.
    """

    def __init__(self, parameters: GraphParameters) -> None:
        self._parameters = parameters
        self._decoded: dict[tuple[Any, ...], LabeledGraph] = {}
        self.keys: dict[LabeledGraph, bytes] = {}

    def find(self, trial: FrozenTrial) -> LabeledGraph | None:
        """The graph of a trial, from its parameter, or from its claim while it runs."""
        values = tuple(trial.params.get(name) for name in self._parameters.distributions)
        if values in self._decoded:
            return self._decoded[values]
        space = self._parameters.space
        try:
            if None not in values:
                graph = self._decoded[values] = self._parameters.decode(trial.params)
            else:
                claimed = read_claimed_graph(trial)
                if claimed is None or claimed not in space:
                    return None
                graph = claimed
            self.keys[graph] = space.key(graph)
        except GraphError:
            return None  # another sampler's
        return graph


def _check_enqueued(fixed: Mapping[str, Any], parameters: GraphParameters) -> None:
    """Refuse enqueued values that are meant for the trial's graph but would be ignored.

    Optuna ignores a value under a name that no trial asks for.

    Raises:
        SettingError: If a graph is under a wrong name, in part, or outside the space.
    """
    ours = parameters.distributions
    wrong = ""
    for key, value in fixed.items():
        ending = key.removeprefix(parameters.name).removeprefix("_")
        meant = (key.startswith(parameters.name) and (not ending or ending.isdigit())) or bool(
            get_close_matches(key, [parameters.name, *ours], cutoff=0.79)
        )
        if isinstance(value, LabeledGraph) or (meant and key not in ours):
            wrong = f"{key} = {reprlib.repr(value)}"
    if not wrong and any(key in fixed for key in ours):
        try:
            parameters.decode(fixed)
        except GraphError as problem:
            wrong = str(problem)
    if wrong:
        raise SettingError(
            f"an enqueued graph must be given by the number{'s' * (len(ours) > 1)} "
            f"{' and '.join(ours)}, got {wrong}; "
            "use study.enqueue_trial(GraphParameters(space).encode(graph))"
        )


def say_unused(trial: FrozenTrial) -> None:
    """Warn of values that a trial was enqueued with and never asked for: Optuna ignores them."""
    fixed = trial.system_attrs.get("fixed_params", {})
    if unused := [name for name in fixed if name not in trial.params]:
        logger.warning(
            "enqueued values must be of parameters that the trial asks for, got %s in trial %d",
            ", ".join(unused),
            trial.number,
        )


def suggest_graph(
    trial: optuna.Trial, space: SearchSpace | str, name: str = "graph"
) -> LabeledGraph:
    """The graph of a trial; prunes the trial if another sampler made up one outside the space.

    Raises:
        SettingError: If the trial was enqueued with a graph in another way than
            ``study.enqueue_trial(GraphParameters(space).encode(graph))``.

    Example:
        >>> import optuna
        >>> from nasgoat import GoatSampler, nasbench201
        >>> space = nasbench201()
        >>> study = optuna.create_study(sampler=GoatSampler(space, initial=3))
        >>> study.optimize(lambda trial: len(suggest_graph(trial, space).edges), n_trials=5)
        >>> len(study.trials)
        5
    """
    parameters = GraphParameters(load_space(space), name)
    if kept := getattr(trial, "_cached_frozen_trial", None):  # a FixedTrial has none
        _check_enqueued(kept.system_attrs.get("fixed_params", {}), parameters)
    values = {
        key: trial.suggest_int(key, 0, distribution.high)  # type: ignore[attr-defined]
        for key, distribution in parameters.distributions.items()
    }
    try:
        return parameters.decode(values)
    except GraphError as problem:
        raise optuna.TrialPruned(str(problem)) from None
