"""A method of a comparison: a search method with some options set, and how long it thinks."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from nasgoat.acquisition import Proposal
from nasgoat.bayesopt import Asker, Settings
from nasgoat.experiments.optimizers import DEFAULT_SECONDS, check_optimizer, timed_optimizer
from nasgoat.experiments.study import check_least, check_names
from nasgoat.graphs import LabeledGraph
from nasgoat.kernels import FORMS
from nasgoat.search_methods import (
    OURS,
    available,
    check_options,
    make_method,
    methods,
    own_batch,
    remedy,
)
from nasgoat.spaces import SearchSpace

#: What the file may set for our own method, beyond what every method has.
OWN_OPTIONS = ("preset", "kernel", "optimizer", "time_limit")


@dataclass(frozen=True)
class MethodSpec:
    """A method under the name that tables and figures call it.

    Args:
        name: Its name in the comparison.
        method: One of :func:`nasgoat.methods`.
        seeds: Seeds 0, 1, ... of it; None for those of the comparison.
        batch: Proposals at a time; None for what its own publication has.
        options: For ours ``preset``, ``kernel``, ``optimizer`` (such as ``"scip/compact"``) and
            ``time_limit`` of one solve; for a baseline what its class takes.

    Example:
        >>> MethodSpec("goat-l", "goat", options={"kernel": "linear"}).batch_size
        5
        >>> MethodSpec("goat-l", "goat", options={"kernel": "cubic"})
        Traceback (most recent call last):
        nasgoat.errors.UnknownNameError: kernel must be one of exponential, linear, got 'cubic'
    """

    name: str
    method: str
    seeds: int | None = None
    batch: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_names("method", [self.method], methods())
        counts = {"seeds": self.seeds, "batch": self.batch}
        check_least({key: value for key, value in counts.items() if value is not None}, 1)
        if self.method != OURS:
            if self.options and not self.missing:  # importing PyTorch only to look is slow
                check_options(self.method, self.options)
            return
        check_names("option of goat", self.options, OWN_OPTIONS)
        check_names("kernel", [self.options.get("kernel", FORMS[0])], FORMS)
        if "optimizer" in self.options:
            check_optimizer(str(self.options["optimizer"]), "optimizer")
        self._settings()

    @property
    def missing(self) -> str:
        """What to install before it can run; empty if nothing."""
        return "" if available(self.method) else remedy(self.method)

    @property
    def batch_size(self) -> int:
        """Proposals at a time."""
        return self.batch or own_batch(self.method)

    def make(
        self, space: SearchSpace, initial: int, seed: int, evaluations: int, noisy: bool
    ) -> Asker:
        """The method, ready to ask and tell."""
        if self.method != OURS:
            return make_method(
                self.method, space, initial, seed, evaluations, noisy, **self.options
            )
        settings = self._settings()
        limit = float(self.options.get("time_limit", DEFAULT_SECONDS))
        named = str(self.options.get("optimizer", "auto"))
        optimizer = timed_optimizer(named, space, settings.kernel, settings.questions, limit)
        return make_method(OURS, space, initial, seed, settings=settings, optimizer=optimizer)

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping of what decides its proposals."""
        return {
            "name": self.name,
            "method": self.method,
            "batch": self.batch,
            "options": dict(self.options),
        }

    def _settings(self) -> Settings:
        preset = str(self.options.get("preset", "default"))
        changes = {key: self.options[key] for key in ("kernel",) if key in self.options}
        return Settings.preset(preset, **changes)


class TimedAsker:
    """Passes everything on and keeps the processor time of the proposals.

    Args:
        asker: The method.

    Example:
        >>> from nasgoat import nasbench201
        >>> from nasgoat import make_method
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
