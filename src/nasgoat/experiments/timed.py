"""Methods and optimisers whose processor time is measured, and is all their own.

An acquisition optimiser works in this process and is compiled beforehand; a method keeps what its
proposals took.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from nasgoat.acquisition import (
    AcquisitionOptimizer,
    Effort,
    Proposal,
    make_optimizer,
    optimizer_names,
)
from nasgoat.bayesopt import Asker
from nasgoat.errors import SettingError, UnknownNameError
from nasgoat.experiments.study import check_names
from nasgoat.graphs import LabeledGraph
from nasgoat.kernels import PAPER_BLOCKS
from nasgoat.spaces import SearchSpace
from nasgoat.upper_layers import FORMULATIONS, SOLVERS

DEFAULT_SECONDS = 1800.0  # for one solve, as in the paper


class TimedAsker:
    """Passes everything on and keeps the processor time of the proposals.

    Args:
        asker: The method.

    Example:
        >>> from nasgoat import make_method, nasbench201
        >>> timed = TimedAsker(make_method("random", nasbench201(), initial=1))
        >>> for proposal in timed.ask(1):
        ...     timed.tell(proposal.graph, 10.0)
        >>> timed.asked, len(timed.ask(2)), timed.asked
        (0, 2, 1)
    """

    def __init__(self, asker: Asker) -> None:
        self.asker = asker
        self.initial = asker.initial
        self.used, self.asked = 0.0, 0
        self._told = 0

    @property
    def surrogate(self) -> Any:
        """That of the method, for the hyperparameters in the record."""
        return getattr(self.asker, "surrogate", None)

    def ask(self, k: int = 1) -> list[Proposal]:
        """Proposals of the method; those after the initial design are timed."""
        start = time.process_time()
        proposals = self.asker.ask(k)
        if self._told >= self.initial:
            self.used += time.process_time() - start
            self.asked += 1
        return proposals

    def tell(self, graph: LabeledGraph, error: float) -> None:
        """Pass on an error."""
        self._told += 1
        self.asker.tell(graph, error)

    def tell_failed(self, graph: LabeledGraph) -> None:
        """Pass on a failure."""
        self._told += 1
        self.asker.tell_failed(graph)


def check_optimizer(key: str, name: str) -> tuple[str, str]:
    """The optimiser and the formulation that a name says; the key of a file is for the error.

    Example:
        >>> check_optimizer("methods", "scip/compact/independent")
        ('scip', 'compact')
    """
    solver, slash, formulation = name.removesuffix("/independent").partition("/")
    if (slash or name != solver) and solver not in SOLVERS:
        raise SettingError(f"{key} with a formulation must be scip/... or gurobi/..., got {name!r}")
    if slash and formulation not in FORMULATIONS:
        raise UnknownNameError(key, name, [f"{solver}/{form}" for form in FORMULATIONS])
    check_names(key, [solver], optimizer_names())
    return solver, formulation


def make_timed_optimizer(
    name: str,
    space: SearchSpace,
    kernel: str,
    questions: int = 1,
    seconds: float = DEFAULT_SECONDS,
    gap: float = 1e-4,
    blocks: Sequence[str] = PAPER_BLOCKS,
    acquisition: str = "lcb",
) -> AcquisitionOptimizer:
    """An optimiser whose processor time is all its own and all of it.

    Args:
        name: ``scip/compact``, ``scip/paper``, ``gurobi/compact`` or the name of an optimiser. With
            ``/independent`` at the end the MIP takes nothing from branch and bound.
        space: The space to optimise over.
        kernel: The form of the kernel.
        questions: How many acquisition problems share one fitted surrogate.
        seconds: Time limit of one solve.
        gap: Relative gap that counts as optimal, for the solvers.
        blocks: The blocks of the kernel.
        acquisition: Name of the acquisition function, for ``auto``.

    Example:
        >>> from nasgoat import nasbench201
        >>> make_timed_optimizer("catalogue", nasbench201(), "linear").name
        'catalogue'
    """
    solver, formulation = check_optimizer("optimizer", name)
    effort = Effort(
        seconds,
        gap,
        formulation=formulation or "compact",
        independent=name.endswith("/independent"),
        child=False,  # the start of a child process is no part of what is compared
    )
    terms = kernel, questions, effort, blocks, acquisition
    optimizer = make_optimizer(solver, space, None, *terms)
    if optimizer.name == "branch":
        from nasgoat.acquisition.branch import BranchAndBound

        # Neither compiling, once on a machine, nor listing structures, once for a space, is part of
        # what is compared: a search asks many questions.
        if isinstance(optimizer, BranchAndBound):
            optimizer.load_code(kernel != "linear")
            optimizer.prepare(kernel != "linear")
    return optimizer
