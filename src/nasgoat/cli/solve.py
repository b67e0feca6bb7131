"""``nasgoat solve``: one acquisition problem, solved exactly."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nasgoat.cli.options import AcquisitionOfOne, Json, Nodes, Seed, Solving, with_groups
from nasgoat.cli.terminal import note, print_json, show_graph
from nasgoat.errors import SettingError, UnknownNameError

if TYPE_CHECKING:
    from nasgoat.acquisition import Acquisition, AcquisitionOptimizer, Pool
    from nasgoat.solvers import Report
    from nasgoat.spaces import SearchSpace


@with_groups
def solve(
    space: Annotated[str, typer.Option(help="A TOML file or a preset.")] = "nb101",
    nodes: Nodes = None,
    observations: Annotated[int, typer.Option(help="Random graphs that were observed.")] = 50,
    kernel: Annotated[str, typer.Option(help="linear, exponential or normalised.")] = "linear",
    acquisition: AcquisitionOfOne = None,
    sqrt_beta: Annotated[float, typer.Option(help="Weight of the standard deviation.")] = 3.0,
    top: Annotated[int, typer.Option(help="How many best graphs.")] = 5,
    seed: Seed = 0,
    json: Json = False,
    *,
    solving: Solving,
    export: Annotated[
        Path | None, typer.Option(help="Write the MIP: .lp, .mps, .cip or .nl.")
    ] = None,
) -> None:
    """Solve one acquisition problem: the same seed gives the same problem to every optimiser."""
    from nasgoat.acquisition import (
        Turn,
        choose,
        find_acquisition,
        list_acquisitions,
        make_optimizer,
        random_problem,
    )
    from nasgoat.spaces import load_space

    name = acquisition or "lcb"
    if name not in list_acquisitions():
        raise UnknownNameError("the acquisition of one objective", name, list_acquisitions())
    effort = solving.make_effort()
    found = load_space(space, nodes)
    problem = random_problem(found, observations, kernel, sqrt_beta, seed)
    turn = Turn(problem.acquisition.gp, seed=seed, sqrt_beta=sqrt_beta)
    function = find_acquisition(name).make(turn)
    if export is not None:
        _export(found, function, solving.formulation, export)
    chosen, seconds = solving.optimizer, effort.time_limit
    choice = choose(found, kernel, name=chosen, acquisition=name, time_limit=seconds)
    solver = make_optimizer(choice, found, note, effort=effort)
    pool = solver.optimize(function, top, problem.observed)
    if json:
        print_json({**_document_answer(pool, solver), "reason": choice.reason})
    else:
        _print(pool, solver.name, found, "LCB" if name == "lcb" else "value")


def _export(space: SearchSpace, acquisition: Acquisition, formulation: str, path: Path) -> None:
    """Write one model per size; several sizes put theirs into the name."""
    linear = acquisition.linear
    if linear is None:
        raise SettingError(
            "--export must come with an acquisition that is one program, lcb or thompson, got "
            f"{type(acquisition).__name__}"
        )
    from nasgoat.formulations import formulate
    from nasgoat.solvers.scip_model import export as write

    for n in space.sizes:
        rows = formulate(space, linear, formulation, n).rows
        several = len(space.sizes) > 1
        target = path.with_name(f"{path.stem}-{n}{path.suffix}") if several else path
        note(f"{n} nodes: {write(rows, target)}")


def _document_answer(pool: Pool, solver: AcquisitionOptimizer) -> dict[str, Any]:
    certificate = pool.certificate
    answer = getattr(solver, "last_", None)
    reports = {} if answer is None else answer.reports
    largest = max(reports.values(), key=lambda report: report.variables, default=None)
    return {
        "status": str(certificate.status),
        "optimizer": solver.name,
        "proposals": [proposal.to_dict() for proposal in pool],
        "bound": certificate.bound,
        "gap": certificate.gap,
        "seconds": certificate.seconds,
        "variables": None if largest is None else largest.variables,
        "constraints": None if largest is None else largest.constraints,
        "sizes": {str(n): _document_size(report) for n, report in sorted(reports.items())},
    }


def _document_size(report: Report) -> dict[str, Any]:
    return {
        "outcome": str(report.status),
        "variables": report.variables,
        "constraints": report.constraints,
        "nodes": report.nodes,
        "seconds": report.seconds,
        "build_seconds": report.build_seconds,
    }


def _print(pool: Pool, optimizer: str, space: SearchSpace, value: str) -> None:
    certificate = pool.certificate
    print(f"{certificate.status} by {optimizer} in {certificate.seconds:.3f} s", end="")
    print("" if certificate.gap is None else f", gap {certificate.gap:.2g}")
    print(f"\n rank {value:>10}       mean        std  graph")
    for rank, p in enumerate(pool, start=1):
        labels = p.graph.node_labels or tuple((p.graph.edge_labels or {}).values())
        text = f"{p.graph.n} nodes, {len(p.graph.edges)} edges: {', '.join(labels)}"
        print(f"{rank:5d} {p.lcb:10.5f} {p.mean:10.5f} {p.std:10.5f}  {text}")
    if len(pool):
        print()
        show_graph(pool[0].graph, space.labels)
