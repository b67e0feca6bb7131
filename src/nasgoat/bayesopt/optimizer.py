"""The ask/tell optimiser.

It does no input or output and holds no random state: everything it proposes follows from the seed,
the settings and what it was told, so that a replay proposes the same graphs.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from nasgoat.acquisition import (
    Acquisition,
    Certificate,
    Proposal,
    Status,
    Turn,
    find_acquisition,
)
from nasgoat.acquisition.local_search import search_locally
from nasgoat.bayesopt.evidence import (
    AVERAGED,
    COST_CANDIDATES,
    EVIDENCE,
    OPEN_KERNELS,
    RANDOM_EVERY,
    SETTLED,
    STAND_INS,
    STANDS_IN,
    TOGETHER,
    Candidate,
    Voice,
    choose_speaker,
    describe_response,
    find_speaker,
    has_learnt,
    list_candidates,
    list_equals,
    list_voices,
    make_bound,
)
from nasgoat.bayesopt.learner import Learner
from nasgoat.bayesopt.recommendation import list_contenders
from nasgoat.bayesopt.several_objectives import SeveralProposer, Told
from nasgoat.errors import SolverLostError, SurrogateError
from nasgoat.graphs import LabeledGraph
from nasgoat.surrogate import GraphGP, SourcedGP

logger = logging.getLogger(__name__)

_FALLBACK_SECONDS = 5.0  # of local search, where the acquisition optimiser gave up
_FALLBACK_STREAM = 3  # keeps these random numbers apart from those of other purposes
_EXPLORING_STREAM = 4
_STAND_IN_SAID = (
    "a kernel that knows the shape of a graph predicts the errors far better than the one with "
    "proofs: while it does, graphs are proposed by it, found by local search and not proven; "
    "--kernel {} keeps to proofs"
)
REPEAT_EVERY = 5  # of this many proposals one may repeat an evaluation
#: ``REPEATS_LATE`` of them may after ``LATE`` evaluations: to find out which of the best is best is
#: worth more then than to look for others (docs/decisions/0140-more-repeats-late.md).
REPEATS_LATE, LATE = 3, 100


class Optimizer(Learner):
    """Proposes graphs to evaluate and learns from their errors.

    Args:
        space: The space to search, or its name as for :func:`~nasgoat.load_space`.
        settings: Kernel, target and batch strategy.
        optimizer: Acquisition optimiser, by name or ready made.
        initial: Random graphs before the first fit.
        seed: Seed of the initial design and of restarts.
        progress: Called with a line of text when something takes long; by default it is shown on
            standard error if that is a terminal. None for silence.
        gain_margin: Measure before each proposal what is left to gain (``gain``), and how many
            graphs are expected to be better than the best by more than this; None for neither.
        minimise: Names of up to three metrics, or of costs that the space declares; what is told is
            then a mapping. By default one error, told as a number.
        limits: Such as ``"latency <= 5"``, on what the space knows or on what is told.
        learn_failures: Avoid graphs that will probably fail.
        transfer: What other runs or tables say of graphs of this space; each has a correlation with
            the errors of this search, which is fitted: a misleading one is ignored.
        known: Pairs of a graph and its error, or files with such: learnt from and not proposed.
            Each graph stands for one of the ``initial`` random ones.

    Example:
        >>> from nasgoat import nasbench201
        >>> optimizer = Optimizer(nasbench201(), initial=5, seed=0)
        >>> for proposal in optimizer.ask(5):
        ...     optimizer.tell(proposal.graph, error=10.0 + len(proposal.graph.edges))
        >>> proposal = optimizer.ask(1)[0]
        >>> proposal.certificate.certified, proposal.graph in optimizer.pending
        (True, True)
        >>> optimizer = Optimizer("nb201", initial=5, minimise=["error", "latency"])
        >>> for proposal in optimizer.ask(5):
        ...     edges = len(proposal.graph.edges)
        ...     optimizer.tell(proposal.graph, {"error": 10.0 - edges, "latency": edges})
        >>> len(optimizer.ask(5)), optimizer.settings.acquisition
        (5, 'hypervolume')
    """

    def _propose_several(self, k: int) -> list[Proposal]:
        """A batch for several values or under measured limits, one graph after the other."""
        told = Told(self._graphs, self._metrics, self._failed)

        def fit(
            graphs: Sequence[LabeledGraph], values: Sequence[float], target: str, name: str
        ) -> list[Voice]:
            candidates = self._list_candidates_of(name)
            if len(candidates) > 1 and len(graphs) > SETTLED:
                candidates = self._settled[name] = self._settle(candidates, graphs, values, target)
            fits = self._fit(graphs, values, target, candidates)
            if name == self.objectives.main:
                return self._list_voices(fits, candidates)
            return [Voice(choose_speaker(candidates, fits))]

        proposer = SeveralProposer(self.space, self.objectives, self.settings, told, fit)
        self.surrogates = proposer.surrogates
        self.surrogate = self.surrogates[self.objectives.measured[0]]
        proposer.believe(self.pending)
        return proposer.propose(k, self._count_proposed(), self._list_taken(), self._minimize)

    def _propose(self, k: int) -> list[Proposal]:
        if not self.objectives.plain:
            return self._propose_several(k)
        settings = self.settings
        self._settle_kernel(self._errors)
        fits = self._fit(self._graphs, self._errors, settings.target)
        self._speaker = find_speaker(self.candidates, fits)
        self.surrogate = fits[self._speaker]
        learnt = has_learnt(fits)
        explore = 0 if learnt else self._count_random()
        named = settings.kernel not in OPEN_KERNELS and not self.transfer
        self.response = describe_response(explore, learnt, named)
        if self.surrogate.check_.learnt and self._needs_local_search():
            self.response = STANDS_IN
        self._say_weak_points(self.surrogate)
        if self._gain_margin is not None:
            self.gain = self._measure_gain(self._gain_margin)
        repeated = self._propose_repeats(self._count_repeats(k))
        if (fresh := k - len(repeated)) == 0:
            return repeated
        voices = [
            replace(voice, surrogate=self._believe_running(voice.surrogate))
            for voice in self._list_voices(fits)
        ]
        if settings.batch_strategy == "top":
            function = self._make_acquisition(voices, self._count_proposed(), settings.sqrt_beta)
            found = self._minimize(function, fresh, self._list_taken())
        else:
            found = self._propose_portfolio(voices, fresh, self._list_taken(), explore)
        return found + repeated

    def _count_random(self) -> int:
        """How many of ``RANDOM_EVERY`` proposals are random while nothing is learnt."""
        if self.settings.batch_strategy == "top":
            return 0
        return 1 if self.settings.kernel in OPEN_KERNELS else self.settings.explore

    def _list_voices(
        self, fits: Sequence[GraphGP], candidates: Sequence[Candidate] | None = None
    ) -> list[Voice]:
        """The surrogates that propose: the best one, or a weighted mixture of several.

        Averages are for lower confidence bounds of one source and for fronts, where every graph can
        be scored.
        """
        candidates = candidates or self.candidates
        scores_all = getattr(self.acquisition_optimizer, "blocks", None) is None
        sourced = any(isinstance(gp, SourcedGP) for gp in fits)
        kernel = self.settings.kernel
        bounds = self.settings.acquisition == "lcb" or not self.objectives.plain
        if kernel in (AVERAGED, TOGETHER) and bounds and scores_all and not sourced:
            find_voices = list_equals if kernel == TOGETHER else list_voices
            return find_voices(candidates, fits)
        return [Voice(choose_speaker(candidates, fits))]

    def _list_candidates_of(self, name: str) -> list[Candidate]:
        """The candidate kernels for the model of an objective, of a limit or of failures."""
        if name in self._settled:
            return self._settled[name]
        if name == self.objectives.main:
            return self.candidates
        chosen = self.settings.kernel in (EVIDENCE, TOGETHER) and self.space.labels_on == "edges"
        if chosen and name in self.objectives.names:
            known = getattr(self.acquisition_optimizer, "blocks", None)
            return list_candidates(known, COST_CANDIDATES)
        # docs/decisions/0122-kernels-of-fronts.md: others gained nothing beside one for the error.
        return self._list_candidates()[:1]

    def _settle_kernel(self, errors: Sequence[float]) -> None:
        """After ``SETTLED`` observations keep only the candidate that the first of them favour."""
        if len(self.candidates) == 1 or len(self._graphs) <= SETTLED:
            return
        terms = self._graphs, errors, self.settings.target
        self.candidates = self._settle(self.candidates, *terms)

    def _settle(
        self,
        candidates: list[Candidate],
        graphs: Sequence[LabeledGraph],
        values: Sequence[float],
        target: str,
    ) -> list[Candidate]:
        """The candidate alone that the first observations choose, however many there are."""
        fits = self._fit(graphs[:SETTLED], values[:SETTLED], target, candidates)
        return [candidates[find_speaker(candidates, fits)]]

    def _believe_running(self, surrogate: GraphGP) -> GraphGP:
        """What still runs is taken to come out as predicted: less is left to learn near it."""
        running = self.pending
        return surrogate.assume_predicted(running) if running else surrogate

    def _count_repeats(self, k: int) -> int:
        """How many of the next k proposals may repeat an evaluation.

        One in five, three after a hundred evaluations.
        """
        start = self._count_proposed()
        among = REPEATS_LATE if start >= LATE else 1
        return sum(i % REPEAT_EVERY >= REPEAT_EVERY - among for i in range(start, start + k))

    def _propose_repeats(self, count: int) -> list[Proposal]:
        """Graphs to evaluate again, those first whose own errors say that they may be the best.

        The surrogate smooths over neighbours, so that it ranks the best graph 10th or 20th among
        those observed: it has no say here.
        """
        if self.settings.repeats == 1 or count == 0 or self.surrogate is None:
            return []
        keys = [self.space.key(graph) for graph in self._graphs]
        graphs = [
            self._graphs[estimate.place]
            for estimate in list_contenders(keys, self._errors)
            if (key := keys[estimate.place]) not in self._pending
            and self._count_times(key) < self.settings.repeats
        ][:count]
        if not graphs:
            return []
        mean, std = self.surrogate.predict(graphs)
        again = Certificate(Status.REPEAT)
        return [
            Proposal(graph, again, float(mean[i]), float(std[i])) for i, graph in enumerate(graphs)
        ]

    def _count_times(self, key: bytes) -> int:
        """How often a graph was evaluated."""
        return self._times[key]

    def _propose_portfolio(
        self, voices: list[Voice], k: int, exclude: set[bytes], explore: int = 0
    ) -> list[Proposal]:
        """The best graph of each acquisition function in turn.

        The √β of lower confidence bounds go on where the last batch stopped. While nothing is known
        yet, ``explore`` of ``RANDOM_EVERY`` are random graphs, marked as uninformed; the smallest
        √β and the largest go first.
        """
        betas = self.settings.sqrt_betas
        told = {self.space.key(graph) for graph in self._graphs}
        start = len(told | self._pending.keys())  # repeats are no turn of the portfolio
        proposals: list[Proposal] = []
        for i in range(start, start + k):
            if -i % RANDOM_EVERY < explore:
                proposals += self._propose_uninformed(i, exclude)
                continue
            function = self._make_acquisition(voices, i, betas[i % len(betas)])
            found = self._minimize(function, 1, exclude)
            exclude |= {self.space.key(p.graph) for p in found}
            proposals += found
            if i + 1 < start + k:
                voices = self._list_voices_after(voices, function, [p.graph for p in found])
        return proposals

    def _list_voices_after(
        self, voices: list[Voice], function: Acquisition, proposed: list[LabeledGraph]
    ) -> list[Voice]:
        """Who proposes the rest of a batch, once these graphs are part of it."""
        if proposed and self.settings.batch_strategy == "spread":
            return [replace(v, surrogate=v.surrogate.assume_predicted(proposed)) for v in voices]
        return [Voice(function.condition_on_batch(proposed))] if len(voices) == 1 else voices

    def _propose_uninformed(self, place: int, exclude: set[bytes]) -> list[Proposal]:
        """A random graph, which is then excluded; none if the space is used up."""
        rng = np.random.default_rng([self.seed, _EXPLORING_STREAM, place])
        drawn = self.space.sample(1, rng, exclude)
        exclude |= {self.space.key(graph) for graph in drawn}
        return [Proposal(graph, Certificate(Status.HEURISTIC), informed=False) for graph in drawn]

    def _count_proposed(self) -> int:
        return len(self._graphs) + len(self._pending)

    def _make_acquisition(
        self, voices: Sequence[Voice], place: int, sqrt_beta: float
    ) -> Acquisition:
        """The function to minimise; of several voices their averaged lower confidence bound."""
        if len(voices) > 1:
            return make_bound(voices, sqrt_beta)
        turn = Turn(voices[0].surrogate, place, self.seed, sqrt_beta)
        return find_acquisition(self.settings.acquisition).make(turn)

    def _minimize(self, acquisition: Acquisition, k: int, exclude: set[bytes]) -> list[Proposal]:
        """The k best graphs; heuristic ones, said so, if the optimiser found none in its limits."""
        if self._needs_local_search():
            return self._search_locally(acquisition, k, exclude)
        try:
            pool = self.acquisition_optimizer.optimize(acquisition, k, exclude)
        except (MemoryError, SolverLostError, SurrogateError) as problem:
            reason = str(problem) or type(problem).__name__
            logger.warning("the acquisition optimiser gave up (%s); falling back", reason)
        else:
            if len(pool) or pool.certificate.status is Status.EXHAUSTED:
                return list(pool)
            logger.warning("the acquisition optimiser found nothing in its limits; falling back")
        return self._search_locally(acquisition, k, exclude)

    def _needs_local_search(self) -> bool:
        """Whether a stand-in speaks, and the acquisition optimiser is one that works by bounds."""
        bounds = getattr(self.acquisition_optimizer, "blocks", None) is not None
        needed = bounds and self.candidates[self._speaker] in STAND_INS.values()
        if needed:
            self._say_once("stand-in", _STAND_IN_SAID.format(self.settings.kernel))
        return needed

    def _search_locally(
        self, acquisition: Acquisition, k: int, exclude: set[bytes]
    ) -> list[Proposal]:
        seconds = min(self.settings.time_limit, _FALLBACK_SECONDS)
        seed = [self.seed, _FALLBACK_STREAM, len(self._graphs)]
        return list(search_locally(self.space, acquisition, k, exclude, seconds, seed))
