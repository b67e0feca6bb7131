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

from nasgoat.errors import SettingError
from nasgoat.formulations import TaggedModel
from nasgoat.formulations.tagged_model import ProgramPart
from nasgoat.formulations.variance_bound import VarianceBound
from nasgoat.solvers import SolveLimits, SolverError
from nasgoat.solvers.model_rows import (
    Expression,
    read_expression,
    read_row,
    read_variable,
    require_finite,
)

_ABOVE_ALL = 100_000  # SCIP's own branching rules have priorities up to 10,000
EXPORTS = (".lp", ".mps", ".cip", ".nl")


class ScipModel:
    """A SCIP model with the variables of a Pyomo model, by name.

    Args:
        rows: The model.
        separated: Leave out the convex row of the variance; its tangents are separated instead.

    Example:
        >>> from nasgoat.formulations import graph_encoding
        >>> ScipModel(graph_encoding(2)).count()  # no edge, either, both
        4
    """

    def __init__(self, rows: TaggedModel, separated: bool = False) -> None:
        self.scip = pyscipopt.Model()
        self.scip.hideOutput()
        self.bound: VarianceBound | None = None
        self.part: ProgramPart | None = None
        self.by_name: dict[str, Any] = {}
        self._by_id: dict[int, Any] = {}
        # Columns that some parts have and others lack: (row, coefficient) of each, by its id.
        columns = (var for part in rows.parts for var in part.columns) if separated else ()
        self._columns: dict[int, list[tuple[str, float]]] = {id(var): [] for var in columns}
        left_out = rows.convex if separated else set()
        for var in rows.list_variables():
            if var.parent_component().local_name not in left_out and id(var) not in self._columns:
                self._add_variable(var)
        for row in rows.list_constraints():
            if row.parent_component().local_name not in left_out:
                self._add_row(row)
        for objective in rows.pyomo.component_data_objects(pyo.Objective):
            self.scip.setObjective(
                self._write_expression(read_expression(objective.expr)), "minimize"
            )
        first = rows.branched_first
        self._first = {
            id(x) for x in rows.list_variables() if x.parent_component().local_name in first
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

    def copy_part(self, part: ProgramPart) -> ScipModel:
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

    def of(self, var: Any) -> Any:
        """SCIP's variable for one of Pyomo's."""
        return self._by_id[id(var)]

    def _add_bound(self, bound: VarianceBound) -> None:
        """The affine part a of the bound, and a first tangent, which bounds σ."""
        self.bound = bound
        affine = self.by_name["affine"] = self.scip.addVar("affine", lb=0.0)
        terms = [require_finite(c, x) * self._by_id[id(x)] for c, x in bound.affine]
        self.scip.addCons(affine == pyscipopt.quicksum(terms) + bound.constant, name="(QCR)a")
        first = bound.find_tangent(bound.centre, 1.0)
        self.scip.addCons(
            self.by_name["sigma"] <= first.slope * affine + first.constant, name="(QCR)first"
        )

    def set_parameters(self, limits: SolveLimits) -> None:
        """Settings for a search in which every point is cut off once it was judged."""
        scip, tangents, parts = self.scip, self.bound is not None, self.part is not None
        scip.setParam("limits/memory", limits.memory_mb)
        # The handler cuts points off one by one: reductions that keep only one optimum are unsound.
        scip.setParam("misc/allowweakdualreds", False)
        scip.setParam("misc/allowstrongdualreds", False)
        scip.setParam("misc/usesymmetry", 0)
        scip.setParam("presolving/maxrestarts", 0)
        # On cells of 6 and 7 nodes probing and general-purpose cuts cost more time than they
        # save (docs/compact-formulation.md). This also switches the cuts of nonlinear rows off.
        scip.setParam("propagating/probing/maxprerounds", 0)
        scip.setSeparating(pyscipopt.SCIP_PARAMSETTING.OFF)
        scip.setParam("constraints/nonlinear/sepafreq", -1 if tangents else 1)
        scip.setParam("separating/maxstallroundsroot", 100)
        scip.setParam("separating/maxrounds", 3 if tangents and not parts else 1)
        scip.setParam("separating/maxstallrounds", 3)
        if parts:
            # Labels first, the most fractional one: strong branching cost more than it saved.
            scip.setParam("branching/mostinf/priority", _ABOVE_ALL)
            scip.setParam("lp/pricing", "s")  # steepest edge: half the time of SoPlex's own choice
        # Two thirds of the time went into strong branching: fewer iterations, no propagation.
        scip.setParam("branching/relpscost/inititer", 30)
        scip.setParam("branching/relpscost/maxproprounds", 0)
        # Good graphs are known from local search before the tree starts.
        scip.setHeuristics(pyscipopt.SCIP_PARAMSETTING.OFF)

    def count(self) -> int:
        """Number of feasible points in the integer variables, counted exactly."""
        self.scip.setParamsCountsols()
        # Only enumerates soundly if no reduction drops feasible points.
        self.scip.setPresolve(pyscipopt.SCIP_PARAMSETTING.OFF)
        self.scip.count()
        if self.scip.getStatus() != "infeasible" and self.scip.getNCountedSols() < 0:
            raise SolverError("the number of feasible points must be countable, got an overflow")
        return int(self.scip.getNCountedSols())

    def is_feasible(self, seconds: float = 60.0) -> bool:
        """Whether the rows have a solution at all.

        Raises:
            SolverError: If that is not decided in time.
        """
        self.scip.setParam("limits/time", seconds)
        self.scip.setParam("limits/solutions", 1)
        self.scip.optimize()
        status = self.scip.getStatus()
        found = int(self.scip.getNSols()) > 0
        if not found and status != "infeasible":
            raise SolverError(f"SCIP must decide whether a graph exists, got {status}")
        return found

    def _add_variable(self, var: Any) -> None:
        column = read_variable(var)
        added = self.scip.addVar(column.name, vtype=column.kind, lb=column.lower, ub=column.upper)
        self.by_name[column.name] = self._by_id[id(var)] = added

    def _add_row(self, constraint: Any) -> None:
        row = read_row(constraint)
        self.scip.addCons(row.compare(self._write_expression(row.body, row.name)), name=row.name)

    def _write_expression(self, body: Expression, row: str = "") -> Any:
        """An expression in PySCIPOpt's terms, but for columns that parts add to this row."""
        of, terms = self._by_id, []
        for c, x in body.linear:
            if id(x) in self._columns:
                self._columns[id(x)].append((row, c))
            else:
                terms.append(c * of[id(x)])
        terms += [c * of[id(x)] * of[id(y)] for c, x, y in body.quadratic]
        expression = pyscipopt.quicksum(terms) + body.constant
        if body.nonlinear is not None:
            expression = expression + self._write_nonlinear(body.nonlinear)
        return expression

    def _write_nonlinear(self, node: Any) -> Any:
        """Sums and multiples of exp(linear), which is all that (exponential) needs."""
        if isinstance(node, NegationExpression):
            return -self._write_nonlinear(node.args[0])
        if isinstance(node, SumExpression):
            return pyscipopt.quicksum(self._write_nonlinear(part) for part in node.args)
        if isinstance(node, UnaryFunctionExpression) and node.getname() == "exp":
            return pyscipopt.exp(self._write_expression(read_expression(node.args[0])))
        if isinstance(node, ProductExpression) and not isinstance(node, MonomialTermExpression):
            factor, rest = node.args
            if not hasattr(factor, "is_expression_type") or not factor.is_potentially_variable():
                return require_finite(pyo.value(factor), node) * self._write_nonlinear(rest)
        raise SolverError(f"a row must be quadratic or hold exp of a linear term, got {node}")


def export(rows: TaggedModel, path: str | Path) -> Path:
    """Write a model to a file whose rows are named by the paper's tags.

    Args:
        rows: The model.
        path: Ends in .lp, .mps, .cip (SCIP's own) or .nl.
    """
    target = Path(path)
    if target.suffix not in EXPORTS:
        endings = ", ".join(EXPORTS)
        raise SettingError(f"an exported model must end in {endings}, got {target.name!r}")
    nonlinear = any(read_row(row).body.nonlinear is not None for row in rows.list_constraints())
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
