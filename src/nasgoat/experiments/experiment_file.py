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

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nasgoat.errors import ExperimentFileError, NasgoatError
from nasgoat.experiments.compare_methods import MethodSpec
from nasgoat.experiments.compare_study import CompareStudy
from nasgoat.experiments.kernel_study import KernelStudy
from nasgoat.experiments.scale_study import ScaleStudy
from nasgoat.experiments.study import Study
from nasgoat.toml_reader import (
    NUMBER,
    TABLE,
    TEXT,
    WHOLE,
    TomlDocument,
    Value,
    list_of,
    read_text,
)

_NAMES = list_of(TEXT, "names")
_WHOLES = list_of(WHOLE, "whole numbers")
_NOISE = Value('a number or "fit"', lambda value: value == "fit" or NUMBER.holds(value))
_SECONDS = Value("a number of seconds", NUMBER.holds)
_EVERY_KIND = {"kind": TEXT, "title": TEXT, "description": TEXT}
#: The kinds of experiment that a file may declare: the dataclass, and what each of its keys holds.
KINDS: Mapping[str, tuple[Callable[..., Study], Mapping[str, Value]]] = {
    "compare": (
        CompareStudy,
        {
            **dict.fromkeys(("benchmarks", "methods", "settings"), _NAMES),
            **dict.fromkeys(("seeds", "evaluations", "initial"), WHOLE),
            "method": TABLE,
        },
    ),
    "kernels": (
        KernelStudy,
        {
            **dict.fromkeys(("benchmarks", "kernels", "cells"), _NAMES),
            "noises": list_of(_NOISE, 'numbers and "fit"'),
            **dict.fromkeys(("train", "test", "seeds"), WHOLE),
        },
    ),
    "scale": (
        ScaleStudy,
        {
            **dict.fromkeys(("methods", "kernels"), _NAMES),
            **dict.fromkeys(("nodes", "observations", "seeds"), _WHOLES),
            "top": WHOLE,
            "time_limit": _SECONDS,
            "gap": NUMBER,
        },
    ),
}
#: What the table of a method may hold, whatever the method.
_METHOD = {"method": TEXT, "seeds": WHOLE, "batch": WHOLE}
#: What the table of our own method may hold beside that.
_OWN_OPTIONS = {**dict.fromkeys(("preset", "kernel", "optimizer"), TEXT), "time_limit": _SECONDS}
_ANYTHING = Value("anything", lambda value: True)


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
    document = TomlDocument(file, text, ExperimentFileError)
    declared = document.read_choice((), "kind", KINDS)
    if kind is not None and declared != kind:
        hint = f"; run nasgoat {declared}"
        raise document.wrong_value(("kind",), f"must be {kind!r}", declared, hint)
    make, values = KINDS[declared]
    content = document.read((), {**_EVERY_KIND, **values})
    name = Path(file).stem
    title, description = content.get("title", name), content.get("description", "")
    tables = content.pop("method", {})
    if declared == "compare" and "methods" in content:
        content["methods"] = [_read_method(document, m, tables) for m in content["methods"]]
    study = document.build(make, (), {k: v for k, v in content.items() if k not in _EVERY_KIND})
    return Experiment(name, title, " ".join(description.split()), study)


def _read_method(document: TomlDocument, name: str, tables: Mapping[str, Any]) -> MethodSpec:
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
    own = table.get("method") == "goat"
    others = {} if own else {key: _ANYTHING for key in table if key not in _OWN_OPTIONS}
    content = document.read(path, {**others, **_OWN_OPTIONS, **_METHOD})
    if "method" not in content:
        raise document.error_at(path, "must have the key method, got none")
    common = {key: content[key] for key in _METHOD if key in content}
    options = {key: value for key, value in content.items() if key not in _METHOD}
    try:
        return MethodSpec(name, **common, options=options)
    except NasgoatError as problem:
        raise document.refusal(path, content, problem) from None
