"""A method of a comparison: a search method with some of its options set, under a name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from nasgoat.bayesopt import Asker, Optimizer, Settings
from nasgoat.errors import SettingError, UnknownNameError
from nasgoat.experiments.optimizers import DEFAULT_SECONDS, check_optimizer, timed_optimizer
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
        if self.method not in methods():
            raise UnknownNameError("method", self.method, methods())
        for name in ("seeds", "batch"):
            if (value := getattr(self, name)) is not None and value < 1:
                raise SettingError(f"{name} must be at least 1, got {value}")
        if self.method != OURS:
            if self.options and not self.missing:  # importing PyTorch only to look is slow
                check_options(self.method, self.options)
            return
        for option in self.options:
            if option not in OWN_OPTIONS:
                raise UnknownNameError("option of goat", option, OWN_OPTIONS)
        if self.options.get("kernel", FORMS[0]) not in FORMS:
            raise UnknownNameError("kernel", self.options["kernel"], FORMS)
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
        return Optimizer(space, settings, optimizer, initial, seed)

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
