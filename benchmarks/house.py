"""Measures the shape of the source tree: the table in CONTRIBUTING.md.

What each row counts:

* lines: every line of every ``.py`` file, blank ones and comments included;
* modules with a single importer: modules and packages that exactly one other module names in an
  import (inside functions as well); the ``__init__`` of a package is no importer;
* modules used by a single module: the same, but ``from package import name`` counts for the module
  that the package's ``__init__`` takes the name from;
* isinstance on space classes: calls outside ``spaces`` whose second argument names a class that
  is defined in ``spaces`` and has "Space" in its name; casts to space classes in the same way, by
  their first argument;
* comparisons of a space's layout: outside ``spaces``, with an attribute ``layout`` on one side;
* pairs of duplicate places: rows that the command ``duplicates`` finds, where it is installed;
* length of a function: from the line of its ``def`` to its last line;
* public name: a class or function defined at the top level of a module under a name without a
  leading underscore; it has a running example if its own docstring has a line that doctest runs;
* exported name: what ``__all__`` of ``nasgoat`` or one of its packages lists.

``--root DIR`` measures another checkout; ``--json`` prints one JSON document.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

SMALL_FILE = 60
LARGE_FILE = 250
LONG_FUNCTION = 50
PACKAGE = "nasgoat"
_DEFINITIONS = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class Module:
    """One file of the package."""

    path: Path
    name: str  # nasgoat.spaces.limits
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        """The syntax tree."""
        return ast.parse(self.text)

    @property
    def lines(self) -> int:
        """How many lines the file has."""
        return self.text.count("\n")

    @property
    def is_package(self) -> bool:
        """Whether the file is a package's ``__init__``."""
        return self.path.name == "__init__.py"

    def list_definitions(self) -> Iterator[ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef]:
        """Classes and functions at the top level."""
        for node in self.tree.body:
            if isinstance(node, _DEFINITIONS):
                yield node


@dataclass(frozen=True)
class House:
    """Every module of ``src/nasgoat`` in one checkout."""

    modules: dict[str, Module]

    @classmethod
    def read(cls, root: Path) -> House:
        """Read the files below ``root/src/nasgoat``."""
        source = root / "src"
        modules = {}
        for path in sorted((source / PACKAGE).rglob("*.py")):
            parts = path.relative_to(source).with_suffix("").parts
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            modules[name] = Module(path, name, path.read_text(encoding="utf-8"))
        return cls(modules)

    @cached_property
    def handed_on(self) -> dict[tuple[str, str], str]:
        """For each name that a package's ``__init__`` imports, the module that it comes from."""
        found = {}
        for module in self.modules.values():
            if module.is_package:
                for source, name in _list_imports(module):
                    if source in self.modules and name:
                        found[module.name, name] = source
        if (top := self.modules.get(PACKAGE)) is not None:
            found |= _read_lazy_names(top)
        return found

    def find_home(self, source: str, name: str) -> str:
        """The module that is meant by ``from source import name``."""
        if f"{source}.{name}" in self.modules:
            return f"{source}.{name}"
        while (source, name) in self.handed_on:
            source = self.handed_on[source, name]
        return source

    def count_importers(self, through_packages: bool = False) -> dict[str, int]:
        """For each module and package, how many other modules name it in an import.

        With ``through_packages``, a name that is imported from a package counts for the module that
        it comes from.
        """
        importers: dict[str, set[str]] = defaultdict(set)
        for module in self.modules.values():
            if not module.is_package:
                for source, name in _list_imports(module):
                    inner = f"{source}.{name}"
                    home = inner if inner in self.modules else source
                    meant = self.find_home(source, name) if through_packages else home
                    importers[meant].add(module.name)
        return {name: len(importers[name] - {name}) for name in self.modules}

    @staticmethod
    def list_imported(module: Module) -> set[str]:
        """What a module names in its imports, without the names that it takes from there."""
        return {source for source, _ in _list_imports(module)}

    @cached_property
    def space_classes(self) -> set[str]:
        """Classes of ``spaces`` with "Space" in their names."""
        return {
            node.name
            for module in self.modules.values()
            if _is_in_spaces(module)
            for node in ast.walk(module.tree)
            if isinstance(node, ast.ClassDef) and "Space" in node.name
        }

    def list_space_checks(self) -> list[str]:
        """Places outside ``spaces`` that ask for the class of a space."""
        return self._list_outside(lambda node: _names_class(node, "isinstance", 1, self))

    def list_space_casts(self) -> list[str]:
        """Places outside ``spaces`` that take a space for one of another class."""
        return self._list_outside(lambda node: _names_class(node, "cast", 0, self))

    def list_layout_comparisons(self) -> list[str]:
        """Places outside ``spaces`` that compare the layout of a space."""
        return self._list_outside(_compares_layout)

    def _list_outside(self, counts: Callable[[ast.AST], bool]) -> list[str]:
        """Places outside ``spaces`` whose part of the syntax tree counts."""
        return [
            f"{module.name}:{node.lineno}"
            for module in self.modules.values()
            if not _is_in_spaces(module)
            for node in ast.walk(module.tree)
            if isinstance(node, ast.expr) and counts(node)
        ]

    def list_long_functions(self) -> list[str]:
        """Functions of more than fifty lines."""
        return [
            f"{module.name}:{node.lineno} {node.name}"
            for module in self.modules.values()
            for node in ast.walk(module.tree)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            and (node.end_lineno or 0) - node.lineno + 1 > LONG_FUNCTION
        ]

    def list_public_names(self) -> dict[str, bool]:
        """Public classes and functions, and whether each has a running example."""
        return {
            f"{module.name}.{node.name}": _has_example(node)
            for module in self.modules.values()
            for node in module.list_definitions()
            if not node.name.startswith("_")
        }

    def list_exported_names(self) -> dict[str, ast.AST | None]:
        """What ``__all__`` of each package lists, and where it is defined; None for data."""
        found: dict[str, ast.AST | None] = {}
        for package in self.modules.values():
            for name in _read_all(package) if package.is_package else ():
                home = self.modules[self.find_home(package.name, name)]
                nodes = [node for node in home.list_definitions() if node.name == name]
                found[f"{package.name}.{name}"] = nodes[0] if nodes else None
        return found

    def list_undocumented(self) -> list[str]:
        """Exported classes and functions without a docstring."""
        return [
            name
            for name, node in self.list_exported_names().items()
            if isinstance(node, _DEFINITIONS) and not ast.get_docstring(node)
        ]

    def list_without_example(self) -> list[str]:
        """Classes and functions that ``nasgoat`` itself exports, without a running example."""
        return [
            name
            for name, node in self.list_exported_names().items()
            if name.count(".") == 1 and isinstance(node, _DEFINITIONS) and not _has_example(node)
        ]

    def measure(self, duplicates: int | None) -> dict[str, Any]:
        """The rows of the table."""
        lines = [module.lines for module in self.modules.values()]
        public = self.list_public_names()
        return {
            "files": len(lines),
            "lines": sum(lines),
            "modules with a single importer": list(self.count_importers().values()).count(1),
            "modules used by a single module": list(self.count_importers(True).values()).count(1),
            "files below 60 lines": sum(n < SMALL_FILE for n in lines),
            "isinstance on space classes outside spaces": len(self.list_space_checks()),
            "comparisons of a layout outside spaces": len(self.list_layout_comparisons()),
            "casts to space classes outside spaces": len(self.list_space_casts()),
            "pairs of duplicate places": "not counted" if duplicates is None else duplicates,
            "files of more than 250 lines": sum(n > LARGE_FILE for n in lines),
            "functions of more than 50 lines": len(self.list_long_functions()),
            "public names": len(public),
            "public names with a running example": sum(public.values()),
            "exported names without a docstring": len(self.list_undocumented()),
            "names of nasgoat.__all__ without a running example": len(self.list_without_example()),
        }


