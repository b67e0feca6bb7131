"""Which surrogate speaks: candidates are fitted before each batch, and evidence chooses.

No set of kernel features is best in every space, and what the errors depend on is not known before
they are seen. So several kernels are fitted, and each is asked what it would have said of every
observation without it (:class:`~nasgoat.surrogate.ModelCheck`). The one that would have said it
best speaks; some have a handicap, which a lucky run of observations does not make up for. Where
none has learnt anything, part of the batch is random; that ends as soon as one has, even if another
speaks. With the kernel
``"averaged"`` those that would have said it better have more weight in an average instead; with
``"together"`` all that have the form of the paper's kernel speak with equal weights, unless one of
another form is ahead.

Notation
    m     observations
    G_i   m times the gain of candidate i: log density of all left-out observations, less that of a
          constant, in nats
    h_i   handicap of candidate i, in nats
    w_i   weight of candidate i in averages, in proportion to exp(G_i - h_i)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nasgoat.acquisition import AveragedBound, LowerConfidenceBound
from nasgoat.kernels import PAPER_BLOCKS, PAPER_FORMS
from nasgoat.kernels.summaries import has_only_paths
from nasgoat.spaces import SearchSpace
from nasgoat.surrogate import GraphGP

#: The name by which settings ask for a choice among candidates.
EVIDENCE = "evidence"
#: The name by which they ask for an average over the same candidates.
AVERAGED = "averaged"
#: The name by which they ask for equal weights.
TOGETHER = "together"
_TOGETHER_FORM = "exponential"
#: All of them leave the kernel open.
OPEN_KERNELS = (EVIDENCE, AVERAGED, TOGETHER)
#: Nats by which a candidate must be ahead to speak before the preferred one: odds of twenty to one.
#: Smaller leads come and go with single observations.
LEAD = 3.0
#: Voices of a smaller weight are not heard: one that is almost surely wrong would still disagree
#: with the others, and so make the deviation of the mixture large.
LEAST_SHARE = 0.05
#: This many observations settle the choice: after them the others are fitted no more, which would
#: take longer and longer. The searches that were measured are shorter.
SETTLED = 200
#: Of this many proposals some are random while no candidate has learnt anything: one where the
#: kernel is open, else as many as :class:`~nasgoat.Settings` say.
RANDOM_EVERY = 5
#: What a search does about a model that has learnt nothing, where that is nothing.
GOES_ON = "the search goes by it all the same"
#: What it does where a kernel has learnt something that the one with proofs has not.
STANDS_IN = (
    "a kernel that knows the shape of a graph predicts far better than the one with proofs and "
    "proposes instead, by local search"
)
_COUNTS = ("no", "one", "two", "three", "four")


@dataclass(frozen=True)
class Candidate:
    """A kernel that may be chosen to propose graphs.

    Args:
        form: The form of the kernel.
        blocks: Its blocks of features.
        priors: Whether its hyperparameters have priors.
        handicap: Nats that are taken off what it predicts of all observations.
        growth: The least handicap for each observation.
    """

    form: str
    blocks: tuple[str, ...] = PAPER_BLOCKS
    priors: bool = False
    handicap: float = 0.0
    growth: float = 0.0

    @property
    def options(self) -> dict[str, Any]:
        """What a :class:`~nasgoat.GraphGP` is made with."""
        return {"kernel": self.form, "blocks": self.blocks, "priors": self.priors}

    def weigh(self, gp: GraphGP) -> float:
        """How well a fit of it predicts its observations: G_i - h_i."""
        m = len(gp.targets_)
        return m * (gp.check_.gain or 0.0) - max(self.handicap, m * self.growth)


#: What is measured of networks: the paper's blocks, operations and shapes.
_ALL = (*PAPER_BLOCKS, "operations", "shape", "longest")
#: Nats an observation by which a kernel of a graph's shape must be ahead. Where errors are those of
#: trained networks, leads are smaller; where they are as simple as the number of edges, larger.
SHAPE_LEAD = 0.2
#: The kernel of the paper; the same with counts of operations; and two that know the shape of a
#: graph, for errors that clearly depend on it.
CANDIDATES = (
    Candidate("exponential"),
    Candidate("exponential", (*PAPER_BLOCKS, "operations"), priors=True, handicap=1.0),
    Candidate("exponential", _ALL, priors=True, handicap=LEAD, growth=SHAPE_LEAD),
    Candidate("normalised", _ALL, priors=True, handicap=LEAD, growth=SHAPE_LEAD),
)
#: The same where operations are on edges and some of them pass their input on: how long paths are
#: without those is worth more than a choice (docs/decisions/0139-lengths-of-paths.md).
PATH_CANDIDATES = (
    Candidate("exponential", (*_ALL, "lengths"), priors=True),
    Candidate("normalised", _ALL, priors=True, handicap=LEAD, growth=SHAPE_LEAD),
)
#: The same where no operation is on an edge: there counts of operations and all blocks with the
#: paper's form gained nothing and cost evaluations (docs/decisions/0145-fewer-kernels-on-nodes.md).
NODE_CANDIDATES = (
    Candidate("exponential"),
    Candidate("normalised", _ALL, priors=True, handicap=12.0, growth=0.5),
)
#: For what else is minimised besides errors, such as a latency: sums over operations are common.
COST_CANDIDATES = (
    Candidate("exponential"),
    Candidate("exponential", (*PAPER_BLOCKS, "operations"), priors=True),
    Candidate("linear", (*PAPER_BLOCKS, "operations"), priors=True),
)
#: The same for searches that also learn from short trainings or other runs: all blocks are
#: preferred, and that of the paper must be clearly ahead.
SOURCED_CANDIDATES = (
    Candidate("exponential", _ALL, priors=True),
    Candidate("exponential", handicap=LEAD),
)
#: The same for graphs whose edges have no direction. Nothing flows through them, so that richer
#: graphs are no better; what a node is bound to decides.
UNDIRECTED_CANDIDATES = (
    Candidate("normalised", (*_ALL, "surroundings"), priors=True),
    Candidate("exponential", handicap=LEAD),
)
#: What may speak beside a kernel that would stand alone, in a space too large to score every graph,
#: by whether its edges have a direction: it knows the shape of a graph, must be ahead by 5 nats and
#: 0.4 an observation, and local search finds its graphs where no bounds on it are known
#: (docs/decisions/0143-a-stand-in-by-local-search.md).
STAND_INS = {
    True: Candidate("normalised", _ALL, priors=True, handicap=5.0, growth=0.4),
    False: Candidate("normalised", (*_ALL, "surroundings"), priors=True, handicap=5.0, growth=0.4),
}


def list_candidates(
    known_blocks: Sequence[str] | None, among: Sequence[Candidate] = CANDIDATES
) -> list[Candidate]:
    """The candidates that an optimiser can minimise.

    Args:
        known_blocks: The blocks that it knows; None for one that knows any kernel.
        among: Those to choose from.

    Example:
        >>> [candidate.form for candidate in list_candidates(PAPER_BLOCKS)]
        ['exponential']
    """
    if known_blocks is None:
        return list(among)
    return [c for c in among if c.form in PAPER_FORMS and {*c.blocks} <= {*known_blocks}]


def sees_lengths(space: SearchSpace) -> bool:
    """Whether operations are on edges and some pass their input on, so that paths differ in length.

    In a chain there is a single path, whose length the numbers of operations say.

    Example:
        >>> from nasgoat import ChainSpace, EdgeLabeledSpace, nasbench101, nasbench201
        >>> sees_lengths(nasbench201()), sees_lengths(nasbench101())
        (True, False)
        >>> sees_lengths(EdgeLabeledSpace(3, ["conv", "pool"]))
        False
        >>> sees_lengths(ChainSpace(4, ["conv", "skip"]))
        False
    """
    passing = space.labels_on == "edges" and bool(space.identities)
    return passing and not has_only_paths(space)


def find_candidates(
    space: SearchSpace, chosen: bool, known_blocks: Sequence[str] | None
) -> list[Candidate]:
    """The kernels that may propose where the errors of a space are all that is learnt from.

    Args:
        space: The space.
        chosen: Whether one of them is chosen, instead of several that speak together.
        known_blocks: The blocks that the optimiser knows; None for one that knows any kernel.

    Example:
        >>> from nasgoat import nasbench101
        >>> [candidate.form for candidate in find_candidates(nasbench101(), True, None)]
        ['exponential', 'normalised']
    """
    among: Sequence[Candidate] = CANDIDATES
    if not space.directed:
        among = UNDIRECTED_CANDIDATES
    elif chosen and known_blocks is None and sees_lengths(space):
        among = PATH_CANDIDATES
    elif chosen and known_blocks is None and not space.edge_vocabulary:
        among = NODE_CANDIDATES
    return list_candidates(known_blocks, among)


def has_learnt(fits: Sequence[GraphGP]) -> bool:
    """Whether one of the fitted candidates has learnt anything."""
    return any(gp.check_.learnt for gp in fits)


def describe_response(random: int, learnt: bool, named: bool) -> str:
    """What a search does about a model that proposes and has learnt nothing.

    Args:
        random: How many of ``RANDOM_EVERY`` proposals are random graphs.
        learnt: Whether another candidate has learnt something.
        named: Whether the kernel was asked for.

    Example:
        >>> describe_response(3, learnt=False, named=False)
        'until it has, three of five proposals are random graphs'
    """
    if random == RANDOM_EVERY:
        return "until it has, every proposal is a random graph"
    if random:
        are = "is a random graph" if random == 1 else "are random graphs"
        return f"until it has, {_COUNTS[random]} of five proposals {are}"
    if learnt:
        return "another kernel, fitted beside it, has learnt something: no proposal is random"
    return f"{GOES_ON}{', as by any kernel that is named' if named else ''}"


def choose_speaker(candidates: Sequence[Candidate], fits: Sequence[GraphGP]) -> GraphGP:
    """The fit that proposes: of largest G_i - h_i, the first of equals.

    Example:
        >>> from nasgoat import nasbench201
        >>> cells = nasbench201().sample(30, np.random.default_rng(0))
        >>> errors = [float(len(cell.edges)) for cell in cells]
        >>> fits = [GraphGP(nasbench201(), **c.options).fit(cells, errors) for c in CANDIDATES]
        >>> choose_speaker(CANDIDATES, fits) is fits[0]  # a plain sum of labels needs no more
        True
    """
    return fits[find_speaker(candidates, fits)]


@dataclass(frozen=True)
class Voice:
    """A fitted surrogate and its weight among those that propose together.

    Args:
        surrogate: The fit.
        weight: Between 0 and 1; those of all voices sum to 1.
    """

    surrogate: GraphGP
    weight: float = 1.0


def list_voices(candidates: Sequence[Candidate], fits: Sequence[GraphGP]) -> list[Voice]:
    """The fits that propose together, with weights in proportion to exp(G_i - h_i).

    Those whose weight would be below ``LEAST_SHARE`` are left out.

    Example:
        >>> from nasgoat import nasbench201
        >>> cells = nasbench201().sample(30, np.random.default_rng(0))
        >>> errors = [float(len(cell.edges)) for cell in cells]
        >>> fits = [GraphGP(nasbench201(), **c.options).fit(cells, errors) for c in CANDIDATES]
        >>> voices = list_voices(CANDIDATES, fits)
        >>> round(sum(voice.weight for voice in voices), 9)
        1.0
    """
    weighed = np.array([c.weigh(gp) for c, gp in zip(candidates, fits, strict=True)])
    shares = np.exp(weighed - weighed.max())
    shares[shares < LEAST_SHARE * shares.sum()] = 0.0
    weights = (shares / shares.sum()).tolist()
    return [Voice(gp, w) for gp, w in zip(fits, weights, strict=True) if w > 0]


def list_equals(candidates: Sequence[Candidate], fits: Sequence[GraphGP]) -> list[Voice]:
    """All exponential kernels with equal weights; a kernel of another form alone, if it is ahead.

    Where kernels disagree, the deviation of their mixture is large, and the graph is looked at.

    Example:
        >>> from nasgoat import nasbench201
        >>> cells = nasbench201().sample(30, np.random.default_rng(0))
        >>> errors = [float(len(cell.edges)) for cell in cells]
        >>> fits = [GraphGP(nasbench201(), **c.options).fit(cells, errors) for c in CANDIDATES]
        >>> [round(voice.weight, 3) for voice in list_equals(CANDIDATES, fits)]
        [0.333, 0.333, 0.333]
    """
    place = find_speaker(candidates, fits)
    if candidates[place].form != _TOGETHER_FORM:
        return [Voice(fits[place])]
    pairs = zip(candidates, fits, strict=True)
    equals = [gp for candidate, gp in pairs if candidate.form == _TOGETHER_FORM]
    return [Voice(gp, 1.0 / len(equals)) for gp in equals]


def make_bound(voices: Sequence[Voice], sqrt_beta: float) -> LowerConfidenceBound | AveragedBound:
    """The lower confidence bound of a voice alone, or that of the mixture of several.

    Example:
        >>> from nasgoat import nasbench201
        >>> cells = nasbench201().sample(9, np.random.default_rng(0))
        >>> gps = [GraphGP(nasbench201(), **c.options).fit(cells, range(9)) for c in CANDIDATES[:2]]
        >>> type(make_bound([Voice(gps[0])], 1.0)).__name__
        'LowerConfidenceBound'
        >>> make_bound([Voice(gps[0], 0.5), Voice(gps[1], 0.5)], 1.0).weights
        (0.5, 0.5)
    """
    if len(voices) == 1:
        return LowerConfidenceBound(sqrt_beta, voices[0].surrogate)
    surrogates, weights = zip(*((v.surrogate, v.weight) for v in voices), strict=True)
    return AveragedBound(surrogates, weights, sqrt_beta)


def find_speaker(candidates: Sequence[Candidate], fits: Sequence[GraphGP]) -> int:
    """The place of the candidate whose fit proposes."""
    weights = [c.weigh(gp) for c, gp in zip(candidates, fits, strict=True)]
    return weights.index(max(weights))
