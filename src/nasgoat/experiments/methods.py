"""The search methods that experiments compare, under the names of their files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from nasgoat.bayesopt import OPEN_KERNELS, Asker, Settings
from nasgoat.errors import NasgoatError
from nasgoat.experiments.study import SECONDS, check_least, check_names
from nasgoat.experiments.timed import DEFAULT_SECONDS, check_optimizer, make_timed_optimizer
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
from nasgoat.toml_reader import FLAG, TEXT, WHOLE, TomlDocument, Value

#: What the table of a method may hold, whatever the method.
_COMMON = {"method": TEXT, "seeds": WHOLE, "batch": WHOLE}
#: What the table of our own method may hold beside that.
_OWN_SETTINGS = {
    **dict.fromkeys(("kernel", "acquisition", "blocks"), TEXT),
    "priors": FLAG,
    "repeats": WHOLE,
}
_OWN_OPTIONS = {"preset": TEXT, "optimizer": TEXT, "time_limit": SECONDS, **_OWN_SETTINGS}
_ANYTHING = Value("anything", lambda value: True)


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
        settings = self._settings(noisy)
        limit = float(self.options.get("time_limit", DEFAULT_SECONDS))
        named = str(self.options.get("optimizer", "auto"))
        kernel, blocks = settings.kernel_for(space, named)
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

    def _settings(self, noisy: bool = False) -> Settings:
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
            raise document.error_at(("methods",), f": {problem}{hint}") from None
    path = ("method", name)
    table = document.table(path)
    # The options of a baseline are those of its class, which checks them itself.
    own = table.get("method") == OURS
    others = {} if own else {key: _ANYTHING for key in table if key not in _OWN_OPTIONS}
    content = document.read(path, {**others, **_OWN_OPTIONS, **_COMMON})
    if "method" not in content:
        raise document.error_at(path, "must have the key method, got none")
    common = {key: content[key] for key in _COMMON if key in content}
    options = {key: value for key, value in content.items() if key not in _COMMON}
    try:
        return MethodSpec(name, **common, options=options)
    except NasgoatError as problem:
        raise document.refusal(path, content, problem) from None
