"""Doctests of modules that need an extra are collected only where it is installed.

What a test registers is forgotten after it.
"""

from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec

import pytest

_REGISTRIES = {
    "nasgoat.acquisition.registry": "TABLE",
    "nasgoat.kernels.blocks": "BLOCKS",
    "nasgoat.kernels.shortest_path": "_MAKERS",
    "nasgoat.search_methods": "_OTHERS",
    "nasgoat.spaces": "_OTHERS",
    "nasgoat.spaces.toml_file": "KINDS",
}

_NEEDS = {
    "torch": [
        "src/nasgoat/export/network.py",
        "src/nasgoat/baselines/graph_network.py",
        "src/nasgoat/baselines/graph_predictors.py",
    ],
    "rdkit": ["src/nasgoat/graphs/molecules.py"],
    "smac": ["src/nasgoat/baselines/smac.py"],
    "botorch": ["src/nasgoat/baselines/qnehvi.py"],
}
collect_ignore = [
    file for package, files in _NEEDS.items() if find_spec(package) is None for file in files
]


@pytest.fixture(autouse=True)
def forget_registrations() -> Iterator[None]:
    """Leave the registries as they were."""
    registries = [getattr(import_module(module), name) for module, name in _REGISTRIES.items()]
    before = [dict(registry) for registry in registries]
    yield
    for registry, entries in zip(registries, before, strict=True):
        registry.clear()
        registry.update(entries)