def _list_imports(module: Module) -> Iterator[tuple[str, str]]:
    """Pairs (module, name) that a module imports; the name is empty for ``import module``."""
    here = module.name if module.is_package else module.name.rpartition(".")[0]
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            source = node.module or ""
            if node.level:
                above = here.split(".")[: len(here.split(".")) - node.level + 1]
                source = ".".join([*above, *([node.module] if node.module else [])])
            yield from ((source, alias.name) for alias in node.names)


def _read_lazy_names(top: Module) -> dict[tuple[str, str], str]:
    """The table from public name to package in ``nasgoat/__init__.py``."""
    for node in top.tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_HOME":
            homes: dict[str, str] = ast.literal_eval(node.value)
            return {(PACKAGE, name): f"{PACKAGE}.{home}" for name, home in homes.items()}
    return {}


def _read_all(package: Module) -> list[str]:
    for node in package.tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            names: list[str] = ast.literal_eval(node.value)
            return names
    return []


def _is_in_spaces(module: Module) -> bool:
    return module.name.split(".")[1:2] == ["spaces"]


def _names_class(node: ast.AST, function: str, place: int, house: House) -> bool:
    """Whether a call of the function has the name of a space class at a place, quoted or not."""
    if not isinstance(node, ast.Call) or ast.unparse(node.func) != function or len(node.args) != 2:
        return False
    words = re.findall(r"\w+", ast.unparse(node.args[place]))
    return not house.space_classes.isdisjoint(words)


def _compares_layout(node: ast.AST) -> bool:
    sides = [node.left, *node.comparators] if isinstance(node, ast.Compare) else []
    return any(isinstance(side, ast.Attribute) and side.attr == "layout" for side in sides)


def _has_example(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    text = ast.get_docstring(node) or ""
    return any(line.lstrip().startswith(">>> ") for line in text.splitlines())


def count_duplicates(root: Path) -> int | None:
    """Pairs of places that share six or more lines, by the command ``duplicates``, or None."""
    command = shutil.which("duplicates")
    if command is None:
        return None
    done = subprocess.run(  # noqa: S603
        [command, "--repo", "src", "--most", "200", "--seconds", "120"],
        cwd=root, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return sum(re.match(r"D\d+ ", line) is not None for line in done.stdout.splitlines())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[1])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--details", action="store_true", help="also the places behind the counts")
    given = parser.parse_args()
    house = House.read(given.root)
    rows = house.measure(count_duplicates(given.root))
    if given.json:
        json.dump(rows, sys.stdout, indent=1)
        print()
        return
    for name, count in rows.items():
        print(f"{count:>11,}  {name}" if isinstance(count, int) else f"{count:>11}  {name}")
    if given.details:
        single = [name for name, count in house.count_importers().items() if count == 1]
        _print_places("modules with a single importer", single)
        _print_places("isinstance on space classes", house.list_space_checks())
        _print_places("comparisons of a layout", house.list_layout_comparisons())
        _print_places("casts to space classes", house.list_space_casts())
        _print_places("long functions", house.list_long_functions())
        _print_places("exported, no docstring", house.list_undocumented())
        _print_places("in nasgoat.__all__, no running example", house.list_without_example())


def _print_places(title: str, places: list[str]) -> None:
    print(f"\n{title}:", *sorted(places), sep="\n  ")


if __name__ == "__main__":
    main()
