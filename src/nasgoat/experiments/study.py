"""What an experiment measures: a study, made of runs, that a TOML file declares in one flat table.

    kind = "compare"
    title = "Every method on NAS-Bench-201"
    benchmarks = ["nb201/cifar10"]
    methods = ["goat-l", "random"]
    seeds = 20

    [method.goat-l]
    method = "goat"
    kernel = "linear"

Whatever is wrong is one line: file, line, key, what it must be and what it is.
"""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self, get_type_hints

from nasgoat.errors import (
    DataError,
    ExperimentFileError,
    MissingPackageError,
    SettingError,
    UnknownNameError,
)
from nasgoat.toml_reader import NUMBER, TEXT, WHOLE, TomlDocument, Value, list_of, read_text

#: A JSON-ready mapping: one line of a record file.
Record = dict[str, Any]

SECONDS = Value("a number of seconds", NUMBER.holds)
_EVERY_KIND = {"kind": TEXT, "title": TEXT, "description": TEXT}


class Kind(NamedTuple):
    """A kind of experiment: module and class of its study, and what makes its tables and charts."""

    module: str
    study: str
    tables: str
    charts: str


#: The kinds of experiment, by the names that their files give.
KINDS = {
    "compare": Kind("compare_study", "CompareStudy", "compare_tables", "compare_charts"),
    "fronts": Kind("fronts_study", "FrontsStudy", "fronts_results", "fronts_results"),
    "kernels": Kind("kernel_study", "KernelStudy", "kernel_results", "kernel_results"),
    "scale": Kind("scale", "ScaleStudy", "scale", "scale"),
}


@dataclass(frozen=True)
class ExperimentRun:
    """One run of an experiment.

    Args:
        id: Its name among the runs, fit for a file name.
        settings: Everything that decides its result, JSON-ready.

    Example:
        >>> runs = [ExperimentRun(name, {"seed": 0}) for name in ("a.seed0", "b")]
        >>> runs[0].fingerprint == runs[1].fingerprint
        True
    """

    id: str
    settings: Mapping[str, Any]

    @classmethod
    def from_parts(cls, *parts: object, settings: Mapping[str, Any]) -> Self:
        """A run whose name is made of parts.

        Example:
            >>> ExperimentRun.from_parts("nb201/cifar10", "goat", "seed0", settings={"seed": 0}).id
            'nb201-cifar10.goat.seed0'
        """
        return cls(".".join(str(part).replace("/", "-") for part in parts), settings)

    @property
    def fingerprint(self) -> str:
        """Tells runs of different settings apart."""
        text = json.dumps(self.settings, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]


@dataclass(frozen=True)
class Key:
    """What a key of an experiment's file may hold.

    Args:
        value: Its sort, which the reader of the file checks.
        check: Raises where the value, given after the name of the key, can't be measured.
    """

    value: Value
    check: Callable[[str, Any], None] = lambda key, value: None


@dataclass(frozen=True)
class Study(ABC):
    """What to measure: the checked content of an experiment's file.

    A subclass is a dataclass with one field for each key of the file, annotated with its
    :class:`Key`.
    """

    kind: ClassVar[str]

    def __post_init__(self) -> None:
        for name, key in self._keys().items():
            key.check(name, getattr(self, name))

    @classmethod
    def read(cls, document: TomlDocument) -> Self:
        """The study that a file declares."""
        return document.build(cls, (), cls._read_keys(document))

    @abstractmethod
    def runs(self) -> list[ExperimentRun]:
        """All runs, in the order in which they should be done."""

    @staticmethod
    @abstractmethod
    def execute(settings: Mapping[str, Any]) -> list[Record]:
        """Do the run of these settings: its summary first, then the lines of its details."""

    def list_left_out(self) -> list[str]:
        """What was asked for and can't be measured here, each with the reason."""
        return []

    def declaration(self) -> Record:
        """The study as a JSON-ready mapping."""
        values = {name: getattr(self, name) for name in self._keys()}
        return {k: list(v) if isinstance(v, list | tuple) else v for k, v in values.items()}

    @staticmethod
    def _find_missing(
        choices: Iterable[tuple[Any, ...]], load: Callable[..., object]
    ) -> dict[tuple[Any, ...], str]:
        """The choices for which there is nothing to load, each with the reason."""
        found = {}
        for choice in choices:
            try:
                load(*choice)
            except (DataError, SettingError, MissingPackageError) as problem:
                found[choice] = str(problem)
        return found

    @classmethod
    def _keys(cls) -> dict[str, Key]:
        hints = get_type_hints(cls, include_extras=True).items()
        return {name: hint.__metadata__[0] for name, hint in hints if hasattr(hint, "__metadata__")}

    @classmethod
    def _read_keys(cls, document: TomlDocument, **others: Value) -> dict[str, Any]:
        """The content of a file, without the keys of every kind of experiment."""
        own = {name: key.value for name, key in cls._keys().items()}
        content = document.read((), {**_EVERY_KIND, **own, **others})
        return {key: value for key, value in content.items() if key not in _EVERY_KIND}


