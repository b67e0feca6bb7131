"""Doctests of modules that need an extra are collected only where it is installed."""

from importlib.util import find_spec

_NEEDS = {
    "torch": [
        "src/nasgoat/export/network.py",
        "src/nasgoat/baselines/graph_network.py",
        "src/nasgoat/baselines/gcn_predictor.py",
        "src/nasgoat/baselines/bonas.py",
    ],
    "smac": ["src/nasgoat/baselines/smac.py"],
}
collect_ignore = [
    file for package, files in _NEEDS.items() if find_spec(package) is None for file in files
]
