"""Cuts that price structures exactly, wherever the labels of a linear program are integral.

Notation (a part whose structures are columns X, docs/compact-formulation.md)
    L        labels of all inner nodes
    b_i(L)   what the cell with structure i and labels L is worth: the surrogate's own value
    b_i      what any cell with structure i is worth at least

    lcb ≥ Σ_i b_i(L) X_i - M Σ_v (1 - F[v, L_v]),   M = max_i (b_i(L) - b_i)

At labels L it says what the cells are worth. With another label somewhere the second sum is at
least 1, the right side at most Σ_i b_i X_i, and that is no more than lcb. So it always holds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from nasgoat.formulations import entry_name
from nasgoat.formulations.tagged_model import Part

_INTEGRAL = 1e-6
_EXCESS = 1e-4  # violation that is worth a row, relative to values of size 1
_ROUNDING = 1e-9  # of values, which the surrogate adds up in another order


class LabelCuts:
    """Separates the cuts of one part.

    Args:
        model: A SCIP model of the part (``ScipModel``).
        part: Its columns and floors.
        values: What its structures are worth, given the label codes of all inner nodes.
    """

    def __init__(self, model: Any, part: Part, values: Callable[[Sequence[int]], Any]) -> None:
        self.values = values
        self.lcb = model.by_name["lcb"]
        self.columns = [model.by_name[entry_name(x)] for x in part.columns]
        self.floors = np.array(part.floors)
        self.labels: dict[int, list[tuple[int, Any]]] = {}
        for name, var in model.by_name.items():
            if name.startswith("F("):
                v, a = map(int, name[2:-1].split(","))
                self.labels.setdefault(v, []).append((a, var))

    def separate(self, scip: Any) -> bool:
        """Add the cut of the LP's labels if they are integral and it is violated."""
        chosen = []
        for v in sorted(self.labels):
            values = [(scip.getSolVal(None, x), a, x) for a, x in self.labels[v]]
            most, a, x = max(values, key=lambda triple: triple[0])
            if most < 1 - _INTEGRAL:
                return False
            chosen.append((a, x))
        worth = self.values([a for a, _ in chosen]) - _ROUNDING
        share = np.array([scip.getSolVal(None, x) for x in self.columns])
        if scip.getSolVal(None, self.lcb) >= float(worth @ share) - _EXCESS:
            return False
        self._add(scip, worth, [x for _, x in chosen])
        return True

    def _add(self, scip: Any, worth: Any, chosen: list[Any]) -> None:
        gain = float((worth - self.floors).max())
        row = scip.createEmptyRowUnspec(
            "labels", lhs=-gain * len(chosen), rhs=None, local=False, removable=True
        )
        scip.cacheRowExtensions(row)
        scip.addVarToRow(row, self.lcb, 1.0)
        for value, x in zip(worth.tolist(), self.columns, strict=True):
            scip.addVarToRow(row, x, -value)
        for x in chosen:
            scip.addVarToRow(row, x, -gain)
        scip.flushRowExtensions(row)
        scip.addCut(row, forcecut=True)
        scip.releaseRow(row)
