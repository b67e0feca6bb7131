"""Lists structures of cells, and the same structures as declared graphs: processor time of both.

docs/decisions/0097-two-enumerators.md has the figures.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from nasgoat import GraphSpace
from nasgoat.spaces.structures import list_rows

SIZES = ((5, 9), (6, 9), (7, 9), (7, 21))


def list_cells(n: int, max_edges: int) -> int:
    """How many structures of cells there are, by rows in order."""
    return sum(len(rows) for rows in list_rows(n, max_edges, whole=True))


def list_declared(n: int, max_edges: int) -> int:
    """The same by growing declared graphs."""
    ends = {"sources": 1, "sinks": 1, "connectivity": "paths"}
    space = GraphSpace(n, ["op"], direction="acyclic", max_edges=max_edges, **ends)  # type: ignore[arg-type]
    return sum(len(found) for found, _ in space.structure_listing.list_chunks(n))


def measure(work: Callable[[int, int], int], n: int, max_edges: int) -> tuple[int, float]:
    """What comes out, and the processor time that it took."""
    start = time.process_time()
    return work(n, max_edges), time.process_time() - start


def main() -> None:
    """Print a row for each size."""
    for work in (list_cells, list_declared):
        work(4, 6)  # compiled, or loaded
    print("nodes  edges  structures     cells  declared")
    for n, max_edges in SIZES:
        found, quick = measure(list_cells, n, max_edges)
        same, slow = measure(list_declared, n, max_edges)
        if same != found:
            raise AssertionError(f"both must list the same structures, got {found} and {same}")
        print(f"{n:5d} {max_edges:6d} {found:11,d} {quick:8.4f}s {slow:8.2f}s", flush=True)


if __name__ == "__main__":
    main()
