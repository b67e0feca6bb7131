"""A space of small cells with limits, declared in TOML, for tests and torture."""

DECLARED_CELLS = """\
name = "mine"
[space]
kind = "node-labelled"
nodes = [2, 5]
ops = ["conv", "pool"]
max_edges = 7

[limits]
few = "conv <= 1"
cheap = "sum(params) <= 9"

[costs.params]
conv = 3
pool = 0.5
"""
