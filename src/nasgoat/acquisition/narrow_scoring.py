"""Scoring graphs by the columns that some observed graph has; all others count together.

Notation
    x_j    codes of the blocks beside the paper's: 0 or 1
    p_j    row of projections, so that k_lin(x, X) = Σ_j x_j p_j
    s_j    squares, so that k_lin(x, x) = Σ_j s_j x_j²

A block that tells hundreds of kinds of nodes apart has hundreds of columns, most of them 0 in
every observed graph. There p_j = 0, so that only their part of k_lin(x, x) is left. Within a block
all s_j are the same, so that part is s times the number of ones among them: all ones of the block,
which are counted once for a catalogue, less those in the columns that are kept. It enters as the
square of one further column.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from nasgoat.kernels import FeatureMap
from nasgoat.surrogate import ExponentialPosterior, Posterior
from nasgoat.surrogate.posterior import NormalisedPosterior

Array = NDArray[np.float64]
_BLOCK = 2048  # rows scored at a time: they and their products stay in the cache


@dataclass(frozen=True, eq=False)
class NarrowPosterior:
    """A posterior as a function of counts, of which only the columns that matter are encoded.

    Args:
        posterior: On the paper's counts, the columns that are kept, and one for all others.
        kept: For each further block the columns of its code that are kept.
        squares: For each further block s.
    """

    posterior: ExponentialPosterior | NormalisedPosterior
    kept: Mapping[str, NDArray[np.intp]]
    squares: Mapping[str, float]

    @classmethod
    def of(cls, on_counts: Posterior, features: FeatureMap) -> NarrowPosterior | None:
        """The same posterior on fewer columns; None where no column can be left out.

        Args:
            on_counts: A posterior as a function of counts.
            features: What these counts are.
        """
        if not features.codes or not isinstance(
            on_counts, ExponentialPosterior | NormalisedPosterior
        ):
            return None
        end = len(on_counts.squares) - sum(code.width for code in features.codes.values())
        chosen, kept, squares = [np.arange(end)], {}, {}
        for name, code in features.codes.items():
            start, end = end, end + code.width
            seen = np.flatnonzero(on_counts.projections[start:end].any(axis=1))
            chosen.append(start + seen)
            kept[name] = seen
            squares[name] = float(on_counts.squares[start]) if code.width else 0.0
        columns = np.concatenate(chosen)
        zeros = np.zeros((1, on_counts.projections.shape[1]))
        narrow = replace(
            on_counts,
            projections=np.concatenate([on_counts.projections[columns], zeros]),
            squares=np.append(on_counts.squares[columns], 1.0),
        )
        return cls(narrow, kept, squares)

    def mean_std(
        self,
        features: FeatureMap,
        paper: NDArray[np.integer],
        others: Mapping[str, NDArray[np.integer]],
        ones: Mapping[str, NDArray[np.integer]],
    ) -> tuple[Array, Array]:
        """Posterior mean and standard deviation of graphs.

        Args:
            features: What is counted.
            paper: The counts of the paper's blocks, shape (B, columns).
            others: Those of each further block.
            ones: For each further block how many ones its whole code has, shape (B,).
        """
        width, first = len(self.posterior.squares), paper.shape[1]
        mean, std = np.empty(len(paper)), np.empty(len(paper))
        for start in range(0, len(paper), _BLOCK):
            part = slice(start, start + _BLOCK)
            x = np.empty((len(paper[part]), width))
            x[:, :first], x[:, -1], end = paper[part], 0.0, first
            for name, code in features.codes.items():
                begin, end = end, end + len(self.kept[name])
                x[:, begin:end] = code.encode(others[name][part], self.kept[name])
                x[:, -1] += self.squares[name] * ones[name][part]
            x[:, -1] -= x[:, first:end] @ self.posterior.squares[first:end]
            x[:, -1] = np.sqrt(np.maximum(x[:, -1], 0.0))
            mean[part], std[part] = self.posterior.mean_std(x)
        return mean, std
