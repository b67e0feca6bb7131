"""What a search by surrogates is about, what it was told, and the surrogates fitted to that."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypedDict

from nasgoat.acquisition import AcquisitionOptimizer, AskTell, find_acquisition
from nasgoat.bayesopt.evidence import (
    EVIDENCE,
    GOES_ON,
    OPEN_KERNELS,
    SOURCED_CANDIDATES,
    STAND_INS,
    Candidate,
    find_candidates,
    list_candidates,
)
from nasgoat.bayesopt.gain import Gain, measure_gain
from nasgoat.bayesopt.known_results import Known, KnownResult, gather_known
from nasgoat.bayesopt.measured_limits import split_limits
from nasgoat.bayesopt.objectives import Objectives
from nasgoat.bayesopt.settings import LINEAR_INSTEAD, Settings
from nasgoat.errors import SettingError, SolverLostError, SurrogateError
from nasgoat.evaluation import Outcome
from nasgoat.graphs import LabeledGraph
from nasgoat.kernels import PAPER_FORMS
from nasgoat.progress import say_if_slow, show_progress
from nasgoat.spaces import SearchSpace, load_space
from nasgoat.surrogate import GraphGP, Source, SourcedGP
from nasgoat.surrogate.model_check import find_weak_points
from nasgoat.surrogate.target import describe_not_positive, find_possible_target

logger = logging.getLogger(__name__)


class LearnerOptions(TypedDict, total=False):
    """What :class:`~nasgoat.Optimizer` takes besides the space, for those that pass it on."""

    settings: Settings | None
    optimizer: str | AcquisitionOptimizer
    initial: int
    seed: int
    progress: Callable[[str], None] | None
    gain_margin: float | None
    minimise: Sequence[str] | str | Objectives | None
    limits: Sequence[str] | str
    learn_failures: bool
    transfer: Sequence[Source]
    known: Known


class Learner(AskTell):
    """Learns from errors or several metrics; a subclass decides what to propose.

    Its arguments are those of :class:`~nasgoat.Optimizer`.
    """

    #: Whether most of what is seen are short trainings of graphs that the model chose.
    has_short_trainings = False

    def __init__(
        self,
        space: SearchSpace | str,
        settings: Settings | None = None,
        optimizer: str | AcquisitionOptimizer = "auto",
        initial: int = 10,
        seed: int = 0,
        progress: Callable[[str], None] | None = show_progress,
        gain_margin: float | None = None,
        minimise: Sequence[str] | str | Objectives | None = None,
        limits: Sequence[str] | str = (),
        learn_failures: bool = False,
        transfer: Sequence[Source] = (),
        known: Known = (),
    ) -> None:
        limited, measured = split_limits(load_space(space), limits)
        super().__init__(limited, initial, seed)
        #: Other sources that the surrogate learns from.
        self.transfer = tuple(transfer)
        #: What is minimised, and which measured limits must hold.
        self.objectives = (
            minimise
            if isinstance(minimise, Objectives)
            else Objectives.of(minimise, measured, learn_failures, limited)
        )
        if settings is None:
            terms = self._may_choose_kernel(), self.has_short_trainings
            settings = Settings().choose_kernel(self.space, optimizer, *terms, self.objectives.pair)
            if settings.kernel == "linear":
                logger.warning("%s", LINEAR_INSTEAD)
        self.settings = settings.adapt_to(self.objectives, self.space, optimizer)
        self.acquisition_optimizer = self.settings.find_optimizer(optimizer, self.space, progress)
        #: The kernels that are fitted before each batch: those that the optimiser knows.
        self.candidates = self._list_candidates()
        self.surrogate: GraphGP | None = None
        self._speaker = 0  # the place of the candidate that proposes
        #: What is done about a surrogate that has learnt nothing, in words.
        self.response = GOES_ON
        self.gain: Gain | None = None
        self._gain_margin = gain_margin
        self._progress = progress
        self._said: set[str] = set()  # what was warned of, each once
        #: Of several values, or under measured limits: a surrogate for each.
        self.surrogates: dict[str, GraphGP] = {}
        self._settled: dict[str, list[Candidate]] = {}  # the kernel of a value seen often enough
        self._metrics: list[dict[str, float]] = []
        self._failed: list[LabeledGraph] = []
        if not self.objectives.plain:
            self._refuse_what_one_error_needs()
        #: What was known before.
        self.known: tuple[KnownResult, ...] = ()
        self.tell_known(known)

    def _refuse_what_one_error_needs(self) -> None:
        if self.transfer:
            raise SettingError(
                "transfer must come with one error to minimise and no measured limit, "
                "got several values"
            )
        if self._gain_margin is not None:
            raise SettingError("what is left to gain must be of one error, got several objectives")

    def tell(self, graph: LabeledGraph, error: float | Mapping[str, Any]) -> None:
        """Learn the error of a graph, proposed or not; of several objectives its metrics.

        Raises:
            GraphError: If the graph is not in the space.
            ObservationError: If a value is missing or no finite number.
        """
        if self.objectives.plain:
            super().tell(graph, error)  # type: ignore[arg-type]
            return
        metrics = self.objectives.check(self.space, graph, error)
        super().tell(graph, metrics[self.objectives.names[0]])
        self._metrics.append(metrics)

    def tell_failed(self, graph: LabeledGraph) -> None:
        """Note that a graph could not be evaluated: it is not proposed again.

        Nothing is learnt from it unless failures are to be learnt.
        """
        super().tell_failed(graph)
        self._failed.append(graph)

    def tell_known(self, known: Known) -> None:
        """Learn results from before the search: their graphs are not evaluated again.

        Example:
            >>> from nasgoat import Optimizer
            >>> optimizer = Optimizer("nb201", initial=5)
            >>> optimizer.tell_known([(optimizer.space.from_digits([1, 0, 2, 3, 0, 4]), 5.5)])
            >>> optimizer.initial, optimizer.observations[0][1]
            (4, 5.5)
        """
        results = gather_known(known, self.space, self.objectives)
        for result in results:
            self.tell(result.graph, result.error if self.objectives.plain else result.metrics)
        keys = {self.space.key(result.graph) for result in results}
        for key in keys:
            self._times[key] = max(self._times[key], self.settings.repeats)
        self.initial = max(self.initial - len(keys), 0)
        self.known += results

    def complete(self, graph: LabeledGraph, outcome: Outcome) -> Outcome:
        """An outcome with the costs that are minimised and that the space knows of its graph."""
        return self.objectives.complete(self.space, graph, outcome)

    def _may_choose_kernel(self) -> bool:
        """Whether the evidence may choose: so it was measured, for one error without transfer."""
        return self.has_short_trainings or (self.objectives.plain and not self.transfer)

    def _list_candidates(self) -> list[Candidate]:
        settings = self.settings
        known = getattr(self.acquisition_optimizer, "blocks", None)
        if settings.kernel in OPEN_KERNELS:
            if self.has_short_trainings or self.transfer:
                return list_candidates(known, SOURCED_CANDIDATES)
            return find_candidates(self.space, settings.kernel == EVIDENCE, known)
        wanted = settings.blocks
        blocks = wanted if known is None else tuple(b for b in wanted if b in known) or known
        alone = Candidate(settings.kernel, blocks, settings.priors)
        return [alone, *self._list_stand_ins()]

    def _list_stand_ins(self) -> list[Candidate]:
        """What may speak instead of a kernel that stands alone, where that is doubted."""
        sourced = self.has_short_trainings or bool(self.transfer)
        if not self.settings.explore or sourced or not self.objectives.plain:
            return []
        forms = find_acquisition(self.settings.acquisition).kernels
        found = STAND_INS[self.space.directed]
        return [found] if forms is None or found.form in forms else []

    def _fit(
        self,
        graphs: Sequence[LabeledGraph],
        values: Sequence[float],
        target: str,
        candidates: Sequence[Candidate] | None = None,
    ) -> list[GraphGP]:
        """Every candidate, or those that are given, fitted to values of graphs."""
        settings = self.settings
        if (possible := find_possible_target(target, values)) != target:
            self._say_once("not positive", describe_not_positive(values))
            target = possible
        common: dict[str, Any] = {
            "noise": settings.noise,
            "target": target,
            "restarts": settings.restarts,
        }
        with say_if_slow(self._progress, f"fitting the surrogate to {len(graphs)} graphs"):
            return [
                self._fit_candidate(
                    {"seed": self.seed, **candidate.options, **common}, graphs, values
                )
                for candidate in candidates or self.candidates
            ]

    def _fit_candidate(
        self,
        options: dict[str, Any],
        graphs: Sequence[LabeledGraph],
        values: Sequence[float],
    ) -> GraphGP:
        """One candidate, fitted to what was told and to what other runs have seen."""
        if not self.transfer:
            return GraphGP(self.space, **options).fit(graphs, values)
        return SourcedGP(self.space, **options).fit_if_better(graphs, values, self.transfer)

    def _measure_gain(self, margin: float) -> Gain | None:
        kernel = self.settings.kernel if self.settings.kernel in PAPER_FORMS else "exponential"
        told, taken = self.observations, self._list_taken()
        try:
            return measure_gain(self.space, self.acquisition_optimizer, told, taken, kernel, margin)
        except (MemoryError, SolverLostError, SurrogateError) as problem:
            logger.warning("what is left to gain could not be measured: %s", problem)
            return None

    def _say_weak_points(self, surrogate: GraphGP) -> None:
        fixed = set() if self.settings.noise == "fit" else {"noise"}
        free = [name for name in surrogate.hyperparameters if name not in fixed]
        for name, line in find_weak_points(self._errors, self.settings.target, free).items():
            self._say_once(name, line)

    def _say_once(self, name: str, line: str) -> None:
        """A warning that is not repeated under the same name."""
        if name not in self._said:
            logger.warning("%s", line)
            self._said.add(name)
