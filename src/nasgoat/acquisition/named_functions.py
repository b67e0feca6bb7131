"""All acquisition functions by name: those of one objective, and those of several."""

from __future__ import annotations

from nasgoat.acquisition.functions import ExpectedImprovement, ThompsonSampling
from nasgoat.acquisition.hypervolume import HypervolumeImprovement
from nasgoat.acquisition.lower_confidence_bound import Acquisition, LowerConfidenceBound
from nasgoat.acquisition.scalarisations import Chebyshev, Constrained
from nasgoat.acquisition.several import SeveralAcquisition
from nasgoat.errors import SettingError, UnknownNameError

_ONE: dict[str, type[Acquisition]] = {
    "lcb": LowerConfidenceBound,
    "ei": ExpectedImprovement,
    "thompson": ThompsonSampling,
}
_SEVERAL: dict[str, type[SeveralAcquisition]] = {
    "chebyshev": Chebyshev,
    "constrained": Constrained,
    "epsilon": Constrained,
    "hypervolume": HypervolumeImprovement,
}
_OURS = frozenset({*_ONE, *_SEVERAL})


def acquisition_names() -> list[str]:
    """Names of the acquisition functions of one objective.

    Example:
        >>> acquisition_names()[:3]
        ['lcb', 'ei', 'thompson']
    """
    return list(_ONE)


def several_names() -> list[str]:
    """Names of the acquisition functions of several objectives.

    Example:
        >>> several_names()[:3]
        ['chebyshev', 'constrained', 'epsilon']
    """
    return list(_SEVERAL)


def find_acquisition(name: str) -> type[Acquisition]:
    """The acquisition function of a name, as a class.

    Example:
        >>> find_acquisition("ei").__name__, find_acquisition("chebyshev").__name__
        ('ExpectedImprovement', 'Chebyshev')
    """
    known = _ONE | _SEVERAL
    if name not in known:
        raise UnknownNameError("acquisition", name, known)
    return known[name]


def register_acquisition(name: str, acquisition: type[Acquisition]) -> None:
    """Make an acquisition function known by a name, in Python and on the command line.

    Args:
        name: The name; registering it again replaces the function.
        acquisition: Its class; a subclass of :class:`SeveralAcquisition` is one of several
            objectives.

    Example:
        >>> from dataclasses import dataclass
        >>> @dataclass(frozen=True, eq=False)
        ... class Cautious(LowerConfidenceBound):
        ...     sqrt_beta: float = 0.1
        >>> register_acquisition("cautious", Cautious)
        >>> find_acquisition("cautious").__name__
        'Cautious'
    """
    if name in _OURS:
        raise SettingError(f"a new acquisition must have a name of its own, got {name!r}")
    if issubclass(acquisition, SeveralAcquisition):
        _SEVERAL[name] = acquisition
    else:
        _ONE[name] = acquisition