def find_study(kind: str) -> type[Study]:
    """The class of the studies of a kind."""
    module = import_module(f"nasgoat.experiments.{KINDS[kind].module}")
    found: type[Study] = getattr(module, KINDS[kind].study)
    return found


@dataclass(frozen=True)
class Experiment:
    """An experiment's name, title, description and study."""

    name: str
    title: str
    description: str
    study: Study


def load_experiment(path: str | Path, kind: str | None = None) -> Experiment:
    """The experiment that a TOML file declares, of the given kind.

    Raises:
        ExperimentFileError: If the file can't be read or declares no such experiment.
    """
    return parse_experiment(read_text(path, ExperimentFileError), str(path), kind)


def parse_experiment(text: str, file: str = "experiment", kind: str | None = None) -> Experiment:
    r"""The experiment that a TOML text declares; ``file`` is what messages call it.

    Example:
        >>> text = 'kind = "scale"\nmethods = ["catalogue"]\nnodes = [3, 4]'
        >>> [run.id for run in parse_experiment(text).study.runs()]
        ['linear.n3.t50.catalogue.seed0', 'linear.n4.t50.catalogue.seed0']
        >>> parse_experiment('kind = "scale"\nnode = [3]', "my.toml")
        Traceback (most recent call last):
        nasgoat.errors.ExperimentFileError: my.toml:2: node must be one of description, gap,
        kernels, kind, methods, nodes, observations, seeds, time_limit, title, top, got 'node'; did
        you mean nodes?
    """
    document = TomlDocument(file, text, ExperimentFileError)
    declared = document.read_choice((), "kind", KINDS)
    if kind is not None and declared != kind:
        hint = f"; run nasgoat {declared}"
        raise document.refuse_value(("kind",), f"must be {kind!r}", declared, hint)
    study = find_study(declared).read(document)
    name = Path(file).stem
    description = document.content.get("description", "").split()
    return Experiment(name, document.content.get("title", name), " ".join(description), study)


def check_names(key: str, names: Iterable[str], known: Collection[str]) -> None:
    """Refuse a name that nobody knows."""
    for name in names:
        if name not in known:
            raise UnknownNameError(key, name, known)


def check_least(key: str, value: int | Sequence[int], least: int) -> None:
    """Refuse a number, or a list with a number, that is too small."""
    smallest = value if isinstance(value, int) else min(value, default=0)
    if smallest < least:
        raise SettingError(f"{key} must be at least {least}, got {smallest}")


def check_positive(key: str, value: float) -> None:
    """Refuse a number that is not above 0."""
    if not value > 0:
        raise SettingError(f"{key} must be positive, got {value}")


ANY_NAMES = Key(list_of(TEXT, "names"))


def expect_names(known: Collection[str]) -> Key:
    """A list of names, all of them known."""
    return Key(ANY_NAMES.value, partial(check_names, known=known))


def count_from(least: int) -> Key:
    """A key of a file whose value is a whole number of at least ``least``."""
    return Key(WHOLE, partial(check_least, least=least))


def expect_counts(least: int) -> Key:
    """A key of a file whose value is a list of whole numbers of at least ``least``."""
    return Key(list_of(WHOLE, "whole numbers"), partial(check_least, least=least))
