"""Proposals without a proof, for when an exact optimiser ends with nothing."""

from __future__ import annotations

import numpy as np

from nasgoat.acquisition import Certificate, LowerConfidenceBound, Proposal, Status
from nasgoat.acquisition.k_best import KBest
from nasgoat.graphs import LabeledGraph
from nasgoat.spaces import SearchSpace

_RANDOM, _MUTANTS = 200, 100  # candidates: random graphs, and mutants of the best ones


def heuristic_proposals(
    space: SearchSpace,
    acquisition: LowerConfidenceBound,
    k: int,
    exclude: set[bytes],
    best: list[LabeledGraph],
    rng: np.random.Generator,
) -> list[Proposal]:
    """The k candidates of lowest acquisition among random graphs and mutants of good ones.

    Example:
        >>> from nasgoat import GraphGP, nasbench201
        >>> space, rng = nasbench201(), np.random.default_rng(0)
        >>> cells = space.sample(5, rng)
        >>> lcb = LowerConfidenceBound().given(GraphGP(space).fit(cells, range(5)))
        >>> found = heuristic_proposals(space, lcb, 2, set(), cells, rng)
        >>> [str(proposal.certificate.status) for proposal in found]
        ['heuristic', 'heuristic']
    """
    candidates = space.sample(_RANDOM, rng, exclude)
    if best:
        mutants = [space.mutate(best[i % len(best)], rng) for i in range(_MUTANTS)]
        known = exclude | {space.key(graph) for graph in candidates}
        for mutant in mutants:
            if (key := space.key(mutant)) not in known:
                known.add(key)
                candidates.append(mutant)
    found = KBest(space, acquisition, k, exclude)
    found.add(candidates)
    return list(
        found.pool(
            lambda value: Certificate(Status.HEURISTIC, value), Certificate(Status.HEURISTIC)
        )
    )
