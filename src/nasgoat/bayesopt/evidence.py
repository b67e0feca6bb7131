"""Which surrogate speaks: candidates are fitted before each batch, and evidence chooses.

No set of kernel features is best in every space, and what the errors depend on is not known before
they are seen. So several kernels are fitted, and each is asked what it would have said of every
observation without it (:class:`~nasgoat.surrogate.ModelCheck`). The preferred one speaks unless
another would clearly have said it better. Where none has learnt anything, part of the batch is
random; that ends as soon as one has.

Instead of one that decides alone, several may propose in turn (``"in-turn"``): the paper's kernel,
the same with all blocks, and the normalised one with all blocks. One speaks if it predicts no worse
than those before it and is not far behind the best.

Notation
    m     observations
    G_i   m times the gain of candidate i: log density of all left-out observations, less that of a
          constant, in nats
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from nasgoat.kernels import PAPER_BLOCKS, PAPER_FORMS, block_names
from nasgoat.surrogate import GraphGP

#: The name by which settings ask for a choice among the candidates.
EVIDENCE = "evidence"
#: Nats of G by which another candidate must be ahead of the preferred one to speak instead: odds of
#: twenty to one. Smaller leads come and go with single observations.
LEAD = 3.0
#: The name by which settings ask for several candidates that propose in turn.
IN_TURN = "in-turn"
#: Nats of log density an observation behind the best from which on another is silent. Between fits
#: to errors of trained networks differences are mostly smaller from thirty graphs on; where errors
#: are as simple as the number of edges, they are larger after a dozen.
FAR_BEHIND = 0.1
#: One in so many proposals is random while no candidate has learnt anything.
RANDOM_EVERY = 5


@dataclass(frozen=True)
class Candidate:
    """A kernel that may speak.

    Args:
        form: The form of the kernel.
        blocks: Its blocks of features.
        priors: Whether its hyperparameters have priors.
    """

    form: str
    blocks: tuple[str, ...] = PAPER_BLOCKS
    priors: bool = False

    @property
    def options(self) -> dict[str, Any]:
        """What a :class:`~nasgoat.GraphGP` is made with."""
        return {"kernel": self.form, "blocks": self.blocks, "priors": self.priors}


#: The exponential kernel with all blocks, which is preferred, and that of the paper.
CANDIDATES = (
    Candidate("exponential", tuple(block_names()), priors=True),
    Candidate("exponential"),
)


#: Those that propose in turn, the one that needs no excuse to speak first.
VOICES = (*CANDIDATES[::-1], Candidate("normalised", tuple(block_names()), priors=True))


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


def has_learnt(fits: Sequence[GraphGP]) -> bool:
    """Whether one of the fitted candidates has learnt anything."""
    return any(gp.check_.learnt for gp in fits)


def choose_voices(fits: Sequence[GraphGP]) -> list[GraphGP]:
    """The fitted candidates that propose in turn; all of them while none has learnt anything.

    Example:
        >>> import numpy as np
        >>> from nasgoat import nasbench201
        >>> cells = nasbench201().sample(30, np.random.default_rng(0))
        >>> errors = [float(len(cell.edges)) for cell in cells]
        >>> fits = [GraphGP(nasbench201(), **c.options).fit(cells, errors) for c in VOICES]
        >>> choose_voices(fits) == fits[:1]  # far ahead where errors are a plain sum of labels
        True
    """
    if not has_learnt(fits):
        return list(fits)
    gains = [gp.check_.gain or 0.0 for gp in fits]
    least = max(gains) - FAR_BEHIND
    return [gp for i, gp in enumerate(fits) if gains[i] >= max(*gains[: i + 1], least)]


def choose_speaker(fits: Sequence[GraphGP]) -> GraphGP:
    """The fitted candidate that proposes; the first is the preferred one.

    Example:
        >>> import numpy as np
        >>> from nasgoat import nasbench201
        >>> cells = nasbench201().sample(30, np.random.default_rng(0))
        >>> errors = [float(len(cell.edges)) for cell in cells]
        >>> fits = [GraphGP(nasbench201(), **c.options).fit(cells, errors) for c in CANDIDATES]
        >>> choose_speaker(fits) is fits[1]  # far ahead where errors are a plain sum of labels
        True
        >>> choose_speaker(fits[:1]) is fits[0]
        True
    """
    gains = [(gp.check_.gain or 0.0) * len(gp.targets_) for gp in fits]
    gains[0] += LEAD
    return fits[gains.index(max(gains))]
