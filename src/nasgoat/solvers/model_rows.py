"""How solvers read a formulation: variables and rows of a Pyomo model, taken apart in one place.

SCIP and Gurobi get the same numbers that way, and none that is not finite.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import pyomo.environ as pyo
from pyomo.repn import generate_standard_repn

from nasgoat.formulations import name_entry
from nasgoat.solvers import SolverError


class SolverVariable(NamedTuple):
    """A variable as solvers take it; ``kind`` is "C", "B" or "I", a missing bound None."""

    name: str
    kind: str
    lower: float | None
    upper: float | None


class Expression(NamedTuple):
    """Constant + Σ c x + Σ c x y + the rest; variables are Pyomo's."""

    constant: float
    linear: list[tuple[float, Any]]
    quadratic: list[tuple[float, Any, Any]]
    nonlinear: Any


class Row(NamedTuple):
    """lower ≤ body ≤ upper; a missing side is None."""

    name: str
    body: Expression
    lower: float | None
    upper: float | None

    def compare(self, body: Any) -> Any:
        """The row as a comparison, given its body in a solver's own terms."""
        if self.lower is not None and self.lower == self.upper:
            return body == self.lower
        return body <= self.upper if self.upper is not None else body >= self.lower


def read_variable(var: Any) -> SolverVariable:
    """A Pyomo variable as solvers take it.

    Example:
        >>> from nasgoat.formulations import TaggedModel
        >>> m = TaggedModel(2)
        >>> read_variable(m.add_variable("x", [()], pyo.Binary, lambda g: 0.0))
        SolverVariable(name='x', kind='B', lower=0.0, upper=1.0)
    """
    kind = "C" if var.is_continuous() else ("B" if var.is_binary() else "I")
    return SolverVariable(name_entry(var), kind, read_bound(var.lb, var), read_bound(var.ub, var))


def read_row(row: Any) -> Row:
    """A Pyomo constraint, taken apart."""
    lower, upper = (read_bound(side, row) for side in (row.lower, row.upper))
    return Row(name_entry(row), read_expression(row.body), lower, upper)


def read_expression(body: Any) -> Expression:
    """A Pyomo expression by the degree of its terms."""
    parts = generate_standard_repn(body, quadratic=True)
    linear = zip(parts.linear_coefs, parts.linear_vars, strict=True)
    quadratic = zip(parts.quadratic_coefs or (), parts.quadratic_vars or (), strict=True)
    return Expression(
        constant=require_finite(parts.constant, body),
        linear=[(require_finite(c, body), x) for c, x in linear],
        quadratic=[(require_finite(c, body), x, y) for c, (x, y) in quadratic],
        nonlinear=parts.nonlinear_expr,
    )


def require_finite(value: Any, where: Any) -> float:
    """The number, if it is finite: SCIP accepts NaN silently and "solves" the model."""
    number = float(value)
    if not math.isfinite(number):
        raise SolverError(f"every number of a model must be finite, got {number} in {where}")
    return number


def read_bound(side: Any, where: Any) -> float | None:
    """A bound of a variable or a side of a row, where there is one."""
    return None if side is None else require_finite(pyo.value(side), where)
