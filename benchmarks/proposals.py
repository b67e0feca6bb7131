"""Records what ten searches propose, so that a change of the code can be held against them.

``--record FILE`` writes every proposal of the ten searches: graph, acquisition value to nine
digits, status of the certificate. ``--compare FILE`` runs them again, says which search differs
where, and ends with exit code 1 if one does. Only public names are used, so that the same file
runs on another version of the package.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nasgoat import (
    DartsSpace,
    EdgeLabeledSpace,
    GraphSpace,
    LabeledGraph,
    NodeLabeledSpace,
    Optimizer,
    SearchSpace,
    Settings,
    nasbench201,
)

OPS = ["conv3", "conv1", "pool"]
_NODES = NodeLabeledSpace((2, 6), OPS, max_edges=8)
_MOLECULES = GraphSpace(
    (1, 4), ["C", "N", "O"], ["single", "double"], "undirected", "connected",
    degree={"C": (0, 4), "N": (0, 3), "O": (0, 2)}, edge_weights={"double": 2},
)  # fmt: skip

#: Relative difference of two acquisition values that the order of a sum may cause, after the
#: hyperparameters of the surrogate were fitted to it.
TOLERANCE = 1e-6


@dataclass(frozen=True)
class Search:
    """One search: a space, how it is searched, and how many batches are asked for."""

    space: SearchSpace
    settings: Settings
    optimizer: str
    seed: int
    initial: int = 6
    batches: int = 4
    batch: int = 3


_LINEAR = Settings.preset("paper")
_EXPONENTIAL = Settings()
_TOP = Settings(kernel="exponential", batch_strategy="top", target="log")
_PORTFOLIO = Settings(kernel="linear")

SEARCHES = {
    "nodes, linear, branch": Search(_NODES, _LINEAR, "branch", 1),
    "nodes with limits, exponential, branch": Search(
        _NODES.constrain("conv3 <= 2", "sum(cost) <= 9", costs={"cost": {"conv3": 4, "conv1": 2}}),
        _EXPONENTIAL, "branch", 2,
    ),
    "nodes, exponential, catalogue": Search(_NODES, _TOP, "catalogue", 3),
    "nodes with limits, linear, scip": Search(
        NodeLabeledSpace((2, 5), OPS[:2], max_edges=6).constrain("depth <= 3"),
        _LINEAR, "scip", 4, batches=2, batch=2,
    ),
    "edges, exponential, auto": Search(nasbench201(), _EXPONENTIAL, "auto", 5),
    "edges with limits, linear, branch": Search(
        nasbench201().constrain("nor_conv_3x3 + nor_conv_1x1 <= 3"), _PORTFOLIO, "branch", 6
    ),
    "edges, exponential, scip": Search(
        EdgeLabeledSpace(3, OPS), _TOP, "scip", 7, batches=2, batch=2
    ),
    "darts-like, exponential, branch": Search(
        DartsSpace(5, ["conv", "skip", "pool"]), _EXPONENTIAL, "branch", 8
    ),
    "declared graphs with limits, exponential, catalogue": Search(
        _MOLECULES.constrain("O <= 1", "double <= 2"), _EXPONENTIAL, "catalogue", 9
    ),
    "declared graphs, linear, scip": Search(
        GraphSpace((2, 4), ["a", "b"], direction="undirected", connectivity="connected"),
        _LINEAR, "scip", 10, batches=2, batch=2,
    ),
}  # fmt: skip


def toy_error(graph: LabeledGraph) -> float:
    """An error that isomorphic graphs share, with operations that help only together."""
    labels = [*(graph.node_labels or ()), *(graph.edge_labels or {}).values()]
    weights = [zlib.crc32(label.encode()) % 97 / 31 for label in labels]
    crowded = float((graph.adjacency.sum(axis=0) ** 2).sum())
    return 5 + sum(weights) + 0.4 * abs(len(set(labels)) - 3) + 0.1 * crowded


def propose(search: Search) -> Iterator[dict[str, Any]]:
    """Every proposal of one search, the initial design included."""
    optimizer = Optimizer(
        search.space, search.settings, search.optimizer, search.initial, search.seed
    )
    for size in [search.initial, *[search.batch] * search.batches]:
        for proposal in optimizer.ask(size):
            optimizer.tell(proposal.graph, toy_error(proposal.graph))
            value = proposal.certificate.value
            yield {
                "graph": json.loads(proposal.graph.to_json()),
                "lcb": None if value is None else float(f"{value:.9g}"),
                "status": str(proposal.certificate.status),
            }


def find_differences(
    search: Search, before: list[dict[str, Any]], after: list[dict[str, Any]]
) -> Iterator[str]:
    """What two records of one search disagree in, a line for each proposal."""
    if len(before) != len(after):
        yield f"{len(after)} proposals instead of {len(before)}"
    for i, (old, new) in enumerate(zip(before, after, strict=False)):
        if old["graph"] != new["graph"]:
            graphs = [LabeledGraph.from_json(x["graph"]) for x in (old, new)]
            same = search.space.key(graphs[0]) == search.space.key(graphs[1])
            tie = _close(old["lcb"], new["lcb"])
            other = "another graph of the same value" if tie else "another graph"
            what = "the same graph, nodes in another order" if same else other
            yield f"proposal {i}: {what}, {graphs[1]!r} instead of {graphs[0]!r}"
        if not _close(old["lcb"], new["lcb"]):
            yield f"proposal {i}: value {new['lcb']} instead of {old['lcb']}"
        if old["status"] != new["status"]:
            yield f"proposal {i}: {new['status']} instead of {old['status']}"


def _close(old: float | None, new: float | None) -> bool:
    if old is None or new is None:
        return old is new
    return abs(old - new) <= TOLERANCE * max(1.0, abs(old))


def run_all(names: list[str]) -> dict[str, list[dict[str, Any]]]:
    """The proposals of the searches, by name; catalogues of earlier runs are not used."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        os.environ["NASGOAT_CACHE"] = folder
        for name in names:
            start = time.perf_counter()
            found[name] = list(propose(SEARCHES[name]))
            seconds = time.perf_counter() - start
            print(f"{seconds:6.1f} s  {len(found[name]):3} proposals  {name}", file=sys.stderr)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--record", type=Path, metavar="FILE")
    what.add_argument("--compare", type=Path, metavar="FILE")
    parser.add_argument("--only", action="append", choices=SEARCHES, help="repeatable")
    given = parser.parse_args()
    found = run_all(given.only or list(SEARCHES))
    if given.record:
        given.record.write_text(json.dumps(found, indent=1) + "\n")
        return 0
    recorded = json.loads(given.compare.read_text())
    different = 0
    for name, proposals in found.items():
        lines = list(find_differences(SEARCHES[name], recorded[name], proposals))
        different += bool(lines)
        print(f"{name}: {'differs' if lines else 'same'}", *lines, sep="\n  ")
    print(f"{different} of {len(found)} searches differ")
    return int(different > 0)


if __name__ == "__main__":
    sys.exit(main())
