"""Pyomo models handed to SCIP through PySCIPOpt, names and tags kept."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pyomo.environ as pyo
import pyscipopt
from pyomo.core.expr.numeric_expr import (
    MonomialTermExpression,
    NegationExpression,
    ProductExpression,
    SumExpression,
    UnaryFunctionExpression,
)
from pyomo.repn import generate_standard_repn

from nasgoat.errors import SettingError
from nasgoat.formulations import TaggedModel, entry_name
from nasgoat.formulations.tagged_model import Part
from nasgoat.formulations.variance_bound import VarianceBound
from nasgoat.solvers.limits import SolverError

_PROJECTED = "q"
_CONVEX = ("(QCR)q", "(Acq_Opt)variance")
EXPORTS = (".lp", ".mps", ".cip", ".nl")


class ScipModel:
    """A SCIP model with the variables of a Pyomo model, by name.

    Args:
        rows: The model.
        separated: Replace the convex row of the variance by its bound, to be separated.

    Example:
        >>> from nasgoat.formulations import graph_encoding
        >>> ScipModel(graph_encoding(2)).count()  # no edge, either, both
        4
    """

    def __init__(self, rows: TaggedModel, separated: bool = False) -> None:
        self.scip = pyscipopt.Model()
        self.scip.hideOutput()
        self.bound: VarianceBound | None = None
        self.part: Part | None = None
        self.by_name: dict[str, Any] = {}
        self._by_id: dict[int, Any] = {}
        # Columns that some parts have and others lack: (row, coefficient) of each, by its id.
        columns = (var for part in rows.parts for var in part.columns) if separated else ()
        self._columns: dict[int, list[tuple[str, float]]] = {id(var): [] for var in columns}
        for var in rows.variables():
            if separated and var.parent_component().local_name == _PROJECTED:
                continue
            if id(var) not in self._columns:
                self._add_variable(var)
        for row in rows.constraints():
            if not (separated and row.parent_component().local_name in _CONVEX):
                self._add_row(row)
        for objective in rows.pyomo.component_data_objects(pyo.Objective):
            self.scip.setObjective(self._expression(objective.expr), "minimize")
        self._first = {
            id(var)
            for var in rows.variables()
            if var.parent_component().local_name in rows.branched_first
        }
        self._branch_first()
        if separated and not rows.parts:
            self._add_bound(rows.variance)

    def copy(self) -> ScipModel:
        """The same model, not solved yet."""
        copy = ScipModel.__new__(ScipModel)
        copy.scip = pyscipopt.Model(sourceModel=self.scip, origcopy=True)
        copy.scip.hideOutput()
        copy.bound, copy.part = self.bound, self.part
        copy.by_name = {var.name: var for var in copy.scip.getVars()}
        copy._by_id = {id_: copy.by_name[var.name] for id_, var in self._by_id.items()}
        copy._columns = self._columns
        copy._first = self._first
        copy._branch_first()  # SCIP's copy forgets it
        return copy

    def of_part(self, part: Part) -> ScipModel:
        """A copy that holds the cells of one part, with the bound of their variance."""
        copy = self.copy()
        copy.scip.chgVarLb(copy._by_id[id(part.chosen)], 1.0)
        rows = {row.name: row for row in copy.scip.getConss()} if part.columns else {}
        for var in part.columns:
            copy._add_variable(var)
            for row, coefficient in self._columns[id(var)]:
                copy.scip.addConsCoeff(rows[row], copy._by_id[id(var)], coefficient)
        if part.columns and math.isfinite(min(part.floors)):
            columns = [copy._by_id[id(var)] for var in part.columns]
            least = pyscipopt.quicksum(c * x for c, x in zip(part.floors, columns, strict=True))
            copy.scip.addCons(copy.by_name["lcb"] >= least, name="(structures)floor")
        copy._add_bound(part.variance())
        copy.part = part
        return copy

    def _branch_first(self) -> None:
        for id_ in self._first:
            self.scip.chgVarBranchPriority(self._by_id[id_], 1)

    @property
    def counted(self) -> list[str]:
        """Names of the counts z in the bound of the variance."""
        return [] if self.bound is None else [entry_name(x) for x in self.bound.z]

    def _add_bound(self, bound: VarianceBound) -> None:
        """The affine part a of the bound, and a first tangent, which bounds σ."""
        self.bound = bound
        affine = self.by_name["affine"] = self.scip.addVar("affine", lb=0.0)
        terms = [_finite(c, x) * self._by_id[id(x)] for c, x in bound.affine]
        self.scip.addCons(affine == pyscipopt.quicksum(terms) + bound.constant, name="(QCR)a")
        first = bound.tangent(bound.centre, 1.0)
        self.scip.addCons(
            self.by_name["sigma"] <= first.slope * affine + first.constant, name="(QCR)first"
        )

    def count(self) -> int:
        """Number of feasible points in the integer variables, counted exactly."""
        self.scip.setParamsCountsols()
        # Only enumerates soundly if no reduction drops feasible points.
        self.scip.setPresolve(pyscipopt.SCIP_PARAMSETTING.OFF)
        self.scip.count()
        if self.scip.getStatus() != "infeasible" and self.scip.getNCountedSols() < 0:
            raise SolverError("the number of feasible points must be countable, got an overflow")
        return int(self.scip.getNCountedSols())

    def feasible(self, seconds: float = 60.0) -> bool:
        """Whether the rows have a solution at all.

        Raises:
            SolverError: If that is not decided in time.
        """
        self.scip.setParam("limits/time", seconds)
        self.scip.setParam("limits/solutions", 1)
        self.scip.optimize()
        status = self.scip.getStatus()
        if self.scip.getNSols() > 0:
            return True
        if status != "infeasible":
            raise SolverError(f"SCIP must decide whether a graph exists, got {status}")
        return False

    def _add_variable(self, var: Any) -> None:
        kind = "C" if var.is_continuous() else ("B" if var.is_binary() else "I")
        lower = None if var.lb is None else _finite(var.lb, var)
        upper = None if var.ub is None else _finite(var.ub, var)
        name = entry_name(var)
        added = self.scip.addVar(name, vtype=kind, lb=lower, ub=upper)
        self.by_name[name] = self._by_id[id(var)] = added

    def _add_row(self, row: Any) -> None:
        name = entry_name(row)
        body = self._expression(row.body, name)
        lower = None if row.lower is None else _finite(pyo.value(row.lower), row)
        upper = None if row.upper is None else _finite(pyo.value(row.upper), row)
        if lower is not None and lower == upper:
            self.scip.addCons(body == lower, name=name)
        elif upper is not None:
            self.scip.addCons(body <= upper, name=name)
        else:
            self.scip.addCons(body >= lower, name=name)

    def _expression(self, body: Any, row: str = "") -> Any:
        """A Pyomo expression in PySCIPOpt's terms, but for columns that parts add to this row."""
        parts = generate_standard_repn(body, quadratic=True)
        of, terms = self._by_id, []
        for c, x in zip(parts.linear_coefs, parts.linear_vars, strict=True):
            if id(x) in self._columns:
                self._columns[id(x)].append((row, _finite(c, body)))
            else:
                terms.append(_finite(c, body) * of[id(x)])
        products = zip(parts.quadratic_coefs or (), parts.quadratic_vars or (), strict=True)
        terms += [_finite(c, body) * of[id(x)] * of[id(y)] for c, (x, y) in products]
        expression = pyscipopt.quicksum(terms) + _finite(parts.constant, body)
        if parts.nonlinear_expr is not None:
            expression = expression + self._nonlinear(parts.nonlinear_expr)
        return expression

    def _nonlinear(self, node: Any) -> Any:
        """Sums and multiples of exp(linear), which is all that (exponential) needs."""
        if isinstance(node, NegationExpression):
            return -self._nonlinear(node.args[0])
        if isinstance(node, SumExpression):
            return pyscipopt.quicksum(self._nonlinear(part) for part in node.args)
        if isinstance(node, UnaryFunctionExpression) and node.getname() == "exp":
            return pyscipopt.exp(self._expression(node.args[0]))
        if isinstance(node, ProductExpression) and not isinstance(node, MonomialTermExpression):
            factor, rest = node.args
            if not hasattr(factor, "is_expression_type") or not factor.is_potentially_variable():
                return _finite(pyo.value(factor), node) * self._nonlinear(rest)
        raise SolverError(f"a row must be quadratic or hold exp of a linear term, got {node}")


