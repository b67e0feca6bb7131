"""``nasgoat solve``: one acquisition problem, solved exactly."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from nasgoat.cli.output import note, print_json

if TYPE_CHECKING:
    from nasgoat.acquisition import Pool


def solve(
    space: Annotated[str, typer.Option(help="A preset space.")] = "nb101",
    nodes: Annotated[int | None, typer.Option(help="Only graphs with so many nodes.")] = None,
    observations: Annotated[int, typer.Option(help="Random graphs that were observed.")] = 50,
    kernel: Annotated[str, typer.Option(help="linear or exponential.")] = "linear",
    sqrt_beta: Annotated[float, typer.Option(help="Weight of the standard deviation.")] = 3.0,
    optimizer: Annotated[str, typer.Option(help="How to minimise the acquisition.")] = "auto",
    top: Annotated[int, typer.Option(help="How many best graphs.")] = 5,
    seed: Annotated[int, typer.Option(help="Seed of the problem.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Solve one acquisition problem: the same seed gives the same problem to every optimiser."""
    from nasgoat.acquisition import make_optimizer, random_problem
    from nasgoat.spaces import preset

    found = preset(space)
    if nodes is not None:
        found = found.with_nodes(nodes)
    problem = random_problem(found, observations, kernel, sqrt_beta, seed)
    solver = make_optimizer(optimizer, found, note)
    pool = solver.optimize(problem.acquisition, top, problem.observed)
    if json:
        print_json(_document(pool, solver.name))
    else:
        _print(pool, solver.name)


def _document(pool: Pool, optimizer: str) -> dict[str, Any]:
    certificate = pool.certificate
    return {
        "status": str(certificate.status),
        "optimizer": optimizer,
        "proposals": [proposal.to_dict() for proposal in pool],
        "bound": certificate.bound,
        "gap": certificate.gap,
        "seconds": certificate.seconds,
        "variables": None,
        "constraints": None,
    }


def _print(pool: Pool, optimizer: str) -> None:
    from nasgoat.figures import ladder

    certificate = pool.certificate
    print(f"{certificate.status} by {optimizer} in {certificate.seconds:.3f} s", end="")
    print("" if certificate.gap is None else f", gap {certificate.gap:.2g}")
    print("\n rank        LCB       mean        std  graph")
    for rank, p in enumerate(pool, start=1):
        labels = p.graph.node_labels or tuple((p.graph.edge_labels or {}).values())
        text = f"{p.graph.n} nodes, {len(p.graph.edges)} edges: {', '.join(labels)}"
        print(f"{rank:5d} {p.lcb:10.5f} {p.mean:10.5f} {p.std:10.5f}  {text}")
    if len(pool):
        print(f"\n{ladder(pool[0].graph)}")
