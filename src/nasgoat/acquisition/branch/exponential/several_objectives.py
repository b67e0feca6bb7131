"""Functions of several objectives under the exponential kernel, over all labellings at once.

Each objective alone leaves many graphs, and sums of them are no posterior. Where there are few
labellings, every one gets the means of all objectives and bounds on their deviations, and with them
a bound on the function (Lemma 7 of docs/acquisition-functions.md); those that may be better are
scored. A batch shares the first step: graphs that are believed to come out as predicted change no
mean, and make no deviation larger.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from nasgoat.acquisition.boxes import Boxes, Places
from nasgoat.acquisition.branch.cells.structures import Block
from nasgoat.acquisition.branch.exponential.every_labelling import Labellings, note_block
from nasgoat.acquisition.branch.records import Floats
from nasgoat.acquisition.costs import FEW_TOGETHER
from nasgoat.acquisition.engines import is_over
from nasgoat.acquisition.k_best import AGREEMENT, KBest
from nasgoat.acquisition.lower_confidence_bound import LinearAcquisition
from nasgoat.acquisition.several import KnownCost, Part, SeveralAcquisition
from nasgoat.compiled import Threads
from nasgoat.spaces.limits import Limit
from nasgoat.surrogate.posterior import ExponentialPosterior, NormalisedPosterior, Posterior

_BYTES = 100  # that a labelling takes, about


@dataclass(frozen=True, eq=False)
class _Known:
    """A part at every labelling.

    Args:
        source: The posterior, or the terms of the cost.
        mean: Means, or costs, shape (labellings,).
        std: Upper bounds on deviations, shape (labellings,).
    """

    source: Posterior | Limit
    mean: Floats
    std: Floats


@dataclass(eq=False)
class JointSearch:
    """What is known of all labellings of a block, kept from one question to the next.

    Args:
        block: The structures.
    """

    block: Block
    _labellings: Labellings | None = None
    _known: tuple[_Known, ...] = ()
    _boxes: Boxes | None = None

    @classmethod
    def of(cls, blocks: Sequence[Block], memory: float) -> JointSearch | None:
        """The search of a space's blocks; None if they have too many labellings.

        Args:
            blocks: All blocks of the space.
            memory: Bytes that it may take.
        """
        if len(blocks) != 1 or blocks[0].prefix_states is not None:
            return None
        total = float((float(blocks[0].labels) ** blocks[0].shapes.variables).sum())
        return cls(blocks[0]) if total <= min(FEW_TOGETHER, memory / _BYTES) else None

    def minimize(
        self, function: SeveralAcquisition, best: KBest, threads: Threads, deadline: float | None
    ) -> float | None:
        """Fill ``best`` with the best graphs under a function of several parts.

        Returns:
            A lower bound of all graphs that were not looked at; None if none could be better.
        """
        if not self._learn(function.parts, threads, deadline) or self._labellings is None:
            return -np.inf
        if self._boxes is None:
            return None  # there is no graph within the limits

        def reach() -> float:
            return best.cutoff + AGREEMENT * (1.0 + abs(best.cutoff))

        for bound, places in self._boxes.walk(function, reach):
            if is_over(deadline):
                return bound
            values = function.combine(*self._labellings.measure(function.parts, places))
            _keep_best(best, self._labellings, places, values)
        return None

    def _learn(self, parts: Sequence[Part], threads: Threads, deadline: float | None) -> bool:
        """Measure the parts that are not known yet; False if the time is up."""
        sources = [_find_source(part) for part in parts]
        if self._known and [known.source for known in self._known] == sources:
            return True
        found = {
            i: known for i, s in enumerate(sources) for known in self._known if known.source == s
        }
        costs_last = sorted(range(len(parts)), key=lambda i: isinstance(parts[i], KnownCost))
        for i in costs_last:
            known = found.get(i) or self._measure(parts[i], threads, deadline)
            if known is None:
                return False
            found[i] = known
        self._known = tuple(found[i] for i in range(len(parts)))
        mean, std = np.stack([k.mean for k in self._known]), np.stack([k.std for k in self._known])
        self._boxes = Boxes.of(mean, std) if mean.shape[1] else None
        return True

    def _measure(self, part: Part, threads: Threads, deadline: float | None) -> _Known | None:
        """A part at every labelling; None if the time is up."""
        source = _find_source(part)
        if isinstance(part, KnownCost) and self._labellings is not None:
            cost = self._labellings.measure_cost(part)
            return _Known(source, cost, np.zeros(len(cost)))
        posterior = cast(ExponentialPosterior | NormalisedPosterior, source)
        features = cast(LinearAcquisition, part).features
        noted = note_block(self.block, features, posterior, threads, deadline)
        if noted is None:
            return None
        if self._labellings is None:
            self._labellings = Labellings(self.block, noted)
        return _Known(source, noted.mean, noted.std)


def _keep_best(best: KBest, labellings: Labellings, places: Places, values: Floats) -> None:
    """Keep the best of some labellings; only those that may be kept become graphs, k at a time."""
    ranked = np.argsort(values, kind="stable")
    for start in range(0, len(ranked), best.k):
        chosen = ranked[start : start + best.k]
        chosen = chosen[values[chosen] < best.cutoff]
        if len(chosen) == 0:
            break
        graphs = [labellings.graph(place) for place in places[chosen].tolist()]
        best.add([g for g in graphs if not best.space.all_limits or g in best.space])


def _find_source(part: Part) -> Posterior | Limit:
    """What a part's means and bounds on deviations depend on, graphs that are believed aside."""
    if isinstance(part, KnownCost):
        return part.total
    return (part.before() or part).posterior


def is_joint(function: SeveralAcquisition) -> bool:
    """Whether all objectives with a model have a kernel whose labellings can be listed here."""
    return all(
        isinstance(part.posterior, ExponentialPosterior | NormalisedPosterior)
        and not part.features.codes
        for part in function.modelled
    )