def export(rows: TaggedModel, path: str | Path) -> Path:
    """Write a model to a file whose rows are named by the paper's tags.

    Args:
        rows: The model.
        path: Ends in .lp, .mps, .cip (SCIP's own) or .nl.
    """
    target = Path(path)
    if target.suffix not in EXPORTS:
        known = ", ".join(EXPORTS)
        raise SettingError(f"an exported model must end in {known}, got {target.name!r}")
    nonlinear = any(
        generate_standard_repn(r.body, quadratic=True).nonlinear_expr is not None
        for r in rows.constraints()
    )
    if nonlinear and target.suffix in (".lp", ".mps"):
        raise SettingError(
            f"a model with exp must be exported as .cip or .nl, got {target.name!r}; "
            f"{target.suffix} holds linear and quadratic rows only"
        )
    if target.suffix == ".nl":
        rows.pyomo.write(str(target), io_options={"symbolic_solver_labels": True})
    else:
        ScipModel(rows).scip.writeProblem(str(target), verbose=False)
    return target


def _finite(value: Any, where: Any) -> float:
    """SCIP accepts NaN silently and 'solves' the model: never hand it one."""
    number = float(value)
    if not math.isfinite(number):
        raise SolverError(f"every number of a model must be finite, got {number} in {where}")
    return number
