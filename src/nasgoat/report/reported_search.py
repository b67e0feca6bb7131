"""What a report says of a search: everything is read from its study, nothing is evaluated."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from nasgoat.bayesopt import Objectives, Ticket
from nasgoat.bayesopt.front import find_best
from nasgoat.bayesopt.known_results import KnownResult, read_declared_known
from nasgoat.bayesopt.recommendation import Estimate, estimate_errors, recommend
from nasgoat.benchmarks import Benchmark, benchmark
from nasgoat.errors import NasgoatError
from nasgoat.figures.wording import cut
from nasgoat.integrations.stored_search import StoredSearch
from nasgoat.search_methods import OURS
from nasgoat.surrogate import ModelCheck

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class ReportedSearch:
    """A search to report.

    Args:
        stored: What its study holds.
        folder: Its folder, which may have a ``result.json``; None if there is none.
    """

    stored: StoredSearch
    folder: Path | None = None

    @property
    def declaration(self) -> dict[str, Any]:
        """What the search was declared to be."""
        return self.stored.status.declaration

    @property
    def objective(self) -> dict[str, Any]:
        """What is evaluated: a benchmark, a function or a command."""
        declared = self.declaration.get("objective")
        return declared if isinstance(declared, dict) else {}

    @property
    def objective_name(self) -> str:
        """What is evaluated, in a few words."""
        declared = self.objective
        name = str(declared.get("objective", self.stored.status.study))
        if "benchmark" in declared:
            name = f"{declared['benchmark']}{' (noisy)' * bool(declared.get('noisy'))}"
        elif "command" in declared:
            name = " ".join(map(str, declared["command"]))
        return cut(name, 120)

    @property
    def method(self) -> str:
        """The name of the search method."""
        return str(self.declaration.get("method", OURS))

    @property
    def ours(self) -> bool:
        """Whether the method is ours, with a surrogate and certificates."""
        return self.method == OURS

    @property
    def settings(self) -> dict[str, Any]:
        """Kernel, target and batch strategy of ours; empty for other methods."""
        return self.declaration.get("settings") or {}

    @property
    def acquisition(self) -> str:
        """The name of the acquisition function; studies do not name the default."""
        return cut(str(self.settings.get("acquisition", "lcb")), 40)

    @property
    def value_name(self) -> str:
        """What an acquisition value is called: the LCB of a posterior, or the value of another."""
        return "LCB" if self.acquisition == "lcb" and self.objectives.plain else "value"

    @cached_property
    def objectives(self) -> Objectives:
        """What is minimised, and which measured limits must hold."""
        return Objectives.declared(self.declaration, self.stored.space)

    @cached_property
    def benchmark(self) -> Benchmark | None:
        """The table the errors come from; None without one, or where it is not installed.

        Nor where its best is not what is sought: with several objectives, or other limits.
        """
        name = self.objective.get("benchmark")
        if not isinstance(name, str) or not self.objectives.plain:
            return None
        try:
            table = benchmark(name, bool(self.objective.get("noisy")))
            _ = table.optimum
            if table.space.limits != self.stored.space.limits:
                return None
        except NasgoatError as problem:
            logger.warning("the regret is not known: %s", problem)
            return None
        return table

    @property
    def metric(self) -> str:
        """What ``error`` means."""
        return self.benchmark.metric if self.benchmark else "error"

    @cached_property
    def known(self) -> tuple[KnownResult, ...]:
        """What was known before the search."""
        return read_declared_known(self.declaration)

    @property
    def tickets(self) -> Sequence[Ticket]:
        """Every proposal, by number."""
        return self.stored.tickets

    @cached_property
    def done(self) -> list[Ticket]:
        """Proposals with an error of a full evaluation: the one that the search is about."""
        return [t for t in self.tickets if t.metrics and t.full]

    @cached_property
    def failed(self) -> list[Ticket]:
        """Proposals whose evaluation failed."""
        return [t for t in self.tickets if t.failure]

    @cached_property
    def best(self) -> Ticket | None:
        """The proposal that is recommended; of lowest error, where nothing was repeated."""
        return self.done[self.recommended.place] if self.recommended else None

    @cached_property
    def recommended(self) -> Estimate | None:
        """What the evaluations of the recommended graph say of its error; None without any."""
        return self.recommendations[-1] if self.done else None

    @cached_property
    def recommendations(self) -> list[Estimate]:
        """What would have been recommended after each evaluation with an error."""
        graphs, errors = [t.graph for t in self.done], [t.error for t in self.done]
        if not self.objectives.plain:
            evaluated = [t.metrics or {} for t in self.done]
            ends = range(1, len(evaluated) + 1)
            places = [find_best(self.objectives, evaluated[:end]) for end in ends]
            return [Estimate(place, errors[place], None, 1) for place in places]
        if len(set(graphs)) < len(graphs):
            return [recommend(graphs[:i], errors[:i]) for i in range(1, len(graphs) + 1)]
        best = np.minimum.accumulate(errors)  # nothing was repeated: the first of lowest error
        return [Estimate(errors.index(e), float(e), None, 1) for e in best]

    @cached_property
    def estimates(self) -> list[Estimate]:
        """What the evaluations of each graph say of its error, in the order of their first ones."""
        return estimate_errors([t.graph for t in self.done], [t.error for t in self.done])

    @property
    def noisy(self) -> bool:
        """Whether errors are known to be noisy: declared so, or seen where one was repeated."""
        seen = self.recommended is not None and bool(self.recommended.uncertainty)
        return bool(self.objective.get("noisy")) or seen

    @cached_property
    def leaders(self) -> list[Ticket]:
        """The proposal that would have been recommended after each evaluation with an error."""
        return [self.done[found.place] for found in self.recommendations]

    def measure_regret(self, ticket: Ticket) -> float | None:
        """How much its mean error lies above the best of the table; None without a table."""
        if self.benchmark is None:
            return None
        return self.benchmark.mean_error(ticket.graph) - self.benchmark.optimum

    @property
    def chosen(self) -> list[Ticket]:
        """Proposals after the initial design."""
        return [t for t in self.tickets if t.proposal.certificate.status.optimized]

    @property
    def certified(self) -> float | None:
        """Share of the proposals after the initial design that are proven optimal."""
        chosen = self.chosen
        if not chosen or not self.ours:
            return None
        return sum(t.proposal.certificate.certified for t in chosen) / len(chosen)

    @property
    def seconds(self) -> float:
        """Seconds of search, over all its sessions."""
        return max((t.elapsed for t in self.tickets), default=0.0)

    @property
    def state(self) -> str:
        """``finished``, ``running``, ``converged``, ``stopped``, ``exhausted`` or ``failing``."""
        status = self.stored.status
        if status.running:
            return "running"
        if status.converged:
            return "converged"
        if status.finished:
            return "finished"
        stop = self._read_result().get("stop")
        return stop if stop in ("exhausted", "failing", "interrupted", "converged") else "stopped"

    def _read_result(self) -> dict[str, Any]:
        """What the last session wrote, if it is about what the study holds."""
        if self.folder is None:
            return {}
        try:
            result = json.loads((self.folder / "result.json").read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return {}
        status = self.stored.status
        known = {"evaluations": status.complete, "failed": status.failed}
        return result if isinstance(result, dict) and known.items() <= result.items() else {}

    @property
    def fits(self) -> dict[int, Mapping[str, float]]:
        """The hyperparameters that were fitted at each iteration; none without a surrogate."""
        return {t.iteration: t.hyperparameters for t in self.tickets if t.hyperparameters}

    @property
    def models(self) -> dict[int, ModelCheck]:
        """What the surrogate had learnt at each iteration; none in studies of earlier versions."""
        return {t.iteration: t.model for t in self.tickets if t.model}

    @property
    def fitted_names(self) -> list[str]:
        """The names of the hyperparameters, each once."""
        return list(dict.fromkeys(name for values in self.fits.values() for name in values))


def read_test_error(ticket: Ticket) -> float | None:
    """The test error of a proposal, if its objective gave one."""
    value = (ticket.metrics or {}).get("test_error")
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value)
