"""Cuts of our own for SCIP: tangents of the variance, and exact prices of structures.

Tangents (:mod:`~nasgoat.formulations.variance_bound`): one row in place of SCIP's own treatment of
a convex row, which needs dozens of auxiliary variables.

Label cuts (a part whose structures are columns X, docs/compact-formulation.md), with
    L        labels of all inner nodes
    b_i(L)   what the cell with structure i and labels L is worth: the surrogate's own value
    b_i      what any cell with structure i is worth at least

    lcb ≥ Σ_i b_i(L) X_i - M Σ_v (1 - F[v, L_v]),   M = max_i (b_i(L) - b_i)

At labels L it says what the cells are worth. With another label somewhere the second sum is at
least 1, the right side at most Σ_i b_i X_i, and that is no more than lcb. So it always holds.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from nasgoat.formulations.tagged_model import Part
from nasgoat.formulations.variance_bound import VarianceBound
from nasgoat.solvers.scip_model import ScipModel

_INTEGRAL = 1e-6  # SCIP's own feasibility tolerance
_TANGENT_EXCESS = 1e-3  # relative violation of a tangent that is worth a row
_LABEL_EXCESS = 1e-4  # violation of a label cut that is worth a row, for values of size 1
_ROUNDING = 1e-9  # of values, which the surrogate adds up in another order


class Tangents:
    """Separates the concave bound of σ.

    Args:
        model: A SCIP model with the variables of the bound.
        bound: σ² ≤ a - ‖Bᵀ(z - z̄)‖².
    """

    def __init__(self, model: ScipModel, bound: VarianceBound) -> None:
        self.bound = bound
        self.sigma, self.affine = model.by_name["sigma"], model.by_name["affine"]
        self.z = [model.of(x) for x in bound.z]
        self.variables = [self.sigma, self.affine, *self.z]

    def separate(self, scip: Any) -> bool:
        """Add the tangent at the LP's solution if it cuts that off."""
        z = np.array([scip.getSolVal(None, x) for x in self.z])
        affine = scip.getSolVal(None, self.affine)
        tangent = self.bound.tangent(z, affine)
        most = tangent.slope * affine + float(tangent.slopes @ z) + tangent.constant
        if scip.getSolVal(None, self.sigma) <= most + _TANGENT_EXCESS * max(abs(most), 1.0):
            return False
        slopes = [(-slope, x) for slope, x in zip(tangent.slopes.tolist(), self.z, strict=True)]
        terms = [(1.0, self.sigma), (-tangent.slope, self.affine), *slopes]
        _add_cut(scip, "tangent", terms, rhs=tangent.constant)
        return True


class LabelCuts:
    """Separates the label cuts of one part.

    Args:
        model: A SCIP model of the part.
        part: Its columns, floors, labels and exact values.
    """

    def __init__(self, model: ScipModel, part: Part) -> None:
        self.values = part.values
        self.lcb = model.by_name["lcb"]
        self.columns = [model.of(x) for x in part.columns]
        self.floors = np.array(part.floors)
        self.labels = [[(a, model.of(x)) for a, x in choices] for choices in part.labels]

    def separate(self, scip: Any) -> bool:
        """Add the cut of the LP's labels if they are integral and it is violated."""
        if self.values is None:
            return False
        chosen = []
        for choices in self.labels:
            most, a, x = max(
                ((scip.getSolVal(None, x), a, x) for a, x in choices), key=lambda triple: triple[0]
            )
            if most < 1 - _INTEGRAL:
                return False
            chosen.append((a, x))
        worth = self.values([a for a, _ in chosen]) - _ROUNDING
        share = np.array([scip.getSolVal(None, x) for x in self.columns])
        if scip.getSolVal(None, self.lcb) >= float(worth @ share) - _LABEL_EXCESS:
            return False
        gain = float((worth - self.floors).max())
        prices = [(-value, x) for value, x in zip(worth.tolist(), self.columns, strict=True)]
        terms = [(1.0, self.lcb), *prices, *((-gain, x) for _, x in chosen)]
        _add_cut(scip, "labels", terms, lhs=-gain * len(chosen))
        return True


def _add_cut(
    scip: Any,
    name: str,
    terms: Iterable[tuple[float, Any]],
    lhs: float | None = None,
    rhs: float | None = None,
) -> None:
    """A row lhs ≤ Σ c x ≤ rhs that holds in the whole tree."""
    row = scip.createEmptyRowUnspec(name, lhs=lhs, rhs=rhs, local=False, removable=True)
    scip.cacheRowExtensions(row)
    for coefficient, x in terms:
        scip.addVarToRow(row, x, coefficient)
    scip.flushRowExtensions(row)
    scip.addCut(row, forcecut=True)
    scip.releaseRow(row)
