"""Doctests of modules that need an extra are collected only where it is installed."""

from importlib.util import find_spec

_NEED_TORCH = ["src/nasgoat/export/network.py", "src/nasgoat/baselines/graph_network.py"]
collect_ignore = [] if find_spec("torch") else _NEED_TORCH
