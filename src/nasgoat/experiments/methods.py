"""The search methods that experiments compare, under the names of their files.

Their processor time is measured, and is all their own: an acquisition optimiser works in this
process and is compiled beforehand; a method keeps what its proposals took.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from nasgoat.acquisition import (
    AcquisitionOptimizer,
    Effort,
    Proposal,
    list_optimizers,
    make_optimizer,
)
from nasgoat.bayesopt import OPEN_KERNELS, Asker, Settings
from nasgoat.errors import NasgoatError, SettingError, UnknownNameError
from nasgoat.experiments.study import SECONDS, check_least, check_names
from nasgoat.graphs import LabeledGraph
from nasgoat.kernels import FORMS, PAPER_BLOCKS
from nasgoat.search_methods import (
    OURS,
    check_options,
    find_own_batch,
    find_remedy,
    is_available,
    make_method,
    methods,
)
from nasgoat.spaces import SearchSpace
from nasgoat.toml_reader import FLAG, TEXT, WHOLE, TomlDocument, Value
from nasgoat.upper_layers import FORMULATIONS, SOLVERS

DEFAULT_SECONDS = 1800.0  # for one solve, as in the paper
#: What the table of a method may hold, whatever the method.
_COMMON = {"method": TEXT, "seeds": WHOLE, "batch": WHOLE}
#: What the table of our own method may hold besides that.
_OWN_SETTINGS = {
    **dict.fromkeys(("kernel", "acquisition", "blocks"), TEXT),
    "priors": FLAG,
    "repeats": WHOLE,
}
_OWN_OPTIONS = {"preset": TEXT, "optimizer": TEXT, "time_limit": SECONDS, **_OWN_SETTINGS}
_ANYTHING = Value("anything", lambda value: True)


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
    check_names(key, [solver], list_optimizers())
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


@dataclass(frozen=True)
class MethodSpec:
    """A method as an experiment compares it.

    Args:
        name: Its name in tables and figures.
        method: One of :func:`nasgoat.methods`.
        seeds: Seeds 0, 1, ... of it; None for those of the comparison.
        batch: Proposals at a time; None for what its own publication has.
        options: For ours ``preset``, ``kernel``, ``acquisition``, ``optimizer`` (such as
            ``"scip/compact"``) and ``time_limit`` of one solve; for a baseline what its class
            takes.

    Example:
        >>> MethodSpec("goat-l", "goat", options={"kernel": "linear"}).batch_size
        5
        >>> MethodSpec("goat-l", "goat", options={"kernel": "cubic"})
        Traceback (most recent call last):
        nasgoat.errors.UnknownNameError: kernel must be one of averaged, evidence,
        exponential, linear, normalised, together, got 'cubic'
    """

    name: str
    method: str
    seeds: int | None = None
    batch: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_names("method", [self.method], methods())
        for key, count in (("seeds", self.seeds), ("batch", self.batch)):
            if count is not None:
                check_least(key, count, 1)
        if self.method != OURS:
            if self.options and not self.missing:  # importing PyTorch only to look is slow
                check_options(self.method, self.options)
            return
        check_names("option of goat", self.options, _OWN_OPTIONS)
        names = (*FORMS, *OPEN_KERNELS)
        check_names("kernel", [self.options.get("kernel", FORMS[0])], names)
        if "optimizer" in self.options:
            check_optimizer("optimizer", str(self.options["optimizer"]))
        self._make_settings()

    @property
    def missing(self) -> str:
        """What to install before it can run; empty if nothing."""
        return "" if is_available(self.method) else find_remedy(self.method)

    @property
    def batch_size(self) -> int:
        """Proposals at a time."""
        return self.batch or find_own_batch(self.method)

    def make(
        self, space: SearchSpace, initial: int, seed: int, evaluations: int, noisy: bool
    ) -> Asker:
        """The method, ready to ask and tell."""
        if self.method != OURS:
            return make_method(
                self.method, space, initial, seed, evaluations, noisy, **self.options
            )
        settings = self._make_settings(noisy)
        limit = float(self.options.get("time_limit", DEFAULT_SECONDS))
        named = str(self.options.get("optimizer", "auto"))
        kernel, blocks = settings.find_kernel(space, named)
        optimizer = make_timed_optimizer(
            named,
            space,
            kernel,
            settings.questions,
            limit,
            blocks=blocks,
            acquisition=settings.acquisition,
        )
        return make_method(OURS, space, initial, seed, settings=settings, optimizer=optimizer)

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping of what decides its proposals."""
        names = ("name", "method", "batch")
        return {**{key: getattr(self, key) for key in names}, "options": dict(self.options)}

    def _make_settings(self, noisy: bool = False) -> Settings:
        preset = str(self.options.get("preset", "default"))
        given = {name: self.options[name] for name in _OWN_SETTINGS if name in self.options}
        if "blocks" in given:  # "paths,nodes,edges,shape"
            given["blocks"] = tuple(name.strip() for name in given["blocks"].split(","))
        return Settings.preset(preset, noisy, **given)


def read_method(document: TomlDocument, name: str, tables: Mapping[str, Any]) -> MethodSpec:
    """A method by its own table ``[method.NAME]``, or one that every installation has."""
    if name not in tables:
        try:
            return MethodSpec(name, name)
        except NasgoatError as problem:
            hint = f"; name a method of nasgoat methods or write a table [method.{name}]"
            raise document.make_error(("methods",), f": {problem}{hint}") from None
    path = ("method", name)
    table = document.table(path)
    # The options of a baseline are those of its class, which checks them itself.
    own = table.get("method") == OURS
    others = {} if own else {key: _ANYTHING for key in table if key not in _OWN_OPTIONS}
    content = document.read(path, {**others, **_OWN_OPTIONS, **_COMMON})
    if "method" not in content:
        raise document.make_error(path, "must have the key method, got none")
    common = {key: content[key] for key in _COMMON if key in content}
    options = {key: value for key, value in content.items() if key not in _COMMON}
    try:
        return MethodSpec(name, **common, options=options)
    except NasgoatError as problem:
        raise document.refuse(path, content, problem) from None
