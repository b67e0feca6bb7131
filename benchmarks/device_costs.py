"""How well tables of costs fit the latency of devices (HW-NAS-Bench, CIFAR-10, 15,625 cells).

    NASGOAT_DATA=FOLDER python benchmarks/device_costs.py

Prints the table of docs/spaces.md.
"""

from __future__ import annotations

import numpy as np

from nasgoat import nasbench201
from nasgoat.benchmarks import HwNasBench
from nasgoat.benchmarks.hw_nasbench import DEVICES
from nasgoat.spaces.measured_values import fit_cost


def main() -> None:
    """Fit both kinds of table to each device."""
    space, rng = nasbench201(connected=False), np.random.default_rng(0)
    graphs = [graph for batch in space.enumerate() for graph in batch]
    print("| device | by operation: R² | by edge: R² | largest error, by edge | largest latency |")
    print("|---|---|---|---|---|")
    for device in DEVICES:
        table = HwNasBench("cifar10", space=space, device=device)
        found = [table.query(graph, rng).get("latency") for graph in graphs]
        measured = [graph for graph, value in zip(graphs, found, strict=True) if value is not None]
        values = [value for value in found if value is not None]
        fits = [fit_cost(space, measured, values, "latency", by) for by in ("operation", "place")]
        shares = " | ".join(f"{fit.r_squared:.3f}" for fit in fits)
        print(f"| {device} | {shares} | {fits[1].largest_error:.3g} | {max(values):.3g} |")


if __name__ == "__main__":
    main()
