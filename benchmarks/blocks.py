"""Kernel blocks beside the paper's: which optimiser is exact for which, and what that takes.

Prints a table of families, blocks and optimisers; how many values each block takes in spaces that
can be listed, which is how many searches it would take one by one; and, with ``--seconds``, what
branch and bound takes of the processor for the five best graphs.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from nasgoat import (
    Cells,
    ChainSpace,
    EdgeLabeledSpace,
    GraphGP,
    GraphSpace,
    LowerConfidenceBound,
    NodeLabeledSpace,
    SearchSpace,
    darts,
    molecules,
    nasbench101,
    nasbench201,
)
from nasgoat.acquisition.branch import BranchAndBound
from nasgoat.acquisition.costs import LARGEST_CATALOGUE
from nasgoat.kernels.blocks import BLOCKS, code_block
from nasgoat.kernels.boundable_blocks import count_searches, explain_unbounded

OPS = ["conv3x3", "conv1x1", "pool"]
FAMILIES: dict[str, SearchSpace] = {
    "cells, labels on nodes (NAS-Bench-101)": nasbench101(),
    "cells, labels on edges (NAS-Bench-201)": nasbench201(),
    "DARTS": darts(),
    "chains, 8 x 3": ChainSpace(8, OPS),
    "declared, acyclic, 5 nodes": GraphSpace(5, OPS, [], "acyclic", "paths", sources=1, sinks=1),
    "declared, undirected (molecules of 5 atoms)": molecules(5),
    "declared, directed, 4 nodes": GraphSpace(4, ["a", "b"], [], "directed", "connected"),
    "several cells (NAS-Bench-201 twice)": Cells(normal=nasbench201(), reduction=nasbench201()),
    "several cells (DARTS twice)": Cells(normal=darts(), reduction=darts()),
}
LISTED: dict[str, SearchSpace] = {
    "NAS-Bench-101, up to 6 nodes": NodeLabeledSpace((2, 6), OPS, max_edges=9),
    "NAS-Bench-201": nasbench201(),
    "molecules of 4 atoms": molecules(4),
    "molecules of 5 atoms": molecules(5),
}
TIMED: list[tuple[str, SearchSpace, list[tuple[str, ...]]]] = [
    ("NAS-Bench-101", nasbench101(), [(), ("operations",), ("longest",), ("shape", "longest")]),
    (
        "cells of 8 nodes, 10 edges",
        NodeLabeledSpace(8, OPS, max_edges=10),
        [("shape",), ("operations",), ("longest",)],
    ),
    (
        "NAS-Bench-201",
        nasbench201(),
        [(), ("operations",), ("longest",), ("operations", "longest")],
    ),
    ("DARTS", darts(), [(), ("shape",), ("operations",), ("longest",)]),
    ("chains, 8 x 3", ChainSpace(8, OPS), [(), ("operations",), ("longest",)]),
    ("chains, 12 x 4", ChainSpace(12, ["a", "b", "c", "d"]), [(), ("longest",)]),
    (
        "acyclic, 7 nodes, 2 sources, 2 sinks, 4 operations",
        GraphSpace(7, ["a", "b", "c", "d"], [], "acyclic", "paths", sources=2, sinks=2),
        [(), ("shape",), ("operations",), ("longest",), ("operations", "longest")],
    ),
    ("molecules of 5 atoms", molecules(5), [(), ("shape",), ("operations",)]),
    ("molecules of 6 atoms", molecules(6), [(), ("shape",), ("operations",)]),
    (
        "two cells of NAS-Bench-201",
        Cells(normal=EdgeLabeledSpace(4, OPS), reduction=EdgeLabeledSpace(4, OPS)),
        [(), ("shape",), ("operations", "longest")],
    ),
]


def print_table() -> None:
    """Which block has an exact optimiser in which family, and why not."""
    reasons: list[str] = []
    print(f"| family | {' | '.join(BLOCKS)} |")
    print(f"|---|{'---|' * len(BLOCKS)}")
    for family, space in FAMILIES.items():
        cells = []
        for name in BLOCKS:
            said = []
            for optimiser, program in (("branch", False), ("mip", True)):
                reason = explain_unbounded(space, [name], program)
                if program and space.cells:
                    reason = "the program has the variables of one graph"
                if reason is None:
                    said.append(optimiser)
                elif reason not in reasons:
                    reasons.append(reason)
            if not space.cells and not BLOCKS[name].bounds(space):
                said = ["nothing to count"]
            cells.append(
                ", ".join(["catalogue", *said] if said[:1] != ["nothing to count"] else said)
            )
        print(f"| {family} | {' | '.join(cells)} |")
    print("\nWhere branch or mip is missing:", *reasons, sep="\n- ")


def print_values() -> None:
    """How many values of each block the graphs of a space have."""
    print(f"\n| space | graphs | {' | '.join(BLOCKS)} |")
    print(f"|---|---|{'---|' * len(BLOCKS)}")
    for title, space in LISTED.items():
        codes = {name: code_block(name, space) for name in BLOCKS}
        seen: dict[str, set[bytes]] = {name: set() for name in BLOCKS}
        total = 0
        for batch in space.enumerate():
            total += len(batch)
            for name, code in codes.items():
                seen[name].update(row.tobytes() for row in code.count(batch))
        said = [f"{len(seen[name]):,}" if codes[name].width else "-" for name in BLOCKS]
        print(f"| {title} | {total:,} | {' | '.join(said)} |")


def measure(title: str, space: SearchSpace, blocks: tuple[str, ...], limit: float) -> str:
    """One row: processor seconds of branch and bound for the five best, and how it ended."""
    rng = np.random.default_rng(0)
    graphs = space.sample(50, rng)
    gp = GraphGP(space, "linear", blocks=("paths", "nodes", "edges", *blocks))
    gp.fit(graphs, [float(len(graph.edges)) + rng.normal() for graph in graphs])
    branch = BranchAndBound(space, None, limit, threads=1)
    branch.load_code()
    branch.prepare()
    start = time.process_time()
    pool = branch.optimize(LowerConfidenceBound(3.0).given(gp), 5)
    seconds, found = time.process_time() - start, pool.certificate
    searches = count_searches(space, blocks)
    said = f"{found.status} | {100 * (found.gap or 0.0):.1f} % | {branch.nodes_:,}"
    names = ", ".join(blocks) or "the paper's alone"
    return f"| {title} | {names} | {searches:,} | {seconds:.2f} | {said} |"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", action="store_true", help="what branch and bound takes")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds of each search")
    asked = parser.parse_args()
    if not asked.seconds:
        print_table()
        print_values()
        print(f"\nThe catalogue is exact for any block, up to {LARGEST_CATALOGUE:,} graphs.")
        return
    print("| space | blocks beside the paper's | searches | processor s | status | gap | nodes |")
    print("|---|---|---|---|---|---|---|")
    for title, space, every in TIMED:
        for blocks in every:
            print(measure(title, space, blocks, asked.limit), flush=True)


if __name__ == "__main__":
    main()
