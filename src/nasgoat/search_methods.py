"""Search methods by name: our own, the baselines, and those that users register."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from inspect import signature
from typing import Any

from nasgoat.baselines import Method, Setup
from nasgoat.bayesopt import Asker, Optimizer
from nasgoat.errors import SettingError, UnknownNameError
from nasgoat.spaces import SearchSpace, load_space

__all__ = [
    "OURS",
    "check_options",
    "find_own_batch",
    "find_remedy",
    "is_available",
    "make_method",
    "methods",
    "register_method",
]

#: The name of our own method; every other name is a baseline's.
OURS = "goat"


@dataclass(frozen=True)
class _Entry:
    """A baseline: its module and class, what it is, and which package and extra it needs."""

    module: str
    name: str
    summary: str
    package: str = ""
    extra: str = ""


_ENTRIES = {
    "random": _Entry("model_free", "RandomSearch", "distinct random graphs"),
    "evolution": _Entry("model_free", "Evolution", "regularised evolution"),
    "local-search": _Entry("model_free", "LocalSearch", "hill climbing with restarts"),
    "bananas": _Entry("dense_network", "Bananas", "ensemble on path encodings, Thompson sampling"),
    "bonas": _Entry("graph_predictors", "Bonas", "ensemble of graph networks", "torch", "neural"),
    "gcn": _Entry("graph_predictors", "GcnPredictor", "network trained once", "torch", "neural"),
    "gp-bayesopt": _Entry("distance_gp", "GPBayesOpt", "Gaussian process on Hamming distances"),
    "nasbot": _Entry("distance_gp", "Nasbot", "Gaussian process on degrees and operation counts"),
    "dngo": _Entry("bayesian_networks", "Dngo", "Bayesian linear regression on a dense network"),
    "bohamiann": _Entry("bayesian_networks", "Bohamiann", "Bayesian neural network by Monte Carlo"),
    "nas-bowl": _Entry("nas_bowl", "NasBowl", "Gaussian process with a Weisfeiler-Lehman kernel"),
    "tpe": _Entry("categorical", "OptunaTpe", "Optuna's TPESampler"),
    "optuna-gp": _Entry("categorical", "OptunaGp", "Optuna's GPSampler", "torch", "neural"),
    "smac": _Entry("smac", "Smac", "SMAC over categorical parameters", "smac", "smac"),
}


_MODEL_FREE = "model_free"  # the module of methods that know nothing but moves

#: Methods that users registered: class and summary by name.
_OTHERS: dict[str, tuple[type[Method], str]] = {}


def register_method(name: str, method: type[Method], summary: str) -> None:
    """Make a search method known by a name, in Python and on the command line.

    Args:
        name: The name; registering it again replaces the method.
        method: The class; it is made with a :class:`Setup`.
        summary: A line that says what it is.

    Example:
        >>> from nasgoat.baselines.model_free import RandomSearch
        >>> register_method("chance", RandomSearch, "random search under another name")
        >>> methods()["chance"]
        'random search under another name'
    """
    if name == OURS or name in _ENTRIES:
        raise SettingError(f"a new method must have a name of its own, got {name!r}")
    _OTHERS[name] = (method, summary)


def methods() -> dict[str, str]:
    """Every method's name with a line that says what it is; ours first.

    Example:
        >>> list(methods())[:3]
        ['goat', 'random', 'evolution']
    """
    ours = {OURS: "graph Gaussian process, globally optimal acquisition"}
    others = {name: summary for name, (_, summary) in _OTHERS.items()}
    return ours | {name: entry.summary for name, entry in _ENTRIES.items()} | others


def is_available(name: str) -> bool:
    """Whether the package that a method needs is installed."""
    _check_name(name)
    package = _ENTRIES[name].package if name in _ENTRIES else ""
    return not package or find_spec(package) is not None


def find_remedy(name: str) -> str:
    """The command that installs what a method needs; empty if it needs nothing."""
    _check_name(name)
    extra = _ENTRIES[name].extra if name in _ENTRIES else ""
    return f"pip install 'nasgoat[{extra}]'" if extra else ""


def make_method(
    name: str,
    space: SearchSpace | str,
    initial: int = 10,
    seed: int = 0,
    evaluations: int = 160,
    noisy: bool = False,
    **options: Any,
) -> Asker:
    """A method for a space, ready to ask and tell.

    Args:
        name: One of :func:`methods`.
        space: The space to search, or its name as for :func:`~nasgoat.load_space`.
        initial: Random graphs before the method's own proposals.
        seed: Seed of everything random.
        evaluations: Budget of the search, for methods that plan with it.
        noisy: Whether errors are noisy, for baselines that fit a noise then; ours always does.
        options: What the method's class takes beyond these.

    Example:
        >>> from nasgoat import nasbench201, run
        >>> method = make_method("evolution", nasbench201(), seed=1)
        >>> result = run(method, lambda cell: 5.0 + len(cell.edges), evaluations=20, batch=1)
        >>> len(result.evaluations)
        20
    """
    if name == OURS:
        return Optimizer(space, initial=initial, seed=seed, **options)
    check_options(name, options)
    setup = Setup(load_space(space), initial, seed, evaluations, noisy)
    _require_one_cell(name, setup.space)
    method: Asker = _find_class(name)(setup, **options)
    return method


def _require_one_cell(name: str, space: SearchSpace) -> None:
    """Refuse several cells for baselines whose models know one."""
    free = [other for other, entry in _ENTRIES.items() if entry.module == _MODEL_FREE]
    if space.cells and name in _ENTRIES and name not in free:
        raise SettingError(
            f"the space must have one cell for the method {name}, got {', '.join(space.cells)}; "
            f"use {OURS}, {', '.join(free)}"
        )


def check_options(name: str, options: Iterable[str]) -> None:
    """Refuse options that a baseline's class does not take.

    Example:
        >>> check_options("evolution", ["remov"])
        Traceback (most recent call last):
        nasgoat.errors.UnknownNameError: option of evolution must be one of population, remove,
        tournament, got 'remov'; did you mean remove?
    """
    known = set(signature(_find_class(name)).parameters) - {"setup"}
    if unknown := set(options) - known:
        raise UnknownNameError(f"option of {name}", sorted(unknown)[0], sorted(known) or ["none"])


def find_own_batch(name: str) -> int:
    """Proposals per iteration in the method's own publication; 5 for ours."""
    if name == OURS:
        return 5
    batch: int = _find_class(name).batch
    return batch


def _find_class(name: str) -> Any:
    """The class of a baseline, or :class:`SettingError` if what it needs is not installed."""
    if name in _OTHERS:
        return _OTHERS[name][0]
    if not is_available(name):
        package = _ENTRIES[name].package
        raise SettingError(
            f"the method {name} must have {package} installed, got none; {find_remedy(name)}"
        )
    entry = _ENTRIES[name]
    return getattr(import_module(f"nasgoat.baselines.{entry.module}"), entry.name)


def _check_name(name: str) -> None:
    if name not in methods():
        raise UnknownNameError("method", name, methods())
