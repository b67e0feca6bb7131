"""Branch and bound as the engine that minimises sums of parts (acquisition/relaxation.py)."""

from __future__ import annotations

from collections.abc import Collection
from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from nasgoat.acquisition.branch.blocks import Listing
from nasgoat.acquisition.lower_confidence_bound import LinearAcquisition
from nasgoat.acquisition.proposals import Pool
from nasgoat.acquisition.relaxation import Sieve
from nasgoat.compiled import one_blas_thread
from nasgoat.spaces import CellSpace, GraphSpace, SearchSpace
from nasgoat.spaces.limits import Limit

if TYPE_CHECKING:
    from nasgoat.acquisition.branch.optimizer import BranchAndBound


@dataclass(frozen=True)
class PartEngine:
    """Minimises lower confidence bounds, and offers a sieve every graph below its cut-off."""

    search: BranchAndBound

    @property
    def space(self) -> SearchSpace:
        """The space that is searched."""
        return self.search.space

    def solve(
        self,
        acquisition: LinearAcquisition,
        k: int,
        exclude: Collection[bytes],
        deadline: float | None,
    ) -> Pool:
        """The k best graphs that are not excluded, or as far as it came by the deadline."""
        return self.search._minimize(acquisition, k, exclude, deadline)

    def limit(self, limits: Collection[Limit]) -> PartEngine:
        """The same engine within further limits; what it has listed serves both."""
        return PartEngine(limit_search(self.search, limits)) if limits else self

    def sift(
        self, acquisition: LinearAcquisition, sieve: Sieve, deadline: float | None
    ) -> float | None:
        """Offer the sieve every graph below its cut-off; a bound on what was not looked at."""
        with one_blas_thread():
            return self.search._search(acquisition, sieve, deadline)


def limit_search(search: BranchAndBound, limits: Collection[Limit]) -> BranchAndBound:
    """The same search within further limits; what it has listed serves both."""
    limited = copy(search)
    limited.space = search.space.constrain(*limits)
    if search._labelled is not None:
        limited._labelled = search._labelled.limit(cast(GraphSpace, limited.space))
    cells = cast(CellSpace, limited.space)  # asked for nothing where graphs are declared
    limited._linear = _limit_listing(search._linear, cells)
    limited._exponential = _limit_listing(search._exponential, cells)
    return limited


def _limit_listing(listing: Listing, space: CellSpace) -> Listing:
    blocks = [replace(block, space=space) for block in listing._blocks]
    return replace(listing, space=space, _blocks=blocks, growing=list(listing.growing))
