"""Experiments from TOML: what to measure, in one flat table.

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

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nasgoat.errors import ExperimentFileError, FileError, NasgoatError
from nasgoat.experiments.compare_methods import MethodSpec
from nasgoat.experiments.compare_study import CompareStudy
from nasgoat.experiments.kernel_study import KernelStudy
from nasgoat.experiments.kinds import KINDS
from nasgoat.experiments.scale_study import ScaleStudy
from nasgoat.experiments.study import Study
from nasgoat.spaces.toml_document import TomlDocument, one_of, read_text

Type = tuple[Callable[[Any], bool], str]


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _list_of(kind: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and bool(value) and all(map(kind, value))


def _text(value: Any) -> bool:
    return isinstance(value, str)


_TEXT: Type = (_text, "text")
_WHOLE: Type = (_whole, "a whole number")
_WHOLES: Type = (_list_of(_whole), "a list of whole numbers, at least one")
_NAMES: Type = (_list_of(_text), "a list of names, at least one")
_COMMON: dict[str, Type] = {"kind": _TEXT, "title": _TEXT, "description": _TEXT}
_KEYS: dict[str, dict[str, Type]] = {
    "compare": {
        "benchmarks": _NAMES,
        "methods": _NAMES,
        "settings": _NAMES,
        "seeds": _WHOLE,
        "evaluations": _WHOLE,
        "initial": _WHOLE,
    },
    "kernels": {
        "benchmarks": _NAMES,
        "kernels": _NAMES,
        "cells": _NAMES,
        "noises": (
            _list_of(lambda x: x == "fit" or _number(x)),
            'a list of numbers and "fit", at least one',
        ),
        "train": _WHOLE,
        "test": _WHOLE,
        "seeds": _WHOLE,
    },
    "scale": {
        "methods": _NAMES,
        "nodes": _WHOLES,
        "observations": _WHOLES,
        "kernels": _NAMES,
        "top": _WHOLE,
        "seeds": _WHOLES,
        "time_limit": (_number, "a number of seconds"),
        "gap": (_number, "a number"),
    },
}
_METHOD_TABLES = "method"
_METHOD_KEYS: dict[str, Type] = {
    **dict.fromkeys(("method", "preset", "kernel", "optimizer"), _TEXT),
    **dict.fromkeys(("seeds", "batch"), _WHOLE),
    "time_limit": (_number, "a number of seconds"),
}


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
    text = read_text(path, ExperimentFileError)
    return parse_experiment(text, str(path), kind)


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
    return _Reader(file, text, ExperimentFileError).experiment(kind)


class _Reader(TomlDocument):
    """Turns a document into an experiment."""

    def experiment(self, wanted: str | None) -> Experiment:
        document = self.document
        if "kind" not in document:
            raise self.error(self.file, 1, "", f"must have the key kind: {', '.join(KINDS)}")
        kind = document["kind"]
        if kind not in KINDS:
            raise self.wrong(("kind",), one_of(KINDS), kind)
        if wanted is not None and kind != wanted:
            raise self.wrong(("kind",), f"must be {wanted!r}", kind, f"; run nasgoat {kind}")
        types = _COMMON | _KEYS[kind]
        tables = (_METHOD_TABLES,) if kind == "compare" else ()
        self.known((), document, (*types, *tables))
        for key, value in document.items():
            if key in types:
                self._check((key,), types[key], value)
        values = {k: v for k, v in document.items() if k in _KEYS[kind]}
        name = Path(self.file).stem
        title, description = document.get("title", name), document.get("description", "")
        return Experiment(name, title, " ".join(description.split()), self._study(kind, values))

    def _study(self, kind: str, values: dict[str, Any]) -> Study:
        required = {"compare": ("benchmarks", "methods"), "kernels": ("benchmarks",), "scale": ()}
        for key in required[kind]:
            if key not in values:
                raise self.error(self.file, 1, "", f"must have the key {key}, got none")
        if kind == "compare":
            values["methods"] = [self._method(name) for name in values["methods"]]
        makers: Mapping[str, Callable[..., Study]] = {
            "compare": CompareStudy,
            "kernels": KernelStudy,
            "scale": ScaleStudy,
        }
        try:
            return makers[kind](**values)
        except NasgoatError as problem:
            raise self._located((), values, str(problem)) from None

    def _method(self, name: str) -> MethodSpec:
        """A method by its own table ``[method.NAME]``, or one that every installation has."""
        path = (_METHOD_TABLES, name)
        every = self.table((_METHOD_TABLES,))
        table = self.table(path) if name in every else {"method": name}
        ours = table.get("method") == "goat"
        if ours:
            self.known(path, table, [*_METHOD_KEYS])
        elif name in every and "method" not in table:
            raise self.problem(path, "must have the key method, got none")
        for key, value in table.items():
            if key in _METHOD_KEYS:
                self._check((*path, key), _METHOD_KEYS[key], value)
        common: dict[str, Any] = {
            key: table[key] for key in ("method", "seeds", "batch") if key in table
        }
        options = {key: value for key, value in table.items() if key not in common}
        try:
            return MethodSpec(name, **common, options=options)
        except NasgoatError as problem:
            if name not in every:
                hint = f"; name a method of nasgoat methods or write a table [method.{name}]"
                raise self.problem(("methods",), f": {problem}{hint}") from None
            raise self._located(path, table, str(problem)) from None

    def _check(self, path: tuple[str, ...], kind: Type, value: Any) -> None:
        holds, said = kind
        if not holds(value):
            raise self.wrong(path, f"must be {said}", value)

    def _located(self, path: tuple[str, ...], table: Mapping[str, Any], problem: str) -> FileError:
        """The error of a constructor, at the key that it speaks of."""
        said = [key for key in table if re.search(rf"\b{re.escape(key)}\b", problem)]
        first = min(said, key=lambda key: problem.index(key), default=None)
        return self.problem(path if first is None else (*path, first), f": {problem}")
